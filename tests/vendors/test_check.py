"""Proves that every check of check.py can fail.

run: python -m unittest discover tests/vendors
"""

import contextlib
import copy
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import check
import schemas

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Which city"}},
    "required": ["city"],
    "additionalProperties": False,
}
OPENAI = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": SCHEMA}}
OPENAI_STRICT = {**OPENAI, "function": {**OPENAI["function"], "strict": True}}
RESPONSES = {"type": "function", "name": "get_weather", "description": "d", "parameters": SCHEMA, "strict": False}
ANTHROPIC = {"name": "get_weather", "description": "d", "input_schema": SCHEMA}
MCP = {"name": "get_weather", "description": "d", "inputSchema": SCHEMA}
GEMINI = {"name": "get_weather", "description": "d", "parametersJsonSchema": SCHEMA}
GEMINI_OPENAPI = {
    "name": "get_weather",
    "description": "d",
    "parameters": {"type": "OBJECT", "properties": {"n": {"type": "STRING"}}, "required": ["n"]},
}
BEDROCK = {"toolSpec": {"name": "get_weather", "description": "d", "inputSchema": {"json": SCHEMA}}}
SHORT = {"name": "get_weather", "description": "d", "input_schema": {"a": "str", "b": "list[int]", "c": "dict"}}
OPENAKITA = {
    "name": "get_weather",
    "description": "d",
    "input_schema": SCHEMA,
    "prerequisites": ["one", {"condition": "c", "check_tool": "t", "action_if_not_met": "a"}],
    "examples": [{"scenario": "s", "params": {"city": "Oslo"}, "expected": "e"}],
    "related_tools": [{"name": "other", "relation": "r"}],
    "workflow": {"name": "w", "steps": [{"step": 1, "action": "a", "tools": ["other"]}]},
}
SDK = """
from claude_agent_sdk import tool

@tool("get_weather", "d", {schema})
{async_}def get_weather(args):
    return {{"content": []}}
"""
ERLANG = '#{name => <<"get_weather">>, description => <<"天气"/utf8>>, handler => fun(A, _) -> {ok, A} end}.'


def put(value, path, new):
    """A copy of the value with one place changed, or taken away when `new` is None."""
    value = copy.deepcopy(value)
    node = value
    *parents, last = path.split(".")
    for key in parents:
        node = node[key]
    if new is None:
        del node[last]
    else:
        node[last] = new
    return value


class Files(unittest.TestCase):
    """Each row: the folder, a good value, and changes with what must be said of them."""

    def problems(self, dialect, text):
        extension, run = check.DIALECTS[dialect]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / f"it{extension}").write_text(text, "utf-8")
            passed, failures = check.check_folder(pathlib.Path(folder), extension, run)
        self.assertEqual(passed + len(failures), 1, failures)
        return failures[0] if failures else ""

    def check(self, dialects, good, *changes, write=json.dumps):
        for dialect in dialects.split():
            self.assertEqual(self.problems(dialect, write(good)), "", dialect)
            for path, new, said in changes:
                with self.subTest(dialect=dialect, path=path, new=new):
                    self.assertIn(said, self.problems(dialect, write(put(good, path, new))))

    def test_openai(self):
        self.check(
            "openai openai-strict", OPENAI_STRICT,
            ("function.name", "two words", "does not match"),
            ("function.name", "n" * 65, "does not match"),
            ("function.name", None, "Field required"),
            ("function.extra", 1, "Extra inputs"),
            ("extra", 1, "Extra inputs"),
            ("type", "tool", "Input should be"),
            ("function.parameters.type", "array", "not `type: object`"),
            ("function.parameters.properties.city.type", "text", "is not valid"),
            ("function.parameters.required", [], "not all required"),
        )  # fmt: skip
        self.check("openai", OPENAI, ("function.parameters", {"type": "nothing"}, "is not valid"))
        self.assertIn("`strict` is not true", self.problems("openai-strict", json.dumps(OPENAI)))
        loose = put(OPENAI_STRICT, "function.strict", False)
        self.assertIn("`strict` is not true", self.problems("openai-strict", json.dumps(loose)))
        for open_ended in ({"type": "array"}, {"type": "object"}, {}):
            allowed = put(loose, "function.parameters.properties.city", open_ended)
            self.assertEqual("", self.problems("openai-strict", json.dumps(allowed)))

    def test_openai_responses(self):
        self.check(
            "openai-responses", RESPONSES,
            ("strict", None, "Field required"),
            ("parameters", None, "Field required"),
            ("name", "a.b", "does not match"),
            ("function", {}, "Extra inputs"),
            ("output_schema", {"type": "nothing"}, "is not valid"),
        )  # fmt: skip
        self.assertIn("`strict` is not true", self.problems("openai-responses-strict", json.dumps(RESPONSES)))
        strict = put(RESPONSES, "strict", True)
        self.check("openai-responses-strict", strict, ("parameters.additionalProperties", None, "without"))

    def test_kimi(self):
        self.check(
            "kimi kimi-strict", OPENAI,
            ("function.name", "ab", "does not match"),
            ("function.name", "1abc", "does not match"),
            ("function.extra", 1, "Extra inputs"),
            # Strict is the default here, so both folders are held to the subset.
            ("function.parameters.properties.city.format", "uri", "`format` is not supported"),
        )  # fmt: skip
        loose = put(put(OPENAI, "function.parameters.properties.city.format", "uri"), "function.strict", False)
        self.check("kimi", loose)
        self.assertIn("`strict` is not true", self.problems("kimi-strict", json.dumps(loose)))

    def test_anthropic(self):
        good = {
            **ANTHROPIC,
            "strict": True,
            "input_examples": [{"city": "Oslo"}],
            "cache_control": {"type": "ephemeral"},
        }
        self.check(
            "anthropic anthropic-strict", good,
            ("name", "n" * 129, "does not match"),
            ("parameters", {}, "Extra inputs"),
            ("input_schema", None, "Field required"),
            ("input_schema.type", "string", "not `type: object`"),
            ("input_examples", [{"town": "Oslo"}], "example 0"),
            ("cache_control", {"type": "forever"}, "Input should be"),
            ("input_schema.properties.city.maxLength", 5, "`maxLength` is not supported"),
        )  # fmt: skip
        self.assertIn("`strict` is not true", self.problems("anthropic-strict", json.dumps(ANTHROPIC)))

    def test_mcp(self):
        self.check(
            "mcp", {**MCP, "annotations": {"readOnlyHint": True}, "_meta": {"a/b": 1}, "outputSchema": SCHEMA},
            ("name", "a b", "does not match"),
            ("inputSchema", None, "Field required"),
            ("input_schema", {}, "Extra inputs"),
            ("annotations.readOnly", True, "Extra inputs"),
            ("inputSchema.properties.city.type", "text", "is not valid"),
            ("outputSchema.type", "text", "is not valid"),
        )  # fmt: skip

    def test_gemini(self):
        self.check(
            "gemini", GEMINI,
            ("name", "1st", "does not match"),
            ("description", "", "`description` is missing"),
            ("parameters_json_schema", {}, "Extra inputs"),
            ("inputSchema", {}, "Extra inputs"),
            ("parametersJsonSchema.type", "text", "is not valid"),
            ("parameters", {"type": "OBJECT"}, "both"),
        )  # fmt: skip
        self.check(
            "gemini", GEMINI_OPENAPI,
            ("parameters.oneOf", [], "Extra inputs"),
            ("parameters.properties.n.type", "text", "'text' is not one of"),
            ("parameters.properties.n.type", ["string", "null"], "FunctionDeclaration"),
            ("parameters.properties.n.enum", [1, 2], "parameters.properties.n.enum"),
            ("parameters.properties.n", {"description": "d"}, "is not one of"),
            ("parameters.required", ["m"], "not a property"),
        )  # fmt: skip

    def test_bedrock(self):
        self.check(
            "bedrock", BEDROCK,
            ("toolSpec.name", "a b", "does not match"),
            ("toolSpec.name", "n" * 65, "more than 64"),
            ("toolSpec.description", "", "valid min length"),
            ("toolSpec.parameters", {}, "Unknown parameter"),
            ("toolSpec.inputSchema", SCHEMA, "Unknown parameter"),
            ("toolSpec.inputSchema.json.type", "text", "is not valid"),
        )  # fmt: skip

    def test_claude_sdk(self):
        self.check(
            "claude-sdk", SHORT,
            ("name", "a b", "does not match"),
            ("description", None, "is missing"),
            ("parameters", {}, "unknown key"),
            ("input_schema.a", "string", "is no type"),
            ("input_schema.b", "list[text]", "is no type"),
            ("input_schema.c", "dict[", "is no type"),
            ("input_schema", {"type": "object"}, "is no type"),
        )  # fmt: skip
        self.check("claude-sdk", put(SHORT, "input_schema.a", "Annotated[str, 'd']"))
        schema = put(SHORT, "input_schema", SCHEMA)
        self.check("claude-sdk", schema, ("input_schema.properties.city.type", "text", "is not valid"))

    def test_claude_sdk_python(self):
        short, whole = '{"city": str, "days": list[int]}', repr(SCHEMA)
        for schema, async_, said in (
            (short, "async ", ""),
            (whole, "async ", ""),
            (short, "", "not async"),
            ('{"type": "object"}', "async ", "taken for a parameter"),
            (whole.replace("'string'", "'text'"), "async ", "is not valid"),
            ('{"city": string}', "async ", "NameError"),
            ('{"city": ', "async ", "SyntaxError"),
        ):
            with self.subTest(schema=schema, async_=async_):
                text = self.problems("claude-sdk-python", SDK.format(schema=schema, async_=async_))
                self.assertIn(said, text) if said else self.assertEqual(text, "")

    def test_openakita_python(self):
        self.check(
            "openakita-python", OPENAKITA,
            ("name", "getWeather", "does not match"),
            ("description", None, "is missing"),
            ("parameters", {}, "unknown key"),
            ("triggers", "always", "is no list"),
            ("triggers", [1], "is no text"),
            ("prerequisites", [{"check": "t"}], "missing or unknown"),
            ("examples", [{"params": {"town": "Oslo"}}], "example 0"),
            ("related_tools", ["other"], "is no dict"),
            ("workflow.steps", [{"do": 1}], "missing or unknown"),
            ("input_schema.type", "array", "not `type: object`"),
            write=lambda tool: f"# tools\nTOOLS = [{tool!r}]\n",
        )  # fmt: skip
        self.assertIn("not a literal", self.problems("openakita-python", "TOOLS = [true]"))

    def test_beamai_erlang(self):
        for old, new, said in (
            ("", "", ""),
            ("#{", "[#{", "syntax error"),
            ("}.", "}", "does not end in a dot"),
            ('<<"get_weather">>', '"get_weather"', "no binary"),
            ("name =>", "title =>", "`name` is missing"),
            ("/utf8", "", "without /utf8"),
            ("handler =>", "extra =>", "not a plain term"),
            ("handler =>", "timeout => 0, handler =>", "`timeout`"),
            ("handler =>", "retry => true, handler =>", "`retry`"),
            ("handler =>", "tag => weather, handler =>", "`tag`"),
            ("handler =>", "filter => [], handler =>", "unknown key"),
            ("handler =>", 'name => <<"b">>, handler =>', "given twice"),
            ("handler =>", "parameters => [], handler =>", "no map"),
            ("handler =>", "parameters => #{a => #{type => text}}, handler =>", "`type`"),
            ("handler =>", "parameters => #{a => #{type => string, required => 1}}, handler =>", "`required`"),
            ("handler =>", "parameters => #{a => #{type => array, items => #{}}}, handler =>", "a/items"),
            ("handler =>", "parameters => #{a => #{type => string, min => 1}}, handler =>", "unknown key"),
        ):
            with self.subTest(new=new):
                text = self.problems("beamai-erlang", ERLANG.replace(old, new, 1))
                self.assertIn(said, text) if said else self.assertEqual(text, "")


class Strict(unittest.TestCase):
    """Each row: a property of the schema, and what the strict rules say of it."""

    def check(self, rules, *rows):
        self.assertEqual(rules(SCHEMA), [])
        for prop, said in rows:
            with self.subTest(rules=rules.__name__, prop=prop):
                problems = "; ".join(rules(put(SCHEMA, "properties.city", prop)))
                self.assertIn(said, problems) if said else self.assertEqual(problems, "")

    def test_openai(self):
        deep = {"type": "string"}
        for _ in range(10):
            deep = {"type": "array", "items": deep}
        self.check(
            schemas.openai_strict,
            ({"type": ["string", "null"]}, ""),
            ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ""),
            ({"$ref": "#/$defs/x"}, ""),
            ({"$ref": "#/$defs/x", "title": "t"}, "beside `$ref`"),
            ({"allOf": [{"type": "string"}]}, "`allOf`"),
            ({"oneOf": [{"type": "string"}]}, "`oneOf`"),
            ({"not": {"type": "string"}}, "`not`"),
            ({"if": {"type": "string"}, "then": {"type": "null"}, "else": {"type": "null"}}, "`else`"),
            ({"dependentRequired": {}}, "`dependentRequired`"),
            ({"dependentSchemas": {}}, "`dependentSchemas`"),
            ({"type": "object", "properties": {}}, "without `additionalProperties: false`"),
            ({"type": "object", "additionalProperties": {"type": "string"}}, "without `additionalProperties: false`"),
            ({**SCHEMA, "required": []}, "not all required"),
            ({"type": "array", "items": {**SCHEMA, "required": []}}, "items: not all required"),
            (True, "a boolean schema"),
            ({}, "an empty schema"),
            (deep, "deeper than 10"),
            ({"enum": list(range(1001))}, "1001 enum values"),
            ({"enum": ["x" * 120_000]}, "characters"),
            ({**SCHEMA, "properties": {str(i): {"type": "null"} for i in range(5000)}}, "5001 properties"),
        )
        self.assertIn("#: `anyOf` at the root", schemas.openai_strict({**SCHEMA, "anyOf": [{"type": "object"}]}))

    def test_anthropic(self):
        self.check(
            schemas.anthropic_strict,
            ({"type": "string", "format": "uri", "default": "x"}, ""),
            ({"type": "array", "items": {"type": "null"}, "minItems": 1}, ""),
            ({"type": "array", "minItems": 2}, "`minItems`"),
            ({"type": "array", "maxItems": 2}, "`maxItems`"),
            ({"type": "string", "format": "path"}, "format 'path'"),
            ({"type": "string", "pattern": "x"}, "`pattern`"),
            ({"type": "integer", "minimum": 1}, "`minimum`"),
            ({"oneOf": [{"type": "string"}]}, "`oneOf`"),
            ({"type": "object", "properties": {}}, "without `additionalProperties: false`"),
            ({"enum": [{}]}, "not a scalar"),
            ({"description": "d"}, "neither a type"),
            (True, "a boolean schema"),
        )

    def test_kimi(self):
        deep = {"type": "string"}
        for _ in range(30):
            deep = {"type": "array", "items": deep}
        self.check(
            schemas.kimi_strict,
            ({"type": "string", "enum": ["a", "b"], "minLength": 1}, ""),
            ({"allOf": [{"type": "string"}]}, "`allOf`"),
            ({"oneOf": [{"type": "string"}]}, "`oneOf`"),
            ({"not": {"type": "string"}}, "`not`"),
            ({"if": {"type": "string"}}, "`if`"),
            ({"const": 1}, "`const`"),
            ({"type": "string", "pattern": "x"}, "`pattern`"),
            ({"type": "string", "format": "uri"}, "`format`"),
            ({"$schema": "x"}, "`$schema`"),
            ({"type": "integer", "exclusiveMinimum": 1}, "`exclusiveMinimum`"),
            ({"type": "integer", "exclusiveMaximum": 1}, "`exclusiveMaximum`"),
            ({"type": "integer", "multipleOf": 2}, "`multipleOf`"),
            ({"type": "array", "uniqueItems": True}, "`uniqueItems`"),
            ({"type": "array", "prefixItems": [{"type": "null"}]}, "`prefixItems`"),
            ({"type": "string", "anyOf": [{"type": "string"}]}, "`type` beside"),
            ({"type": "string", "$ref": "#/$defs/x"}, "`type` beside"),
            ({"type": "object", "$defs": {"x": {"type": "null"}}}, "definitions below the root"),
            ({"enum": ["a", 1]}, "an enum of"),
            ({"enum": ["a", None]}, "an enum of"),
            ({"type": "object", "required": ["x"]}, "not a property"),
            (True, "boolean or empty"),
            ({}, "boolean or empty"),
            (deep, "deeper than 30"),
            ({"enum": list(range(1001))}, "1001 enum values"),
            ({"type": "object", "properties": {str(i): {"type": "null"} for i in range(3000)}}, "3001 keys"),
        )

    def test_every_schema(self):
        self.assertEqual(schemas.any_schema(SCHEMA), [])
        for schema, said in (
            (None, "not an object"),
            ({"type": "string"}, "not `type: object`"),
            ({"type": "object", "required": "city"}, "is not of type"),
            (put(SCHEMA, "properties.city", {"$ref": "#/$defs/x"}), "leads nowhere"),
            (put(SCHEMA, "properties.city", {"$ref": "other.json"}), "leads nowhere"),
        ):
            self.assertIn(said, "; ".join(schemas.any_schema(schema)))


class Folders(unittest.TestCase):
    def run_main(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, "utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = check.main(["check.py", root])
        return code, out.getvalue()

    def good(self):
        strict_anthropic = {**ANTHROPIC, "strict": True}
        strict_responses = {**RESPONSES, "strict": True}
        other = {**MCP, "name": "other"}
        return {
            "openai/a.json": json.dumps([OPENAI]),
            "openai-strict/a.json": json.dumps(OPENAI_STRICT),
            "openai-responses/a.json": json.dumps(RESPONSES),
            "openai-responses-strict/a.json": json.dumps(strict_responses),
            "kimi/a.json": json.dumps({"tools": [OPENAI]}),
            "kimi-strict/a.json": json.dumps([OPENAI_STRICT]),
            "anthropic/a.json": json.dumps([ANTHROPIC]),
            "anthropic-strict/a.json": json.dumps([strict_anthropic]),
            "mcp/a.json": json.dumps({"tools": [MCP, other]}),
            "gemini/a.json": json.dumps({"functionDeclarations": [GEMINI]}),
            "bedrock/a.json": json.dumps({"tools": [BEDROCK]}),
            "claude-sdk/a.json": json.dumps(SHORT),
            "claude-sdk-python/a.py": SDK.format(schema="{}", async_="async "),
            "openakita-python/a.py": f"TOOLS = {[OPENAKITA]!r}",
            "beamai-erlang/a.erl": ERLANG,
        }

    def test_all_good(self):
        code, out = self.run_main(self.good())
        self.assertEqual((code, out.splitlines()[-1]), (0, "16 passed, 0 failed"), out)

    def test_what_is_missing_fails(self):
        for name, text, said in (
            ("mcp/a.json", None, "mcp: the folder is missing"),
            ("mcp/a.json", '{"tools": []}', "the file holds no tools"),
            ("mcp/a.json", "{", "not JSON"),
            ("mcp/a.txt", "", "not a .json file"),
            ("mcp/a.json", json.dumps([MCP, MCP]), "two tools of this name"),
            ("openakita-python/a.py", "TOOLS = []", "the file holds no tools"),
            ("claude-sdk-python/a.py", "", "the file holds no tools"),
            ("beamai-erlang/a.erl", "", "the file holds no tools"),
        ):
            files = self.good()
            if text is None:
                del files[name]
            else:
                files[name] = text
            with self.subTest(name=name, text=text):
                code, out = self.run_main(files)
                self.assertEqual(code, 1)
                self.assertIn(said, out)
                self.assertRegex(out.splitlines()[-1], r"^\d+ passed, 1 failed$")

    def test_hidden_function(self):
        twice = SDK.format(schema="{}", async_="async ")
        code, out = self.run_main({**self.good(), "claude-sdk-python/a.py": twice + twice})
        self.assertEqual(code, 1)
        self.assertIn("a function hides another", out)


if __name__ == "__main__":
    unittest.main()
