"""The host for JavaScript."""

import os
import unittest

from harness import HOSTS, MAX_MESSAGE, CommonTests, HostTest

NODE = os.environ.get("HELVE_TEST_NODE", "node")


class Node(HostTest):
    runtime = "node"
    argv = [NODE, os.path.join(HOSTS, "node", "host.mjs")]

    def tools(self, body, name="tools.js"):
        """A file of handlers, with `fine` beside them."""
        head = "exports.tools = Object.entries({ fine: () => 'fine', "
        tail = "}).map(([name, handler]) => ({ name, handler }))\n"
        return self.write(name, head + body + tail)

    def common(self):
        return self.tools(
            """
            echo: (args) => args,
            where: () => process.cwd(),
            long: ({ n }) => 'x'.repeat(n),
            ask: (_, ctx) => ctx.call('file_read', { path: 'a' }),
            tell: (_, ctx) => {
              ctx.logger.info('one %d é', 1)
              ctx.logger.warn('two')
              ctx.progress(1, 2, 'half')
              ctx.progress(2)
            },
            """
        )


class Common(Node, CommonTests):
    pass


class Loading(Node):
    def check_tools(self, described, expected):
        self.assertIsNone(described["error"], described)
        self.assertEqual(described["tools"], expected)

    def test_every_form_of_a_module(self):
        tool = "{ name: 'a', description: 'A tool', inputSchema: { type: 'object' }, handler: () => 'fine' }"
        two = f"[{tool}, {tool.replace(chr(39) + 'a' + chr(39), chr(39) + 'b' + chr(39))}]"
        a = {"name": "a", "description": "A tool", "inputSchema": {"type": "object"}}
        b = {**a, "name": "b"}
        forms = [
            ("1.js", f"module.exports = {tool}", [a]),
            ("2.js", f"module.exports = {two}", [a, b]),
            ("3.js", f"const tool = {tool}\nmodule.exports = {{ tool }}", [a]),
            ("4.js", "exports.name = 'a'; exports.description = 'A tool'\n"
                     "exports.inputSchema = { type: 'object' }; exports.handler = () => 'fine'", [a]),
            ("5.js", f"exports.tools = {two}", [a, b]),
            ("6.cjs", f"module.exports = {tool}", [a]),
            ("7.mjs", f"export default {tool}", [a]),
            ("8.mjs", f"export const tool = {tool}", [a]),
            ("9.mjs", f"export const tools = {two}", [a, b]),
            ("10.mjs", f"export default {two}", [a, b]),
            ("11.mjs", f"export const tool = {tool}\nexport default tool", [a]),
            ("12.mjs", "export const name = 'a'\nexport const description = 'A tool'\n"
                       "export const inputSchema = { type: 'object' }\nexport const handler = () => 'fine'", [a]),
            ("13.js", f"export default {tool}", [a]),
            ("14.js", f"import fs from 'node:fs'\nexport const tools = {two}", [a, b]),
            ("15.js", f"const value = await Promise.resolve({tool})\nexport default value", [a]),
            ("16.js", f"'use strict'\nObject.defineProperty(exports, '__esModule', {{ value: true }})\n"
                      f"exports.default = {tool}", [a]),
        ]
        files = [self.write(name, text) for name, text, _ in forms]
        worker = self.worker()
        for described, (_, _, expected) in zip(worker.describe(*files), forms):
            with self.subTest(described["file"]):
                named = {tool["name"]: tool for tool in described["tools"]}
                self.assertIsNone(described["error"])
                self.assertEqual(named, {tool["name"]: tool for tool in expected})
        for file in files:
            self.check_alive(worker, file, "a")

    def test_the_package_says_what_a_file_is(self):
        self.write("esm/package.json", '{"type": "module"}')
        self.write("cjs/package.json", '{"type": "commonjs"}')
        esm = self.write("esm/group/a.js", "export default { name: 'a', handler: () => typeof require }")
        cjs = self.write("cjs/group/a.js", "module.exports = { name: 'a', handler: () => typeof require }")
        wrong = self.write("cjs/group/b.js", "export default { name: 'a', handler: () => 1 }")
        worker = self.worker()
        described = worker.describe(esm, cjs, wrong)
        self.check_file_error(described[2], "SyntaxError: Unexpected token 'export'", line=1)
        self.check_value(worker.call(esm, "a"), "undefined")
        self.check_value(worker.call(cjs, "a"), "function")

    def test_all_data_of_a_tool_is_told(self):
        file = self.write(
            "a.js",
            """
            const about = 'built ' + 'by code'
            const loop = {}
            loop.loop = loop
            module.exports = {
              name: 'a', description: about, risk: 'write', allowed_paths: ['notes/**'], timeout: '5s',
              triggers: ['when\\nneeded'], metadata: { type: 'internal', deep: { at: new Date(0) } },
              helper() {}, nothing: undefined, [Symbol('s')]: 1, handler() {},
              inputSchema: { toJSONSchema: () => ({ type: 'object', properties: { 名: { type: 'string' } } }) },
              loop,
            }
            """,
        )
        [described] = self.worker().describe(file)
        self.check_tools(
            described,
            [
                {
                    "name": "a",
                    "description": "built by code",
                    "risk": "write",
                    "allowed_paths": ["notes/**"],
                    "timeout": "5s",
                    "triggers": ["when\nneeded"],
                    "metadata": {"type": "internal", "deep": {"at": "1970-01-01T00:00:00.000Z"}},
                    "inputSchema": {"type": "object", "properties": {"名": {"type": "string"}}},
                }
            ],
        )

    def test_a_broken_file_says_where_and_harms_no_other(self):
        table = [
            ("a.js", "module.exports = {\n  name: 'a',\n  handler() { return }}\n}\n", "SyntaxError: ", 4, 1),
            ("b.mjs", "\n\nexport default {{\n", "SyntaxError: ", 3, None),
            ("b2.js", "import fs from 'node:fs'\n\nexport default {{\n", "SyntaxError: Unexpected token '{'", 3, 17),
            ("b3.cjs", "\nexport default {}\n", "SyntaxError: Unexpected token 'export'", 2, None),
            ("c.js", "\nconst x = require('no-such-thing')\n", "Error: Cannot find module 'no-such-thing'", 2, None),
            ("d.mjs", "\n\nimport x from 'no-such-thing'\n", "Cannot find package 'no-such-thing'", 3, None),
            ("e.mjs", "\nimport x from './gone.mjs'\n", "Cannot find module", 2, None),
            ("f.mjs", "\nimport { gone } from 'node:fs'\n", "does not provide an export named 'gone'", 2, None),
            ("g.js", "\n\n  throw new TypeError('not today')\n", "TypeError: not today", 3, None),
            ("h.mjs", "\nawait Promise.reject(new Error('later'))\n", "Error: later", 2, None),
            ("i.js", "throw 'text'\n", "it threw text", None, None),
            ("j.js", "throw null\n", "it threw null", None, None),
            ("k.js", "\nprocess.exit(4)\n", "the tool called `process.exit(4)`", 2, None),
            ("l.js", "module.exports = { name: 'read' }\n", "`read` has no `handler`", None, None),
            ("m.js", "module.exports = { handler() {} }\n", "its tool has no `name`", None, None),
            ("p.js", "module.exports = { name: 'a', handler() {}, inputSchema: { _def: {} } }", "JSON Schema", None, None),
            ("q.js", "const t = { name: 'a', handler() {} }\nmodule.exports = [t, { ...t }]", "two tools named `a`", None, None),
            ("r.js", "module.exports = { name: 'a', handler() {}, get description() { throw new Error('no') } }", "Error: no", 1, None),
            ("s.js", "const a = { name: 'a', handler() {}, metadata: {} }\na.metadata.a = a\nmodule.exports = a", "`metadata` of `a` is not JSON", None, None),
            ("t.js", "Array.prototype.forEach = Array.prototype.join = Map.prototype.get = null\nthrow 1", "it threw 1", None, None),
        ]
        files = [self.write(name, text) for name, text, *_ in table]
        good = self.tools("", "z.js")
        worker = self.worker()
        *broken, fine = worker.describe(*files, good)
        for described, (name, _, message, line, column) in zip(broken, table):
            with self.subTest(name):
                self.check_file_error(described, message, line=line)
                if column:
                    self.check_file_error(described, message, column=column)
        self.assertIsNone(fine["error"])
        self.check_error(worker.call(os.path.join(self.folder, "g.js"), "g"), "not today", name="TypeError", line=3)
        self.check_alive(worker, good)

    def test_a_file_without_a_tool_is_for_its_neighbours(self):
        files = [self.write("n.js", "exports.answer = 42\n"), self.write("o.js", "")]
        worker = self.worker()
        for described in worker.describe(*files):
            self.check_tools(described, [])
        self.check_error(worker.call(files[0], "n"), "n")

    def test_marks_line_ends_and_letters(self):
        body = "module.exports = { name: 'a', description: '读取 é', handler: () => 'ü' }\n"
        bom = self.write("a.js", b"\xef\xbb\xbf" + body.encode())
        crlf = self.write("b.js", body.replace("\n", "\r\n").replace("{ name", "{\r\n name").encode())
        esm = self.write("c.mjs", b"\xef\xbb\xbf" + body.replace("module.exports =", "export default").encode())
        worker = self.worker()
        for file in (bom, crlf, esm):
            [described] = worker.describe(file)
            self.check_tools(described, [{"name": "a", "description": "读取 é"}])
            self.check_value(worker.call(file, "a"), "ü")

    def test_a_neighbour_is_imported(self):
        self.write("lib/one.js", "exports.word = 'one'")
        self.write("lib/two.mjs", "export const word = 'two'")
        cjs = self.write("a.js", "const { word } = require('./lib/one')\nmodule.exports = { name: 'a', handler: () => word }")
        esm = self.write("b.mjs", "import { word } from './lib/two.mjs'\nexport default { name: 'a', handler: () => word }")
        late = self.write("c.js", "module.exports = { name: 'a', handler: async () => (await import('./lib/two.mjs')).word }")
        worker = self.worker()
        for file, word in ((cjs, "one"), (esm, "two"), (late, "two")):
            self.check_value(worker.call(file, "a"), word)

    def test_descriptions_that_are_too_long(self):
        long = "module.exports = { name: 'a', description: 'x'.repeat(%d), handler() {} }"
        alone = self.write("a.js", long % (2 * 1024 * 1024))
        many = [self.write(f"{i}.js", long % 900_000) for i in range(12)]
        worker = self.worker()
        described = worker.describe(alone, *many)
        self.check_file_error(described[0], "`description` of `a` is too long")
        self.assertIsNone(described[1]["error"])
        self.check_file_error(described[-1], "too long together")


class Results(Node):
    def test_values(self):
        table = [
            ("undefined", None),
            ("null", None),
            ("[undefined, () => 1, Symbol('s'), 1]", [None, None, None, 1]),
            ("({ a: undefined, f() {}, b: 1 })", {"b": 1}),
            ("[1n, -5n, 2n ** 63n, 2n ** 64n, -(2n ** 63n) - 1n]",
             [1, -5, 2**63, "18446744073709551616", "-9223372036854775809"]),
            ("[NaN, Infinity, -Infinity, -0, 1e21, 5e-324]", [None, None, None, 0, 1e21, 5e-324]),
            ("new Date(0)", "1970-01-01T00:00:00.000Z"),
            ("[new Date(NaN)]", [None]),
            ("new Map([['a', 1], [2, new Map()]])", {"a": 1, "2": {}}),
            ("new Set(['a', [1]])", ["a", [1]]),
            ("Buffer.from('é')", "é"),
            ("new Uint8Array([0xff, 0])", {"base64": "/wA="}),
            ("new Uint8Array([1, 2, 104, 105]).subarray(2)", "hi"),
            ("new TextEncoder().encode('x').buffer", "x"),
            ("'\\ud83d and \\ude00, \\ud83d\\ude00'", "\ufffd and \ufffd, 😀"),
            ("({ '\\ud83d': 1 })", {"\ufffd": 1}),
            ("({ toJSON: () => ({ a: 1 }) })", {"a": 1}),
            ("[new String('a'), new Number(1), new Boolean(false)]", ["a", 1, False]),
            ("new Error('no')", {"name": "Error", "message": "no"}),
            ("Object.assign(Object.create({ inherited: 1 }), { own: 2 })", {"own": 2}),
            ("(class A { x = 1; #y = 2; get z() { return 3 } }, new (class { x = 1 })())", {"x": 1}),
            ("Promise.resolve('later')", "later"),
            ("({ then: (ok) => ok('thenable') })", "thenable"),
            ("new Array(3)", [None, None, None]),
            ("'\\u2028\\u0000\"\\\\'", "\u2028\u0000\"\\"),
        ]
        file = self.tools("".join(f"t{i}: () => ({code}),\n" for i, (code, _) in enumerate(table)))
        worker = self.worker()
        for i, (code, expected) in enumerate(table):
            with self.subTest(code):
                self.check_value(worker.call(file, f"t{i}"), expected)

    def test_what_is_no_result(self):
        table = [
            ("() => 1", "its result is a function, which is not JSON"),
            ("Symbol('s')", "its result is a symbol, which is not JSON"),
            ("(() => { const a = { b: {} }; a.b.c = [a]; return a })()", "its result is circular: `b.c.0` leads back"),
            ("(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a })()", "nested more than 100 deep"),
            ("new Map([[{}, 1]])", "a Map with a key that is not text"),
            ("({ get a() { throw new Error('hidden') } })", "hidden"),
            ("(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return [proxy] })()", "revoked"),
        ]
        file = self.tools("".join(f"t{i}: () => ({code}),\n" for i, (code, _) in enumerate(table)))
        worker = self.worker()
        for i, (code, message) in enumerate(table):
            with self.subTest(code):
                self.check_error(worker.call(file, f"t{i}"), message)
        self.check_alive(worker, file)

    def test_a_gigabyte_is_refused_before_it_is_written(self):
        file = self.tools(
            """
            texts: () => new Array(16).fill('x'.repeat(64 * 1024 * 1024)),
            bytes: () => new Array(16).fill(Buffer.alloc(64 * 1024 * 1024, 'x')),
            holes: () => new Array(2 ** 30),
            tree: () => { let t = ['leaf']; for (let i = 0; i < 40; i++) t = [t, t]; return t },
            """
        )
        worker = self.worker()
        for tool in ("texts", "bytes", "holes", "tree"):
            with self.subTest(tool):
                self.check_error(worker.call(file, tool), f"bytes, at most {MAX_MESSAGE}", type="internal")
        self.assertLess(worker.peak_memory(), 400 * 1024 * 1024)
        self.check_alive(worker, file)

    def test_numbers_over_two_to_53_arrive_as_they_parse(self):
        file = self.tools("t: ({ n }) => [typeof n, n],")
        self.check_value(self.worker().call(file, "t", {"n": 2**60 + 1}), ["number", 1152921504606847000])


class Faults(Node):
    def test_what_is_thrown(self):
        table = [
            ("throw new TypeError('wrong')", "wrong", "TypeError"),
            ("throw 'text'", "text", None),
            ("throw null", "it threw null", None),
            ("throw undefined", "it threw undefined", None),
            ("throw 5n", "it threw 5", None),
            ("throw { code: 7 }", "it threw { code: 7 }", None),
            ("throw () => 1", "it threw", None),
            ("throw new Error('outer', { cause: new RangeError('inner') })", "outer (caused by: inner)", "Error"),
            ("throw new AggregateError([new Error('x')], 'many')", "many", "AggregateError"),
            ("throw Object.assign(new Error('e'), { name: 5, stack: {} })", "e", None),
            ("throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } })", "it threw", None),
            ("throw Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })", "it threw", "Error"),
            ("const e = new Error('\\ud83d'); throw e", "\ufffd", "Error"),
            ("throw new Error('x'.repeat(2 ** 24))", "xxxxx", "Error"),
            ("return Promise.reject(new SyntaxError('later'))", "later", "SyntaxError"),
            ("return Promise.reject()", "it threw undefined", None),
            ("(function f() { f() })()", "Maximum call stack", "RangeError"),
        ]
        file = self.tools("".join(f"t{i}() {{ {code} }},\n" for i, (code, *_) in enumerate(table)))
        worker = self.worker()
        for i, (code, message, name) in enumerate(table):
            with self.subTest(code):
                self.check_error(worker.call(file, f"t{i}"), message, name=name)
        self.check_alive(worker, file)

    def test_the_line_is_of_the_file(self):
        file = self.write("a.mjs", "import fs from 'node:fs'\nexport default { name: 'a', handler() {\n  fs.readFileSync('/gone')\n} }\n")
        answer = self.worker().call(file, "a")
        self.check_error(answer, "ENOENT", line=3)
        self.assertNotIn("host.mjs", answer["error"]["stack"])

    def test_kind_and_hint_travel(self):
        file = self.tools("t() { throw Object.assign(new Error('no'), { type: 'validation', hint: 'try x' }) },")
        self.check_error(self.worker().call(file, "t"), "no", type="validation", hint="try x")


class Hostile(Node):
    def test_prints_land_in_the_log(self):
        file = self.tools(
            """
            t() {
              console.log('by console')
              process.stdout.write('by stdout\\n')
              require('fs').writeSync(1, 'by descriptor\\n')
              require('child_process').spawnSync('echo', ['by a child'], { stdio: 'inherit' })
              require('child_process').execSync('echo by a shell >&2', { stdio: 'inherit' })
              return require('fs').readFileSync(0, 'utf8')
            },
            """
        )
        worker = self.worker()
        self.check_value(worker.call(file, "t"), "")
        log = worker.close()
        for text in ("by console", "by stdout", "by descriptor", "by a child", "by a shell"):
            self.assertIn(text, log)

    def test_children_do_not_get_the_line(self):
        file = self.tools("t: () => require('child_process').execSync('readlink /proc/$$/fd/3 /proc/$$/fd/4; true').toString(),")
        self.check_value(self.worker().call(file, "t"), "")

    def test_exit_is_an_error_and_the_worker_lives(self):
        file = self.tools(
            """
            now() { process.exit(3) },
            caught() { try { process.exit(3) } catch {} return 'went on' },
            later: () => new Promise(() => setTimeout(() => process.exit(3), 1)),
            bare() { process.exit() },
            """
        )
        worker = self.worker()
        for tool in ("now", "caught", "later"):
            with self.subTest(tool):
                self.check_error(worker.call(file, tool), "the tool called `process.exit(3)`")
        self.check_error(worker.call(file, "bare"), "the tool called `process.exit()`")
        self.check_alive(worker, file)

    def test_the_real_exit_ends_the_worker(self):
        for code in ("process.reallyExit(3)", "process.abort()", "process.kill(process.pid, 'SIGKILL')"):
            with self.subTest(code):
                file = self.tools(f"t() {{ {code}; return new Promise(() => {{}}) }},")
                worker = self.worker()
                self.assertIsNone(worker.call(file, "t"))
                worker.close()
                self.assertNotEqual(worker.code, 0)

    def test_closing_the_line_ends_the_worker(self):
        for code in (
            "fs.closeSync(3)",
            "fs.closeSync(4)",
            "fs.closeSync(3); fs.openSync('/dev/null', 'w')",
            "fs.closeSync(4); fs.openSync('/dev/null', 'r')",
        ):
            with self.subTest(code):
                file = self.tools(f"t() {{ const fs = require('fs'); {code} }},")
                worker = self.worker()
                self.assertIsNone(worker.call(file, "t"))
                self.assertIn("a tool closed descriptor 3 or 4", worker.close())

    def test_what_breaks_while_it_runs_fails_the_call(self):
        file = self.tools(
            """
            timer: () => new Promise(() => setTimeout(() => { throw new Error('in a timer') }, 1)),
            promise: () => new Promise(() => { Promise.reject(new Error('in a promise')) }),
            words: () => new Promise(() => { Promise.reject('just words') }),
            nested: () => new Promise(() => setTimeout(async () => { null.x }, 1)),
            """
        )
        worker = self.worker()
        self.check_error(worker.call(file, "timer"), "in a timer")
        self.check_error(worker.call(file, "promise"), "in a promise")
        self.assertEqual(worker.call(file, "words")["error"]["message"], "just words")
        self.check_error(worker.call(file, "nested"), "null", name="TypeError")
        self.check_alive(worker, file)

    def test_what_comes_late_harms_nobody(self):
        # `wait` ends only when everything that `leave` began has happened.
        file = self.tools(
            """
            leave(_, ctx) {
              global.left = 0
              const soon = (fn) => setTimeout(() => { global.left++; fn() }, 1)
              soon(() => { throw new Error('late timer') })
              soon(() => { Promise.reject(new Error('late promise')) })
              soon(() => process.exit(9))
              soon(() => { ctx.logger.info('late log'); ctx.progress(1); ctx.call('x', {}).catch((e) => console.log(e.message)) })
              soon(() => ctx.service.a.b())
              soon(() => new EventTarget().dispatchEvent(null))
              Promise.reject(new Error('left at once'))
              return 'left'
            },
            wait: () => new Promise((done) => {
              const look = () => (global.left === 6 ? setTimeout(() => done('waited'), 5) : setTimeout(look, 1))
              look()
            }),
            """
        )
        worker = self.worker()
        self.check_value(worker.call(file, "leave"), "left")
        self.check_value(worker.call(file, "wait"), "waited")
        self.check_alive(worker, file)
        log = worker.close()
        for text in ("late timer", "late promise", "left at once", "process.exit(9)", "after its call: late log"):
            self.assertIn(text, log)
        self.assertIn("`x` was called after the result was given", log)

    def test_changed_built_ins_do_not_reach_the_host(self):
        file = self.tools(
            """
            poison() {
              const broken = () => { throw new Error('poisoned') }
              JSON.stringify = JSON.parse = broken
              Array.prototype.toJSON = Object.prototype.toJSON = String.prototype.toJSON = () => 'poisoned'
              for (const key of ['map', 'forEach', 'join', 'push', 'slice', 'filter', 'includes', 'indexOf', 'concat']) {
                Array.prototype[key] = broken
              }
              Array.prototype[Symbol.iterator] = broken
              Map.prototype.get = Map.prototype.set = Map.prototype.has = Set.prototype.has = broken
              RegExp.prototype.test = RegExp.prototype.exec = broken
              Promise.prototype.then = broken
              Object.keys = Object.entries = Reflect.ownKeys = broken
              Buffer.from = Buffer.alloc = Buffer.byteLength = Buffer.concat = broken
              require('fs').writeSync = require('fs').fstatSync = broken
              process.chdir = process.exit = process.on = broken
              global.Promise = global.Proxy = undefined
              delete Object.prototype.toJSON
            },
            use: (_, ctx) => { ctx.logger.info('%s', 'still'); return ctx.call('file_read', { path: ['a'] }) },
            error: () => null.x,
            """
        )
        other = self.write("other.js", "module.exports = { name: 'a', description: 'b', handler: async () => ({ a: [1] }) }")
        broken = self.write("broken.js", "\n}")
        worker = self.worker()
        self.check_value(worker.call(file, "poison"), None)
        self.check_alive(worker, file)
        worker.start(file, "use")
        self.assertEqual(worker.receive(), {"op": "log", "level": "info", "text": "still"})
        question = worker.receive()
        worker.send({"op": "answer", "id": question["id"], "ok": True, "value": "yes"})
        self.check_value(worker.result(), "yes")
        self.assertFalse(worker.call(file, "error")["ok"])
        described = worker.describe(other, broken)
        self.assertEqual(described[0]["tools"], [{"name": "a", "description": "b"}])
        self.check_file_error(described[1], "SyntaxError")
        self.assertTrue(worker.call(other, "a")["ok"])


class Context(Node):
    def test_services(self):
        file = self.tools(
            """
            read: (_, ctx) => ctx.service.file.read({ path: 'a' }),
            taken: (_, ctx) => { const { read } = ctx.service.file; return read() },
            deep: (_, ctx) => ctx.service.a.b.c.d({}),
            odd: async (_, ctx) => {
              const awaited = await ctx.service
              const group = await ctx.service.file
              console.log(ctx, ctx.service, ctx.service.file, `${ctx.service.file}`, JSON.stringify({ s: ctx.service }))
              return [typeof awaited, typeof group, String(group)]
            },
            whole: (_, ctx) => ctx.service(),
            group: (_, ctx) => ctx.service.file(),
            text: (_, ctx) => ctx.service.search.search('words'),
            both: (_, ctx) => Promise.all([ctx.service.a.one(), ctx.service.a.two()]),
            """
        )
        worker = self.worker()
        worker.start(file, "read")
        asked = worker.receive()
        self.assertEqual(
            {**asked, "id": 0}, {"op": "ask", "id": 0, "service": "file", "action": "read", "args": {"path": "a"}}
        )
        error = {"type": "permission", "message": "denied", "hint": "ask first"}
        worker.send({"op": "answer", "id": asked["id"], "ok": False, "error": error})
        self.check_error(worker.result(), "denied", type="permission", hint="ask first")
        for tool, service, action in (("taken", "file", "read"), ("deep", "a.b.c", "d")):
            worker.start(file, tool)
            asked = worker.receive()
            self.assertEqual((asked["service"], asked["action"], asked["args"]), (service, action, {}))
            worker.send({"op": "answer", "id": asked["id"], "ok": True, "value": 1})
            self.check_value(worker.result(), 1)
        self.check_value(worker.call(file, "odd"), ["function", "function", "[ctx.service.file]"])
        self.check_error(worker.call(file, "whole"), "`ctx.service` is not an action")
        self.check_error(worker.call(file, "group"), "`ctx.service.file` is not an action")
        self.check_error(worker.call(file, "text"), "takes one object", type="validation")
        worker.start(file, "both")
        one, two = worker.receive(), worker.receive()
        for asked in (two, one):
            worker.send({"op": "answer", "id": asked["id"], "ok": True, "value": asked["action"]})
        self.check_value(worker.result(), ["one", "two"])

    def test_what_is_known_of_the_call(self):
        file = self.tools(
            """
            t: (_, ctx) => [ctx.runId, ctx.agentId, ctx.principal, ctx.tool, ctx.get('lang'), ctx.get('gone'), ctx.get('toString')],
            set: (_, ctx) => { ctx.set('a', { b: [1] }); ctx.set('lang', null); return [ctx.get('a'), ctx.get('lang')] },
            failed: (_, ctx) => { ctx.set('a', 1); throw new Error('no') },
            unfit: (_, ctx) => { ctx.set('a', () => 1) },
            """
        )
        worker = self.worker()
        answer = worker.call(file, "t", agent_id="agent-1", keys={"lang": "é"})
        self.check_value(answer, ["run-1", "agent-1", "user:ada", "x_t", "é", None, None])
        self.assertNotIn("writes", answer)
        answer = worker.call(file, "set", keys={"lang": "é"})
        self.check_value(answer, [{"b": [1]}, None])
        self.assertEqual(answer["writes"], {"a": {"b": [1]}, "lang": None})
        self.assertNotIn("writes", worker.call(file, "failed"))
        self.check_error(worker.call(file, "unfit"), "is a function")

    def test_what_is_not_there_says_so(self):
        file = self.tools("t: (_, ctx) => ctx.model.User.findAll(), u: (_, ctx) => ['model' in ctx, ctx.then, ctx.toJSON === undefined],")
        worker = self.worker()
        self.check_error(worker.call(file, "t"), "Helve has no `ctx.model`; there are `runId`")
        self.check_value(worker.call(file, "u"), [False, None, True])


if __name__ == "__main__":
    unittest.main()
