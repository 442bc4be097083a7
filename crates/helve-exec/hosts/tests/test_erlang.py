"""The host for Erlang."""

import os
import unittest

from harness import HOSTS, MAX_MESSAGE, CommonTests, HostTest

ESCRIPT = os.environ.get("HELVE_TEST_ESCRIPT", "escript")


class Erlang(HostTest):
    runtime = "erlang"
    argv = [ESCRIPT, os.path.join(HOSTS, "erlang", "start.escript")]

    def tools(self, handlers, name="tools", head=""):
        """A module with a tool for each handler, with `fine` beside them."""
        handlers = {"fine": 'fun(_) -> {ok, <<"fine">>} end', **handlers}
        specs = ",\n".join(f'#{{name => <<"{tool}">>, handler => {handler}}}' for tool, handler in handlers.items())
        text = f"-module({name}).\n-compile([export_all, nowarn_export_all]).\n{head}\ntools() -> [\n{specs}\n].\n"
        return self.write(f"{name}.erl", text)

    def common(self):
        return self.tools(
            {
                "echo": "fun(Args) -> {ok, Args} end",
                "where": "fun(_) -> {ok, Cwd} = file:get_cwd(), {ok, unicode:characters_to_binary(Cwd)} end",
                "long": 'fun(#{<<"n">> := N}) -> {ok, binary:copy(<<"x">>, N)} end',
                "ask": 'fun(_) -> helve:call(<<"file_read">>, #{path => <<"a">>}) end',
                "tell": 'fun(_) -> helve:log(info, "one ~b ~ts", [1, "é"]), helve:log(warn, "two"), '
                        'helve:progress(1, 2, <<"half">>), helve:progress(2), {ok, null} end',
            }
        )


class Common(Erlang, CommonTests):
    pass


class Loading(Erlang):
    def test_all_that_a_tool_says(self):
        file = self.write(
            "shop.erl",
            """
            -module(shop).
            -behaviour(beamai_tool_behaviour).
            -export([tool_info/0, tools/0, find/2, count/1, more/3]).

            tool_info() -> #{description => <<"A shop">>, tags => [<<"shop">>, sales]}.

            tools() -> [
                #{name => <<"find">>, description => <<"城市 Find">>, tag => <<"search">>, timeout => 10000,
                  retry => #{max => 3, delay => 1000}, metadata => #{owner => ada, since => 2024},
                  filters => [fun(X) -> X end, log],
                  parameters => #{
                    <<"keyword">> => #{type => string, required => true, description => <<"é">>},
                    unit => #{type => string, enum => [<<"a">>, b], default => undefined},
                    list => #{type => array, items => #{type => object, properties => #{
                        n => #{type => integer, required => true, default => 5}}}}},
                  handler => fun ?MODULE:find/2},
                #{name => "count", description => "A string", tag => ["one", <<"two">>], handler => fun count/1},
                beamai_tool:new(<<"new">>, {?MODULE, count}),
                beamai_tool:new(<<"more">>, {?MODULE, more, [5]}, #{timeout => 60000, tag => [<<"x">>]})
            ].

            find(Args, Ctx) -> {ok, [Args, beamai_context:get(run_id, Ctx)]}.
            count(Args) -> {ok, map_size(Args)}.
            more(_Args, Ctx, Extra) -> {ok, {Extra, beamai_context:get(principal, Ctx)}}.
            """,
        )
        worker = self.worker()
        [described] = worker.describe(file)
        self.assertIsNone(described["error"])
        find, count, new, more = described["tools"]
        self.assertEqual(
            find,
            {
                "name": "find",
                "description": "城市 Find",
                "tag": "search",
                "timeout": 10000,
                "retry": {"max": 3, "delay": 1000},
                "metadata": {"owner": "ada", "since": 2024},
                "filters": ["log"],
                "parameters": {
                    "keyword": {"type": "string", "required": True, "description": "é"},
                    "unit": {"type": "string", "enum": ["a", "b"], "default": None},
                    "list": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"n": {"type": "integer", "required": True, "default": 5}}},
                    },
                },
            },
        )
        self.assertEqual(count, {"name": "count", "description": "A string", "tag": ["one", "two"]})
        self.assertEqual(new, {"name": "new", "tag": ["shop", "sales"]})
        self.assertEqual(more, {"name": "more", "tag": ["x"], "timeout": 60000})
        self.check_value(worker.call(file, "find", {"a": 1}), [{"a": 1}, "run-1"])
        self.check_value(worker.call(file, "count", {"a": 1}), 1)
        self.check_value(worker.call(file, "new", {"a": 1, "b": 2}), 2)
        self.check_value(worker.call(file, "more"), [5, "user:ada"])

    def test_which_function_is_called(self):
        # With room for the context first, without it else; extra arguments behind.
        file = self.tools(
            {"both": "{?MODULE, both}", "args": "{?MODULE, args}", "extra": "{?MODULE, extra, [1, 2]}", "short": "{?MODULE, short, [1, 2]}"},
            head="both(_) -> {ok, one}. both(_, _) -> {ok, two}. args(_) -> {ok, args}.\n"
                 "extra(_, C, 1, 2) when is_map(C) -> {ok, four}. short(A, 1, 2) -> {ok, A}.",
        )
        worker = self.worker()
        for tool, value in (("both", "two"), ("args", "args"), ("extra", "four"), ("short", {})):
            self.check_value(worker.call(file, tool), value)

    def test_a_broken_file_says_where_and_harms_no_other(self):
        module = "-module({}).\n-export([tools/0]).\n{}\n"
        table = [
            ("a", "tools() ->\n  [}].", "syntax error before: '}'", 4, 4),
            ("b", "tools() -> [x(1)].", "function x/1 undefined", 3, None),
            ("c", '-include("gone.hrl").\ntools() -> [].', 'can\'t find include file "gone.hrl"', 3, None),
            ("d", "tools() ->\n  error(not_today).", "error: not_today", 4, None),
            ("e", "tools() -> 5.", "`tools/0` returned 5, not a list of tools", None, None),
            ("f", 'tools() -> [#{name => <<"x">>}].', "`x` has no `handler`", None, None),
            ("g", "tools() -> [#{handler => fun(_) -> ok end}].", "a tool has no `name`", None, None),
            ("h", 'tools() -> [#{name => <<"x">>, handler => fun(_, _, _) -> ok end}].', "the handler of `x` is #Fun", None, None),
            ("i", 'tools() -> [#{name => <<"x">>, handler => {h, gone}}].', "`h:gone`, is not exported with arity 1 or 2", None, None),
            ("j", 'tools() -> T = #{name => <<"x">>, handler => fun(_) -> ok end}, [T, T].', "two tools named `x`", None, None),
            ("k", "tools() ->\n  throw(away).", "throw: away", 4, None),
            ("l", "tools() ->\n  exit(kill).", "exit: kill", 4, None),
            ("m", "tools() -> exit(self(), kill), receive after infinity -> [] end.", "killed", None, None),
            ("n", "tools() -> [#{name => 5, handler => fun(_) -> ok end}].", "the name of a tool is not text: 5", None, None),
            ("o", "tools() -> [oops].", "a tool has no `name`: oops", None, None),
            ("p", 'tools() -> ["unclosed].', "unterminated string", 3, None),
            ("q", "tools() -> #{a => .", "syntax error before: '.'", 3, None),
        ]
        files = [self.write(f"{name}.erl", module.format(name, text)) for name, text, *_ in table]
        more = [
            (self.write("lists.erl", module.format("lists", "tools() -> [].")), "there is a module `lists` already"),
            (self.write("helve_host.erl", module.format("helve_host", "tools() -> [].")), "there is a module `helve_host` already"),
            (self.write("none.erl", "-module(none).\n"), "it exports no `tools/0`"),
            (self.write("no_module.erl", "tools() -> [].\n"), ""),
            (self.write("empty.erl", ""), ""),
        ]
        good = self.tools({}, "z")
        worker = self.worker()
        *broken, fine = worker.describe(*files, *[file for file, _ in more], good)
        for described, (name, _, message, line, column) in zip(broken, table):
            with self.subTest(name):
                self.check_file_error(described, message, line=line, column=column if column else "any")
        for described, (file, message) in zip(broken[len(table):], more):
            with self.subTest(file):
                self.check_file_error(described, message)
        self.assertIsNone(fine["error"])
        self.check_error(worker.call(files[3], "x"), "not_today", line=4)
        self.check_alive(worker, good)

    def test_one_name_for_two_files(self):
        text = '-module(same).\n-export([tools/0]).\ntools() -> [#{name => <<"a">>, handler => fun(_) -> {ok, %s} end}].\n'
        one = self.write("one/same.erl", text % "one")
        two = self.write("two/same.erl", text % "two")
        worker = self.worker()
        described = worker.describe(one, two)
        self.assertIsNone(described[0]["error"])
        self.check_file_error(described[1], "there is a module `same` already, from same.erl")
        self.check_value(worker.call(one, "a"), "one")

    def test_marks_line_ends_and_letters(self):
        body = '-module(%s).\n-export([tools/0]).\ntools() -> [#{name => <<"a">>, description => <<"读取 é"/utf8>>,\n' \
               '  handler => fun(#{<<"名">> := X}) -> {ok, <<"ü"/utf8, X/binary>>} end}].\n'
        files = [
            self.write("a.erl", b"\xef\xbb\xbf" + (body % "a").encode()),
            self.write("b.erl", (body % "b").replace("\n", "\r\n").encode()),
            self.write("e.erl", ("%% -*- coding: utf-8 -*-\n" + body % "e").encode()),
        ]
        latin = self.write("d.erl", '-module(d).\n-export([tools/0]).\ntools() -> [#{name => <<"a">>, description => <<"é">>, handler => fun(_) -> {ok, 1} end}].\n')
        worker = self.worker()
        for described in worker.describe(*files):
            self.assertIsNone(described["error"], described)
            self.assertEqual(described["tools"], [{"name": "a", "description": "读取 é"}])
        for file in files:
            self.check_value(worker.call(file, "a", {"名": "x"}), "üx")
        self.assertEqual(worker.describe(latin)[0]["tools"], [{"name": "a", "description": "é"}])

    def test_neighbours(self):
        self.write("near.erl", "-module(near).\n-export([word/0]).\nword() -> far:word().\n")
        self.write("far.erl", '-module(far).\n-include("words.hrl").\n-export([word/0, handle/1]).\nword() -> ?WORD.\nhandle(_) -> {ok, handled}.\n')
        self.write("words.hrl", "-define(WORD, <<\"far\">>).\n")
        file = self.tools({"a": "fun(_) -> {ok, near:word()} end", "b": "{far, handle}", "c": "fun far:handle/1"})
        worker = self.worker()
        self.check_value(worker.call(file, "a"), "far")
        self.check_value(worker.call(file, "b"), "handled")
        self.check_value(worker.call(file, "c"), "handled")


class Results(Erlang):
    def check_table(self, table, check):
        file = self.tools({f"t{i}": f"fun(_) -> {code} end" for i, (code, _) in enumerate(table)})
        worker = self.worker()
        for i, (code, expected) in enumerate(table):
            with self.subTest(code):
                check(worker.call(file, f"t{i}"), expected)
        self.check_alive(worker, file)

    def test_values(self):
        table = [
            ("{ok, ok}", "ok"),
            ("{ok, [true, false, null, undefined, nil]}", [True, False, None, None, "nil"]),
            ("{ok, {1, [2, {}]}}", [1, [2, []]]),
            ("{ok, [1 | 2]}", "[1|2]"),
            ("{ok, #{a => 1, <<\"b\">> => 2, \"c\" => 3, 4 => 5, {x} => 6, <<255, 1>> => 7}}",
             {"a": 1, "b": 2, "c": 3, "4": 5, "{x}": 6, "<<255,1>>": 7}),
            ("{ok, \"ab\"}", [97, 98]),
            ("{ok, <<255, 0>>}", {"base64": "/wA="}),
            ("{ok, <<1:3>>}", "<<1:3>>"),
            ("{ok, [1.5, 1.0e22, -0.1, 1 bsl 63, 1 bsl 64, -(1 bsl 63) - 1]}", [1.5, 1e22, -0.1, 2**63, str(2**64), str(-(2**63) - 1)]),
            ("{ok, <<\"é\\n\\t\\\"\\\\\\0中\"/utf8>>}", "é\n\t\"\\\0中"),
            ("{ok, <<16#ED, 16#A0, 16#BD>>}", {"base64": "7aC9"}),
            ("{ok, 'atom with spaces é'}", "atom with spaces é"),
            ("{ok, maps:from_list([{N, N} || N <- lists:seq(1, 40)])}", {str(n): n for n in range(1, 41)}),
        ]
        self.check_table(table, self.check_value)

    def test_printed_terms(self):
        file = self.tools({"t": "fun(_) -> {ok, [self(), make_ref(), fun lists:map/2]} end"})
        pid, ref, function = self.worker().call(file, "t")["value"]
        self.assertRegex(pid, r"^<0\.\d+\.0>$")
        self.assertRegex(ref, r"^#Ref<")
        self.assertEqual(function, "fun lists:map/2")

    def test_what_is_no_result(self):
        table = [
            ("{error, <<\"no city é\"/utf8>>}", "no city é"),
            ("{error, \"a string\"}", "a string"),
            ("{error, {db_error, timeout}}", "{db_error,timeout}"),
            ("{error, not_found}", "not_found"),
            ("{error, []}", "[]"),
            ("5", "the handler returned 5; return {ok, Result}, {ok, Result, Context} or {error, Reason}"),
            ("ok", "the handler returned ok; return {ok, Result}"),
            ("{ok, 1, 2}", "is not a context"),
            ("{ok, lists:foldl(fun(_, A) -> [A] end, 1, lists:seq(1, 100000))}", "nested more than 100 deep"),
            ("{ok, 1 bsl 100000}", "an integer of more than 10000 bits"),
            ("error(oops)", "error: oops"),
            ("throw({a, 1})", "throw: {a,1}"),
            ("exit(normal)", "exit: normal"),
            ("exit(self(), kill), receive after infinity -> ok end", "its process ended: killed"),
            ("1 = list_to_integer(\"2\")", "error: {badmatch,2}"),
            ("maps:get(<<\"city\">>, #{})", "error: {badkey,<<\"city\">>}"),
            ("gone:gone()", "error: undef"),
            ("error(binary:copy(<<\"x\">>, 10000000))", "error: <<\"xxx"),
            ("spawn_link(fun() -> exit(linked) end), receive after infinity -> ok end", "its process ended: linked"),
        ]
        self.check_table(table, self.check_error)

    def test_the_line_is_of_the_file(self):
        file = self.write(
            "a.erl",
            '-module(a).\n-export([tools/0, h/1]).\ntools() -> [#{name => <<"a">>, handler => fun h/1}].\nh(_) ->\n'
            '  X = binary_to_integer(<<"x">>),\n  {ok, X}.\n',
        )
        answer = self.worker().call(file, "a")
        self.check_error(answer, "badarg", line=5, name="badarg")
        self.assertIn("a:h/1 (a.erl:5)", answer["error"]["stack"])
        self.assertNotIn("helve_", answer["error"]["stack"])

    def test_a_gigabyte_is_refused_before_it_is_written(self):
        file = self.tools(
            {
                "texts": "fun(_) -> {ok, lists:duplicate(16, binary:copy(<<\"x\">>, 64 * 1024 * 1024))} end",
                "tree": "fun(_) -> {ok, lists:foldl(fun(_, T) -> [T, T] end, leaf, lists:seq(1, 40))} end",
                "numbers": "fun(_) -> {ok, lists:duplicate(1300000, 1234567)} end",
                "map": "fun(_) -> {ok, #{a => binary:copy(<<0>>, 64 * 1024 * 1024)}} end",
            }
        )
        worker = self.worker()
        for tool in ("texts", "tree", "numbers", "map"):
            with self.subTest(tool):
                self.check_error(worker.call(file, tool), f"bytes, at most {MAX_MESSAGE}", type="internal")
        self.assertLess(worker.peak_memory(), 600 * 1024 * 1024)
        self.check_alive(worker, file)

    def test_large_numbers_are_exact(self):
        file = self.tools({"t": "fun(#{<<\"n\">> := N}) -> {ok, [integer_to_binary(N), N + 1]} end"})
        self.check_value(self.worker().call(file, "t", {"n": 2**63 + 12345}), [str(2**63 + 12345), 2**63 + 12346])


class Hostile(Erlang):
    def test_prints_land_in_the_log(self):
        file = self.tools(
            {
                "display": "fun(_) -> erlang:display(by_display), {ok, 1} end",
                "t": "fun(_) -> io:format(\"by io ~ts~n\", [<<\"é\"/utf8>>]), io:put_chars(user, \"by user\\n\"), "
                     "io:put_chars(standard_error, \"by error\\n\"), logger:error(\"by logger\"), "
                     "os:cmd(\"echo by a child >&2\"), {ok, io:get_line(\"\")} end"
            }
        )
        worker = self.worker()
        self.check_value(worker.call(file, "t"), "eof")
        log = worker.close()
        for text in ("by io é", "by user", "by error", "by logger"):
            self.assertIn(text, log)
        # It writes letter by letter past everything else, so it gets a log of its own.
        worker = self.worker()
        self.check_value(worker.call(file, "display"), 1)
        self.assertIn("by_display", worker.close())

    def test_children_do_not_get_the_line(self):
        file = self.tools({"t": 'fun(_) -> {ok, list_to_binary(os:cmd("readlink /proc/$$/fd/3 /proc/$$/fd/4; true"))} end'})
        self.check_value(self.worker().call(file, "t"), "")

    def test_halt_ends_the_worker_and_leaves_nothing(self):
        for code in ("halt()", "halt(3)", "erlang:halt(\"a slogan\")", "init:stop()", "exit(whereis(helve_host), kill)", "exit(whereis(init), kill)"):
            with self.subTest(code):
                file = self.tools({"t": f"fun(_) -> {code}, receive after infinity -> ok end end"})
                worker = self.worker()
                self.assertIsNone(worker.call(file, "t"))
                worker.close()
        self.assertEqual(os.listdir(self.folder), ["tools.erl"])

    def test_what_comes_late_harms_nobody(self):
        file = self.tools(
            {
                "leave": "fun(_) -> register(late, spawn(fun late/0)), {ok, left} end",
                "go": "fun(_) -> Ref = monitor(process, late), late ! go, receive {'DOWN', Ref, _, _, _} -> {ok, gone} end end",
                "forge": "fun(_) -> exit(self(), {result, <<\"{}\">>}), receive after infinity -> ok end end",
            },
            head="late() -> receive go -> ok end, {ok, 5} = helve:call(<<\"x\">>, #{}), error(late_crash).",
        )
        worker = self.worker()
        self.check_value(worker.call(file, "leave"), "left")
        self.check_alive(worker, file)
        worker.start(file, "go")
        question = worker.receive()
        worker.send({"op": "answer", "id": question["id"], "ok": True, "value": 5})
        self.check_value(worker.result(), "gone")
        self.check_error(worker.call(file, "forge"), "its process ended: {result")
        self.check_alive(worker, file)
        self.assertIn("late_crash", worker.close())

    def test_messages_to_the_host_do_not_confuse_it(self):
        file = self.tools({"t": "fun(_) -> helve_host ! nonsense, helve_host ! {'EXIT', self(), x}, {ok, sent} end"})
        worker = self.worker()
        self.check_value(worker.call(file, "t"), "sent")
        self.check_alive(worker, file)

    def test_changed_code_path(self):
        file = self.tools({"t": "fun(_) -> code:set_path([]), {ok, 1} end", "e": "fun(_) -> helve:call(x, #{}) end"})
        worker = self.worker()
        self.check_value(worker.call(file, "t"), 1)
        worker.start(file, "e")
        question = worker.receive()
        worker.send({"op": "answer", "id": question["id"], "ok": True, "value": 5})
        self.check_value(worker.result(), 5)
        self.check_alive(worker, file)


class Context(Erlang):
    def test_what_is_known_of_the_call(self):
        file = self.tools(
            {
                "t": "fun(_, C) -> {ok, [beamai_context:get(run_id, C), beamai_context:get(<<\"agent_id\">>, C), beamai_context:get(tool, C), "
                     "beamai_context:get(lang, C), beamai_context:get(gone, C), beamai_context:get(gone, C, 5)]} end",
                "set": "fun(_, C) -> C1 = beamai_context:set(a, #{b => [1]}, C), C2 = beamai_context:set(<<\"lang\">>, fr, C1), "
                       "{ok, beamai_context:get(a, C2), beamai_context:set(same, <<\"s\">>, C2)} end",
                "same": "fun(_, C) -> {ok, 1, C} end",
                "run": "fun(_, C) -> {ok, 1, beamai_context:set(run_id, 5, C)} end",
            }
        )
        worker = self.worker()
        answer = worker.call(file, "t", agent_id="agent-1", keys={"lang": "é"})
        self.check_value(answer, ["run-1", "agent-1", "x_t", "é", None, 5])
        answer = worker.call(file, "set", keys={"lang": "é", "same": "s"})
        self.check_value(answer, {"b": [1]})
        self.assertEqual(answer["writes"], {"a": {"b": [1]}, "lang": "fr"})
        self.assertNotIn("writes", worker.call(file, "same", keys={"lang": "é"}))
        self.check_error(worker.call(file, "run"), "{read_only,run_id}")


if __name__ == "__main__":
    unittest.main()
