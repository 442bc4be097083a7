"""The host for Python."""

import os
import sys
import unittest

from harness import HOSTS, MAX_MESSAGE, CommonTests, HostTest

PYTHON = os.environ.get("HELVE_TEST_PYTHON", sys.executable)
FLAGS = ["-s", "-B", "-u", "-X", "utf8"]
HOST = os.path.join(HOSTS, "python", "host.py")


class Python(HostTest):
    runtime = "python"
    argv = [PYTHON, *FLAGS, HOST]

    def tools(self, functions, name="tools.py", head=""):
        """A file with a decorated function for each body, with `fine` beside them."""
        text = f"import asyncio, helve, os, sys\nfrom claude_agent_sdk import tool\n{head}\n"
        for tool, body in {"fine": "return 'fine'", **functions}.items():
            indented = body.strip("\n").replace("\n", "\n    ")
            text += f"@tool('{tool}', 'A tool', {{}})\nasync def t_{tool}(args, ctx):\n    {indented}\n\n"
        return self.write(name, text)

    def common(self):
        return self.tools(
            {
                "echo": "return args",
                "where": "return os.getcwd()",
                "long": "return 'x' * args['n']",
                "ask": "return await helve.acall('file_read', path='a')",
                "tell": "helve.log.info('one %d é', 1)\nctx.log.warning('two')\nhelve.progress(1, 2, 'half')\nctx.progress(2)",
            }
        )


class Common(Python, CommonTests):
    pass


class Blocking(Python, CommonTests):
    """The same with handlers that are not asynchronous."""

    def common(self):
        return self.write(
            "blocking.py",
            """
            import os
            import helve
            from claude_agent_sdk import tool

            def tell(args, ctx):
                helve.log.info("one %d é", 1)
                ctx.log.warning("two")
                helve.progress(1, 2, "half")
                ctx.progress(2)

            one = tool("fine", "", {})(lambda args: "fine")
            two = tool("where", "", {})(lambda args: os.getcwd())
            three = tool("long", "", {})(lambda args: "x" * args["n"])
            four = tool("ask", "", {})(lambda args: helve.call("file_read", path="a"))
            five = tool("tell", "", {})(tell)
            six = tool("echo", "", {})(lambda args: args)
            """,
        )


class Decorated(Python):
    def described(self, text, name="a.py", argv=None):
        file = self.write(name, text)
        [described] = self.worker(argv=argv).describe(file)
        self.assertIsNone(described["error"], described)
        return described["tools"]

    MEMORY = '''
        from typing import Annotated, Optional
        from claude_agent_sdk import create_sdk_mcp_server, tool

        @tool(
            "recall",
            "检索记忆",
            {
                "topic": str,        # 话题或关键词
                "limit": int,        # how many, 5 by default
                "when": float, "flag": bool,  # only the last of a line
                "tags": list[str],
                # a line of its own describes nothing
                "said": Annotated[str, "kept"],  # not used
                "more": dict         # last, without a comma
            },
        )
        async def recall(args):
            return args

        @tool("whole", "A schema", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
        async def whole(args):
            return "whole"

        @tool("none", "No parameters", {})
        async def none(args):
            return None

        def create_memory():
            return create_sdk_mcp_server(name="memory", version="1.0.0", tools=[recall, none])

        server = create_sdk_mcp_server("other", tools=[whole, none])
        '''

    def check_memory(self, tools):
        properties = {
            "topic": {"type": "string", "description": "话题或关键词"},
            "limit": {"type": "integer", "description": "how many, 5 by default"},
            "when": {"type": "number"},
            "flag": {"type": "boolean", "description": "only the last of a line"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "said": {"type": "string", "description": "kept"},
            "more": {"type": "object", "description": "last, without a comma"},
        }
        self.assertEqual(
            tools,
            [
                {
                    "name": "recall",
                    "description": "检索记忆",
                    "input_schema": {"type": "object", "properties": properties},
                    "server": "memory",
                },
                {
                    "name": "whole",
                    "description": "A schema",
                    "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
                    "server": "other",
                },
                {
                    "name": "none",
                    "description": "No parameters",
                    "input_schema": {"type": "object", "properties": {}},
                    "server": "other",
                },
            ],
        )

    def test_the_short_form_and_servers(self):
        self.check_memory(self.described(self.MEMORY))

    def test_with_the_real_sdk(self):
        python = os.environ.get("HELVE_TEST_SDK_PYTHON")
        if not python:
            self.fail("set HELVE_TEST_SDK_PYTHON to the python of a venv that has claude-agent-sdk")
        argv = [python, *FLAGS, HOST]
        which = self.write("b.py", "import claude_agent_sdk\nfrom claude_agent_sdk import tool\n"
                                   "@tool('a', 'b', {}, risk='write')\nasync def a(args):\n    return claude_agent_sdk.__file__\n")
        worker = self.worker(argv=argv)
        answer = worker.call(which, "a")
        self.assertIn("site-packages", answer["value"])
        [described] = worker.describe(which)
        self.assertEqual(described["tools"][0]["risk"], "write")
        self.check_memory(self.described(self.MEMORY, argv=argv))
        noted = '''
            from claude_agent_sdk import tool, ToolAnnotations
            @tool("a", "b", {}, annotations=ToolAnnotations(readOnlyHint=True))
            async def a(args):
                return {"content": [{"type": "text", "text": "x"}]}
            '''
        [tool] = self.described(noted, "c.py", argv=argv)
        self.assertEqual(tool["annotations"], {"readOnlyHint": True})

    def test_more_about_a_tool(self):
        [tool] = self.described(
            '''
            from claude_agent_sdk import tool, ToolAnnotations
            LEVEL = "wri" + "te"
            @tool("a", "b", {}, annotations=ToolAnnotations(readOnlyHint=True), risk=LEVEL, allowed_paths=["x/**"])
            async def a(args):
                pass
            '''
        )
        self.assertEqual(
            tool,
            {
                "name": "a",
                "description": "b",
                "input_schema": {"type": "object", "properties": {}},
                "annotations": {"readOnlyHint": True},
                "risk": "write",
                "allowed_paths": ["x/**"],
            },
        )

    def test_parameters_as_classes(self):
        tools = self.described(
            '''
            import dataclasses
            from typing import List, Optional, TypedDict
            from claude_agent_sdk import tool

            class Base(TypedDict):
                a: str

            class Params(Base, total=False):
                b: List[int]

            @dataclasses.dataclass
            class Place:
                x: float
                names: List[str] = dataclasses.field(default_factory=list)
                y: Optional[int] = None

            class Model:
                @classmethod
                def model_json_schema(cls):
                    return {"type": "object", "properties": {"m": {"type": "null"}}}

            for name, kind in (("typed", Params), ("data", Place), ("model", Model)):
                @tool(name, "x", kind)
                async def f(args):
                    return args
                globals()["tool_" + name] = f
            del f
            '''
        )
        self.assertEqual(
            [t["input_schema"] for t in tools],
            [
                {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}},
                    "required": ["a"],
                },
                {
                    "type": "object",
                    "properties": {
                        "x": {"type": "number"},
                        "names": {"type": "array", "items": {"type": "string"}},
                        "y": {"type": ["integer", "null"], "default": None},
                    },
                    "required": ["x"],
                },
                {"type": "object", "properties": {"m": {"type": "null"}}},
            ],
        )

    def test_what_a_handler_gets(self):
        file = self.write(
            "a.py",
            '''
            from claude_agent_sdk import tool
            make = lambda name: tool(name, "x", {})
            one = make("one")(lambda args: [args])
            two = make("two")(lambda args, ctx: ctx.run_id)
            none = make("none")(lambda: "nothing")
            own = make("own")(lambda args, cache={}: cache)
            given = make("given")(lambda args, ctx=None: ctx.principal)
            class Callable:
                def __call__(self, args):
                    return "called"
            obj = make("obj")(Callable())
            ''',
        )
        worker = self.worker()
        for tool, value in (
            ("one", [{"a": 1}]), ("two", "run-1"), ("none", "nothing"), ("own", {}), ("given", "user:ada"), ("obj", "called"),
        ):
            with self.subTest(tool):
                self.check_value(worker.call(file, tool, {"a": 1}), value)

    def test_only_the_tools_of_the_file(self):
        self.write("near.py", self.MEMORY.replace("\n        ", "\n"))
        tools = self.described("from near import recall, whole\nfrom claude_agent_sdk import tool\n"
                               "@tool('own', 'x', {})\nasync def own(args):\n    return 1\nagain = own\n")
        self.assertEqual([t["name"] for t in tools], ["own"])

    def test_the_rest_of_the_sdk_can_be_imported_not_used(self):
        file = self.write("a.py", "from claude_agent_sdk import tool, ClaudeAgentOptions, query\n"
                                  "@tool('a', 'x', {})\nasync def a(args):\n    return ClaudeAgentOptions(model='m')\n")
        self.check_error(self.worker().call(file, "a"), "`claude_agent_sdk.ClaudeAgentOptions` is not there")


class Plain(Python):
    def test_functions(self):
        file = self.write(
            "a.py",
            '''
            from __future__ import annotations
            import dataclasses
            import datetime
            import decimal
            import enum
            import pathlib
            import uuid
            from typing import Annotated, Any, Dict, List, Literal, Optional, Tuple, TypedDict, Union
            from os.path import join

            class Level(enum.Enum):
                LOW = "low"
                HIGH = "high"

            @dataclasses.dataclass
            class Point:
                x: int
                y: Level = Level.LOW

            class Options(TypedDict, total=False):
                deep: bool

            def google(path: pathlib.Path, count: int = 3, *, level: Level = Level.LOW) -> str:
                """Reads a file
                in two lines.

                More that is not told.

                Args:
                    path: Where it is,
                        and more of it.
                    count (int): How many.
                    level: How
                        high.

                Returns:
                    path: not a parameter
                """
                return f"{type(path).__name__} {path} {count} {level}"

            def numpy(day: datetime.date, at: Optional[datetime.datetime] = None, a: float = 1, b: float = 2):
                """Counts days.

                Parameters
                ----------
                day : date
                    The day
                    of it.
                at : datetime, optional
                    The time.
                a, b : float
                    Two numbers.

                Returns
                -------
                day
                    nothing
                """
                return [type(day).__name__, day, at, a, b]

            async def sphinx(points: List[Point], names: Dict[str, int], which: Literal["a", "b"] = "a"):
                """Draws.

                :param points: the points
                    of the line
                :type points: list
                :param Dict names: their names
                :returns: which
                """
                return [sum(p.x for p in points), [p.y.value for p in points], names, which]

            def types(
                a: Union[int, str], b: Annotated[bool, "yes or no"], c: Any, d: Optional[Literal["x"]],
                e: Tuple[int, ...], f: uuid.UUID, g: decimal.Decimal, h: list, i: dict, j: Options,
                k: Literal[1, "one"], l: Point, m: set,
            ):
                """All types."""
                return [type(v).__name__ for v in (a, b, c, d, e, f, g, h, i, j, k, l, m)]

            def _hidden(a: int):
                """Hidden."""

            def untyped(a):
                """No type."""

            def undocumented(a: int):
                return a

            def many(*args: int):
                """Many."""

            class Class:
                """Not a function."""
            ''',
        )
        worker = self.worker()
        [described] = worker.describe(file)
        self.assertIsNone(described["error"])
        tools = {t["name"]: t for t in described["tools"]}
        self.assertEqual(list(tools), ["google", "numpy", "sphinx", "types"])
        self.assertEqual(
            tools["google"],
            {
                "name": "google",
                "description": "Reads a file in two lines.",
                "input_schema": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "format": "path", "description": "Where it is, and more of it."},
                        "count": {"type": "integer", "description": "How many.", "default": 3},
                        "level": {"type": "string", "enum": ["low", "high"], "description": "How high.", "default": "low"},
                    },
                    "required": ["path"],
                },
                "plain": True,
            },
        )
        self.assertEqual(
            tools["numpy"]["input_schema"],
            {
                "type": "object",
                "properties": {
                    "day": {"type": "string", "format": "date", "description": "The day of it."},
                    "at": {"type": ["string", "null"], "format": "date-time", "description": "The time.", "default": None},
                    "a": {"type": "number", "description": "Two numbers.", "default": 1},
                    "b": {"type": "number", "description": "Two numbers.", "default": 2},
                },
                "required": ["day"],
            },
        )
        point = {
            "type": "object",
            "properties": {
                "x": {"type": "integer"},
                "y": {"type": "string", "enum": ["low", "high"], "default": "low"},
            },
            "required": ["x"],
        }
        self.assertEqual(
            tools["sphinx"]["input_schema"],
            {
                "type": "object",
                "properties": {
                    "points": {"type": "array", "items": point, "description": "the points of the line"},
                    "names": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "their names"},
                    "which": {"type": "string", "enum": ["a", "b"], "default": "a"},
                },
                "required": ["points", "names"],
            },
        )
        self.assertEqual(
            tools["types"]["input_schema"]["properties"],
            {
                "a": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "b": {"type": "boolean", "description": "yes or no"},
                "c": {},
                "d": {"type": ["string", "null"], "enum": ["x", None]},
                "e": {"type": "array", "items": {"type": "integer"}},
                "f": {"type": "string", "format": "uuid"},
                "g": {"type": "number"},
                "h": {"type": "array"},
                "i": {"type": "object"},
                "j": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
                "k": {"enum": [1, "one"]},
                "l": point,
                "m": {"type": "array"},
            },
        )
        call = worker.call
        self.check_value(call(file, "google", {"path": "a/b"}), "PosixPath a/b 3 Level.LOW")
        self.check_value(call(file, "google", {"path": "a", "level": "high"}), "PosixPath a 3 Level.HIGH")
        self.check_value(
            call(file, "numpy", {"day": "2024-02-29", "at": "2024-02-29T10:00:00Z"}),
            ["date", "2024-02-29", "2024-02-29T10:00:00+00:00", 1, 2],
        )
        self.check_error(call(file, "numpy", {"day": "soon"}), "argument `day`: ", type="validation")
        self.check_error(call(file, "google", {"path": "a", "level": "mid"}), "argument `level`: ", type="validation")
        points = [{"x": 1}, {"x": 2, "y": "high"}]
        self.check_value(call(file, "sphinx", {"points": points, "names": {"a": 1}}), [3, ["low", "high"], {"a": 1}, "a"])
        args = {
            "a": 1, "b": True, "c": None, "d": "x", "e": [1], "f": "12345678123456781234567812345678",
            "g": 1.5, "h": [], "i": {}, "j": {}, "k": 1, "l": {"x": 1}, "m": [1],
        }
        kinds = ["int", "bool", "NoneType", "str", "tuple", "UUID", "Decimal", "list", "dict", "dict", "int", "Point", "set"]
        self.check_value(call(file, "types", args), kinds)
        self.check_error(call(file, "google", {}), "path", name="TypeError")

    def test_newer_syntax_of_types(self):
        file = self.write(
            "a.py",
            '''
            from typing import Optional
            def f(a: list[int], b: dict[str, list[str]], c: "Optional[str]" = None):
                """F."""
                return [a, b, c]
            ''',
        )
        [described] = self.worker().describe(file)
        self.assertEqual(
            described["tools"][0]["input_schema"]["properties"],
            {
                "a": {"type": "array", "items": {"type": "integer"}},
                "b": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
                "c": {"type": ["string", "null"], "default": None},
            },
        )

    def test_all_says_which(self):
        text = "__all__ = ['b']\ndef a() -> int:\n    'A.'\n    return 1\ndef b() -> int:\n    'B.'\n    return 2\n"
        [described] = self.worker().describe(self.write("a.py", text))
        self.assertEqual([t["name"] for t in described["tools"]], ["b"])


class Loading(Python):
    def test_a_file_without_a_tool_is_for_its_neighbours(self):
        files = [self.write("g.py", "x = 1\n"), self.write("r.py", ""), self.write("u.py", "def _f(a): pass\n")]
        for described in self.worker().describe(*files):
            self.assertEqual((described["tools"], described["error"]), ([], None))

    def test_a_function_says_more_of_itself(self):
        text = "def f(a: int):\n    'F.'\n    return a\n\nf.helve = {'name': 'g', 'risk': 'read', 'examples': [{'params': {'a': 1}}]}\n"
        file = self.write("f.py", text)
        worker = self.worker()
        [described] = worker.describe(file)
        [tool] = described["tools"]
        self.assertEqual((tool["name"], tool["risk"], tool["examples"]), ("g", "read", [{"params": {"a": 1}}]))
        self.check_value(worker.call(file, "g", {"a": 5}), 5)

    def test_a_broken_file_says_where_and_harms_no_other(self):
        sdk = "from claude_agent_sdk import tool\n"
        table = [
            ("a.py", "x = 1\ndef f(:\n    pass\n", "SyntaxError: ", 2, 7),
            ("b.py", "x = 1\n\nimport no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing'", 3, None),
            ("c.py", "\nfrom os import gone\n", "ImportError: cannot import name 'gone'", 2, None),
            ("d.py", "def f():\n    raise ValueError('not today')\n\nf()\n", "ValueError: not today", 2, None),
            ("e.py", "\nimport sys\nsys.exit(4)\n", "the file called `sys.exit(4)` while it was loaded", 3, None),
            ("f.py", "\nimport bad_neighbour\n", "SyntaxError: ", 2, None),
            ("h.py", "def f(a):\n    'F.'\ndef g(a: int):\n    pass\n", "`f` has no type for `a`; `g` has no docstring", None, None),
            ("i.py", sdk + "@tool('a', 'b', {'x': object.__init__})\nasync def a(args): pass\n", "parameter `x` of `a`", None, None),
            ("j.py", sdk + "@tool('a', 'b', {})\nasync def a(args): pass\nb = tool('a', 'c', {})(lambda args: 1)\n", "two tools named `a`", None, None),
            ("k.py", sdk + "@tool('', 'b', {})\nasync def a(args): pass\n", "has no name", None, None),
            ("l.py", sdk + "@tool('a', 'b', {}, extra={1, object()})\nasync def a(args): pass\n", "`a`: what describes it holds", None, None),
            ("m.py", sdk + "@tool('a')\nasync def a(args): pass\n", "TypeError: ", 2, None),
            ("n.py", "x = '\\udcff'\nraise KeyboardInterrupt\n", "KeyboardInterrupt", 2, None),
            ("o.py", b"\xff\xfe", "SyntaxError", None, None),
            ("p.py", b"x = 1\0\n", "", None, None),
            ("q.py", "def f(): f()\n\nf()\n", "RecursionError", 1, None),
            ("s.py", "  x = 1\n", "IndentationError: unexpected indent", 1, None),
            ("t.py", "import builtins, json\nbuiltins.print = json.dumps = json.loads = None\nraise Exception\n", "Exception", 3, None),
        ]
        self.write("bad_neighbour.py", "def (\n")
        files = [self.write(name, text) for name, text, *_ in table]
        good = self.tools({}, "z.py")
        worker = self.worker()
        *broken, fine = worker.describe(*files, good)
        for described, (name, _, message, line, column) in zip(broken, table):
            with self.subTest(name):
                self.check_file_error(described, message, line=line if line else "any", column=column if column else "any")
        self.assertIsNone(fine["error"])
        self.assertIn("bad_neighbour.py, line 1", broken[5]["error"]["message"])
        self.check_error(worker.call(files[3], "d"), "not today", name="ValueError", line=2)
        self.check_alive(worker, good)

    def test_marks_line_ends_and_letters(self):
        body = "from claude_agent_sdk import tool\n@tool('a', '读取 é', {\n 'x': str, # 名\n})\nasync def a(args):\n    return 'ü'\n"
        files = [
            self.write("a.py", b"\xef\xbb\xbf" + body.encode()),
            self.write("b.py", body.replace("\n", "\r\n").encode()),
            self.write("c.py", ("# -*- coding: gbk -*-\n" + body.replace("é", "e").replace("ü", "u")).encode("gbk")),
        ]
        worker = self.worker()
        for described in worker.describe(*files):
            [tool] = described["tools"]
            self.assertIn("读取", tool["description"])
            self.assertEqual(tool["input_schema"]["properties"]["x"]["description"], "名")
        self.check_value(worker.call(files[0], "a"), "ü")
        self.check_value(worker.call(files[1], "a"), "ü")

    def test_neighbours(self):
        # Two folders with a file of the same name, a package, and a name of the standard library.
        tool = "{}\ndef a() -> str:\n    'A.'\n    {}return {}\n"
        self.write("one/util.py", "WORD = 'one'\n")
        self.write("two/util.py", "WORD = 'two'\n")
        self.write("two/lazy.py", "WORD = 'lazy two'\n")
        self.write("pack/__init__.py", "NAME = 'pack'\n")
        self.write("pack/inner.py", "WORD = 'inner'\n")
        files = {
            self.write("one/a.py", tool.format("from util import WORD", "", "WORD")): "one",
            self.write("two/a.py", tool.format("import util", "", "util.WORD")): "two",
            self.write("two/b.py", tool.format("", "import lazy; ", "lazy.WORD")): "lazy two",
            self.write("one/b.py", tool.format("import util", "import util as u; ", "u.WORD + str(u is util)")): "oneTrue",
            self.write("pack/c.py", tool.format("from . import NAME\nfrom .inner import WORD", "", "NAME + WORD")): "packinner",
            self.write("one/json.py", tool.format("import json as real", "", "real.dumps([1])")): "[1]",
            self.write("one/with-dash.py", tool.format("", "", "__name__.isidentifier()")): True,
        }
        worker = self.worker()
        for described in worker.describe(*files):
            self.assertIsNone(described["error"], described)
        for _ in range(2):
            for file, expected in files.items():
                with self.subTest(file):
                    self.check_value(worker.call(file, "a"), expected)


class Results(Python):
    def check_table(self, table, check, head=""):
        file = self.tools({f"t{i}": f"return {code}" for i, (code, _) in enumerate(table)}, head=head)
        worker = self.worker()
        for i, (code, expected) in enumerate(table):
            with self.subTest(code):
                check(worker.call(file, f"t{i}"), expected)
        self.check_alive(worker, file)

    HEAD = """
import collections, dataclasses, datetime, decimal, enum, fractions, math, pathlib, types, uuid
@dataclasses.dataclass
class Point:
    x: int
    inner: object = None
class Color(enum.Enum):
    RED = 'red'
class Number(enum.IntEnum):
    ONE = 1
class Text(str): pass
class Model:
    def model_dump(self, mode): return {'mode': mode}
class Array:
    def tolist(self): return [1, 2]
Pair = collections.namedtuple('Pair', 'a b')
"""

    def test_values(self):
        table = [
            ("None", None),
            ("(1, [2, (3,)])", [1, [2, [3]]]),
            ("{3, 1, 2}", [1, 2, 3]),
            ("frozenset({'a'})", ["a"]),
            ("Point(1, Point(2))", {"x": 1, "inner": {"x": 2, "inner": None}}),
            ("decimal.Decimal('1.10')", "1.10"),
            ("fractions.Fraction(1, 3)", "1/3"),
            ("pathlib.Path('a/b')", "a/b"),
            ("[float('nan'), float('inf'), -math.inf, 1e22, 0.1]", [None, None, None, 1e22, 0.1]),
            ("[2**63, 2**64 - 1, 2**64, -2**63, -2**63 - 1]", [2**63, 2**64 - 1, str(2**64), -(2**63), str(-(2**63) - 1)]),
            ("b'hi \\xc3\\xa9'", "hi é"),
            ("[b'\\xff\\x00', bytearray(b'a'), memoryview(b'b')]", [{"base64": "/wA="}, "a", "b"]),
            ("datetime.datetime(2024, 1, 2, 3, 4, 5)", "2024-01-02T03:04:05"),
            ("[datetime.date(2024, 1, 2), datetime.time(1, 2), datetime.timedelta(seconds=90)]", ["2024-01-02", "01:02:00", 90]),
            ("uuid.UUID(int=1)", "00000000-0000-0000-0000-000000000001"),
            ("[Color.RED, Number.ONE, Text('t'), True]", ["red", 1, "t", True]),
            ("{1: 'a', None: 'b', True and 2.5: 'c', Color.RED: 'd'}", {"1": "a", "null": "b", "2.5": "c", "red": "d"}),
            ("Pair(1, 2)", [1, 2]),
            ("types.MappingProxyType({'a': 1})", {"a": 1}),
            ("collections.OrderedDict(b=1, a=2)", {"b": 1, "a": 2}),
            ("Model()", {"mode": "json"}),
            ("Array()", [1, 2]),
            ("'\\ud83d and \\ude00'", "\ufffd and \ufffd"),
            ("{'\\ud83d': '\\ud83d\\ude00'}", {"\ufffd": "😀"}),
            ("'\\x00\\x1f\\u2028\"\\\\'", "\x00\x1f\u2028\"\\"),
            ("{'content': [{'type': 'text', 'text': 'x'}]}", {"content": [{"type": "text", "text": "x"}]}),
        ]
        self.check_table(table, self.check_value, self.HEAD)

    def test_what_is_no_result(self):
        table = [
            ("(lambda: 1)", "its result holds a value of type `function`, which is not JSON"),
            ("{'a': [1, object()]}", "a value of type `object` at `['a'][1]`"),
            ("(x for x in [1])", "of type `generator`"),
            ("{(1, 2): 3}", "a key of type `tuple`"),
            ("(lambda a: (a.append(a), a)[1])([])", "circular, or nested more than 100 deep"),
            ("__import__('functools').reduce(lambda a, _: [a], range(100000), 1)", "nested more than 100 deep"),
            ("1 << 100000", "an integer of 100001 bits"),
            ("Point", "of type `type`"),
            ("asyncio.sleep", "of type `function`"),
        ]
        self.check_table(table, self.check_error, self.HEAD)

    def test_a_gigabyte_is_refused_before_it_is_written(self):
        file = self.tools(
            {
                "texts": "return ['x' * (64 * 1024 * 1024)] * 16",
                "bytes": "return [b'x' * (64 * 1024 * 1024)] * 16",
                "numbers": "return [0] * 10**7",
                "tree": "t = ['leaf']\nfor _ in range(40): t = [t, t]\nreturn t",
            }
        )
        worker = self.worker()
        for tool in ("texts", "bytes", "numbers", "tree"):
            with self.subTest(tool):
                self.check_error(worker.call(file, tool), f"bytes, at most {MAX_MESSAGE}", type="internal")
        self.assertLess(worker.peak_memory(), 400 * 1024 * 1024)
        self.check_alive(worker, file)

    def test_large_numbers_are_exact(self):
        file = self.tools({"t": "return [str(args['n']), args['n'] + 1]"})
        self.check_value(self.worker().call(file, "t", {"n": 2**63 + 12345}), [str(2**63 + 12345), 2**63 + 12346])


class Faults(Python):
    def test_what_is_raised(self):
        table = {
            "raise ValueError('wrong')": ("wrong", "ValueError"),
            "raise KeyError('k')": ("no key 'k'", "KeyError"),
            "raise ValueError": ("ValueError", "ValueError"),
            "raise ValueError('outer') from OSError('inner')": ("outer (caused by: OSError: inner)", "ValueError"),
            "raise KeyboardInterrupt": ("KeyboardInterrupt", "KeyboardInterrupt"),
            "raise GeneratorExit": ("GeneratorExit", "GeneratorExit"),
            "raise asyncio.CancelledError": ("CancelledError", "CancelledError"),
            "raise type('Odd', (Exception,), {'__str__': lambda s: 1/0})": ("cannot be had", "Odd"),
            "raise 'text'": ("must derive from BaseException", "TypeError"),
            "raise ValueError('\\ud83d' + 'x' * 10**7)": ("\ufffd", "ValueError"),
            "def f(): f()\nf()": ("recursion", "RecursionError"),
            "raise helve.ToolError('bad', type='validation', hint='try')": ("bad", "ToolError"),
            "raise MemoryError": ("MemoryError", "MemoryError"),
            "raise StopIteration(5)": ("", "RuntimeError"),
        }
        file = self.tools({f"t{i}": code for i, code in enumerate(table)})
        worker = self.worker()
        for i, (code, (message, name)) in enumerate(table.items()):
            with self.subTest(code):
                self.check_error(worker.call(file, f"t{i}"), message, name=name)
        self.check_alive(worker, file)
        self.check_error(worker.call(file, "t11"), "bad", type="validation", hint="try")

    def test_the_line_is_of_the_file(self):
        self.write("near.py", "def f():\n    raise ValueError('deep')\n")
        file = self.write("a.py", "import near\ndef a() -> int:\n    'A.'\n    return near.f()\n")
        answer = self.worker().call(file, "a")
        self.check_error(answer, "deep", line=4)
        self.assertNotIn("host.py", answer["error"]["stack"])
        self.assertNotIn("parts", answer["error"]["stack"])


class Hostile(Python):
    def test_prints_land_in_the_log(self):
        file = self.tools(
            {
                "t": "import subprocess\nprint('by print')\nsys.stdout.write('by stdout\\n')\nos.write(1, b'by descriptor\\n')\n"
                     "subprocess.run(['echo', 'by a child'])\nos.system('echo by a shell')\nsys.__stdout__.write('by another')\n"
                     "return sys.stdin.read()"
            }
        )
        worker = self.worker()
        self.check_value(worker.call(file, "t"), "")
        log = worker.close()
        for text in ("by print", "by stdout", "by descriptor", "by a child", "by a shell", "by another"):
            self.assertIn(text, log)

    def test_children_do_not_get_the_line(self):
        file = self.tools(
            {
                "t": "import subprocess\nlook = 'readlink /proc/$$/fd/3 /proc/$$/fd/4; true'\n"
                     "one = subprocess.run(look, shell=True, capture_output=True, close_fds=False).stdout\n"
                     "two = os.popen(look).read()\nreturn [one, two]"
            }
        )
        self.check_value(self.worker().call(file, "t"), ["", ""])

    def test_exit_is_an_error_and_the_worker_lives(self):
        file = self.tools({"now": "sys.exit(3)", "bare": "exit()", "text": "sys.exit('over')", "raised": "raise SystemExit"})
        plain = self.write("plain.py", "import sys\ndef a() -> int:\n    'A.'\n    sys.exit(3)\n")
        worker = self.worker()
        self.check_error(worker.call(file, "now"), "the tool called `sys.exit(3)`")
        self.check_error(worker.call(file, "bare"), "the tool called `sys.exit()`")
        self.check_error(worker.call(file, "text"), "the tool called `sys.exit('over')`")
        self.check_error(worker.call(file, "raised"), "the tool called `sys.exit()`")
        self.check_error(worker.call(plain, "a"), "the tool called `sys.exit(3)`")
        self.check_alive(worker, file)

    def test_the_real_exit_ends_the_worker(self):
        for code in ("os._exit(3)", "os.abort()", "os.kill(os.getpid(), 9)"):
            with self.subTest(code):
                worker = self.worker()
                self.assertIsNone(worker.call(self.tools({"t": code}), "t"))
                worker.close()
                self.assertNotEqual(worker.code, 0)

    def test_closing_the_line_ends_the_worker(self):
        for code in ("os.close(3)", "os.close(4)", "os.closerange(3, 100)", "os.close(3)\nos.open('/dev/null', os.O_WRONLY)"):
            with self.subTest(code):
                worker = self.worker()
                self.assertIsNone(worker.call(self.tools({"t": code}), "t"))
                self.assertIn("a tool closed descriptor 3 or 4", worker.close())

    def test_a_copy_of_the_process_does_not_answer(self):
        file = self.tools({"t": "pid = os.fork()\nif pid: os.waitpid(pid, 0)\nreturn os.getpid()"})
        plain = self.write("plain.py", "import os\ndef a() -> int:\n    'A.'\n    if os.fork(): os.wait()\n    return os.getpid()\n")
        worker = self.worker()
        for path, tool in ((file, "t"), (plain, "a")):
            self.check_value(worker.call(path, tool), worker.process.pid)
            self.check_alive(worker, file)

    def test_what_comes_late_harms_nobody(self):
        file = self.tools(
            {
                "leave": """
async def fail(error):
    await asyncio.sleep(0)
    left.append(error)
    raise error
async def talk():
    await asyncio.sleep(0)
    helve.log.info('late log')
    helve.progress(1)
    try:
        await helve.acall('x')
    except helve.ToolError as error:
        print(error)
    left.append('talk')
for error in (ValueError('late task'), SystemExit(9), KeyboardInterrupt()):
    tasks.append(asyncio.ensure_future(fail(error)))
tasks.append(asyncio.ensure_future(talk()))
import threading
def thread():
    go.wait()
    left.append('thread')
    raise ValueError('late thread')
threads.append(threading.Thread(target=thread))
threads[0].start()
return 'left'
""",
                "wait": "go.set()\nthreads[0].join()\nwhile len(left) < 5: await asyncio.sleep(0)\ntasks.clear()\nimport gc; gc.collect()\nreturn 'waited'",
            },
            head="import threading\nleft, tasks, threads, go = [], [], [], threading.Event()",
        )
        worker = self.worker()
        self.check_value(worker.call(file, "leave"), "left")
        self.check_value(worker.call(file, "wait"), "waited")
        self.check_alive(worker, file)
        log = worker.close()
        for text in ("late task", "SystemExit(9)", "KeyboardInterrupt", "late thread", "after its call: late log"):
            self.assertIn(text, log)
        self.assertIn("`x` was called after the result was given", log)

    def test_a_closed_loop_is_made_anew(self):
        file = self.tools({"t": "asyncio.get_running_loop().call_soon(asyncio.get_running_loop().stop)\nawait asyncio.sleep(0)\nawait asyncio.sleep(0)\nreturn 1"})
        plain = self.write("plain.py", "import asyncio\ndef a() -> int:\n    'A.'\n    async def f():\n        return 5\n"
                                       "    asyncio.get_event_loop_policy().get_event_loop().close()\n    return asyncio.run(f())\n")
        worker = self.worker()
        self.check_alive(worker, file)
        self.assertFalse(worker.call(file, "t")["ok"])
        self.check_alive(worker, file)
        self.check_value(worker.call(plain, "a"), 5)
        self.check_alive(worker, file)

    def test_changed_built_ins_do_not_reach_the_host(self):
        file = self.tools(
            {
                "poison": """
import builtins, contextlib, inspect, io, json, json.decoder, json.encoder, os, struct, traceback
def broken(*args, **more):
    raise RuntimeError('poisoned')
builtins.print = builtins.open = builtins.repr = builtins.sorted = broken
json.dumps = json.loads = json.JSONEncoder.encode = json.JSONDecoder.decode = broken
json.encoder.encode_basestring = json.encoder.encode_basestring_ascii = broken
os.read = os.write = os.fstat = os.getpid = os._exit = os.chdir = os.fspath = broken
struct.pack = struct.unpack = traceback.format_exc = inspect.isawaitable = broken
sys.stdout = sys.stderr = None
sys.path[:] = []
sys.modules.pop('json'), sys.modules.pop('helve'), sys.modules.pop('claude_agent_sdk')
""",
                "use": "helve.log.info('%s', 'still')\nreturn await helve.acall('file_read', path=['a'])",
                "error": "return 1 / 0",
            }
        )
        worker = self.worker()
        self.check_value(worker.call(file, "poison"), None)
        self.check_alive(worker, file)
        worker.start(file, "use")
        self.assertEqual(worker.receive(), {"op": "log", "level": "info", "text": "still"})
        question = worker.receive()
        worker.send({"op": "answer", "id": question["id"], "ok": True, "value": "yes"})
        self.check_value(worker.result(), "yes")
        self.check_error(worker.call(file, "error"), "division by zero", name="ZeroDivisionError")


class Context(Python):
    def test_what_is_known_of_the_call(self):
        file = self.tools(
            {
                "t": "c = helve.context\nreturn [c.run_id, ctx.agent_id, c.principal, c.tool, c.get('lang'), c.get('gone'), c.get('gone', 1)]",
                "set": "ctx.set('a', {'b': [1]})\nhelve.context.set('lang', None)\nreturn [ctx.get('a'), ctx.get('lang', 5)]",
                "failed": "ctx.set('a', 1)\nraise ValueError('no')",
                "unfit": "ctx.set('a', object())",
            }
        )
        worker = self.worker()
        answer = worker.call(file, "t", agent_id="agent-1", keys={"lang": "é"})
        self.check_value(answer, ["run-1", "agent-1", "user:ada", "x_t", "é", None, 1])
        self.assertNotIn("writes", answer)
        answer = worker.call(file, "set", keys={"lang": "é"})
        self.check_value(answer, [{"b": [1]}, None])
        self.assertEqual(answer["writes"], {"a": {"b": [1]}, "lang": None})
        self.assertNotIn("writes", worker.call(file, "failed"))
        self.check_error(worker.call(file, "unfit"), "of type `object`")

    def test_asking_from_everywhere(self):
        file = self.tools(
            {
                "both": "return await asyncio.gather(helve.acall('one'), helve.acall('two', {'a': 1}, b=2))",
                "blocking": "return [helve.call('one'), helve.call('two')]",
                "threads": "import concurrent.futures as f\nwith f.ThreadPoolExecutor(2) as pool:\n"
                           "    return sorted(pool.map(helve.call, ['one', 'two']))",
                "mixed": "return await asyncio.gather(helve.acall('one'), asyncio.to_thread(helve.call, 'two'))",
                "unfit": "return helve.call('one', a=object())",
                "huge": "return helve.call('one', a='x' * 9_000_000)",
            }
        )
        worker = self.worker()
        for tool in ("both", "threads", "mixed"):
            with self.subTest(tool):
                worker.start(file, tool)
                asked = [worker.receive(), worker.receive()]
                for question in reversed(asked):
                    worker.send({"op": "answer", "id": question["id"], "ok": True, "value": question["tool"]})
                self.check_value(worker.result(), ["one", "two"])
        worker.start(file, "blocking")
        for _ in range(2):
            question = worker.receive()
            worker.send({"op": "answer", "id": question["id"], "ok": True, "value": question["tool"]})
        self.check_value(worker.result(), ["one", "two"])
        self.check_error(worker.call(file, "unfit"), "of type `object`", type="validation")
        self.check_error(worker.call(file, "huge"), "too long", type="validation")

    def test_a_thread_left_behind_does_not_take_the_next_call(self):
        file = self.tools(
            {"leave": "import threading\nthreading.Thread(target=lambda: print('late', helve.call('one'))).start()\nreturn 'left'"}
        )
        worker = self.worker()
        worker.start(file, "leave")
        first, second = worker.receive(), worker.receive()
        question = first if first["op"] == "ask" else second
        if question["op"] == "ask":
            self.check_alive(worker, file)
            worker.send({"op": "answer", "id": question["id"], "ok": True, "value": "answer"})
        self.check_alive(worker, file)


if __name__ == "__main__":
    unittest.main()
