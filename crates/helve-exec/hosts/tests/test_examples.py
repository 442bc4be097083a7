"""The example tools, run by their hosts."""

import http.server
import json
import os
import threading
import unittest

from harness import HOSTS
from test_erlang import Erlang
from test_node import Node
from test_python import Python

EXAMPLES = os.path.join(HOSTS, "examples")


def text(answer):
    return answer["value"]["content"][0]["text"]


class JavaScript(Node):
    root = os.path.join(EXAMPLES, "javascript", "internal-tools")

    def path(self, name):
        return os.path.join(self.root, *name.split("/"))

    def setUp(self):
        super().setUp()
        self.host = self.worker()

    def run_tool(self, name, args, ok=True):
        action = os.path.splitext(os.path.basename(name))[0]
        self.host.start(self.path(name), action, args, cwd=self.folder)
        message = self.host.receive()
        while message["op"] != "result":
            self.assertIn(message["op"], ("log", "progress"))
            message = self.host.receive()
        self.assertEqual(message["ok"], ok, message)
        return message

    def test_every_tool_is_described(self):
        names = [f"file/{a}.js" for a in ("read", "write", "list", "delete", "mkdir", "move", "copy")]
        names += ["code/search.js", "code/analyze.js", "system/execute.js", "system/info.mjs"]
        for name, described in zip(names, self.host.describe(*[self.path(name) for name in names])):
            with self.subTest(name):
                self.assertIsNone(described["error"])
                [tool] = described["tools"]
                self.assertEqual(tool["name"], os.path.splitext(os.path.basename(name))[0])
                self.assertEqual(tool["metadata"], {"type": "internal", "source": os.path.basename(name)})
                self.assertEqual(tool["inputSchema"]["type"], "object")
                self.assertIn(tool["risk"], ("read", "write", "exec_low"))

    def test_files(self):
        run = self.run_tool
        run("file/write.js", {"path": "notes/a.txt", "content": "one é\ntwo\n"})
        self.assertEqual(text(run("file/read.js", {"path": "notes/a.txt"})), "one é\ntwo\n")
        run("file/copy.js", {"source": "notes", "destination": "copy/of/notes"})
        run("file/move.js", {"source": "copy/of/notes/a.txt", "destination": "b.txt"})
        run("file/move.js", {"source": "b.txt", "destination": "notes/a.txt"}, ok=False)
        run("file/mkdir.js", {"path": "x/y"})
        run("file/mkdir.js", {"path": "p/q", "recursive": False}, ok=False)
        listed = json.loads(text(run("file/list.js", {"recursive": True})))
        self.assertEqual(
            [(entry["path"], entry["type"]) for entry in listed],
            [("b.txt", "file"), ("copy", "directory"), ("copy/of", "directory"), ("copy/of/notes", "directory"),
             ("notes", "directory"), ("notes/a.txt", "file"), ("x", "directory"), ("x/y", "directory")],
        )
        run("file/delete.js", {"path": "notes"}, ok=False)
        run("file/delete.js", {"path": "notes", "recursive": True})
        run("file/delete.js", {"path": "x/y"})
        run("file/delete.js", {"path": "b.txt"})
        run("file/delete.js", {"path": "."}, ok=False)
        self.assertEqual(sorted(os.listdir(self.folder)), ["copy", "x"])

    def test_nothing_leaves_the_project(self):
        self.write("..dots", "fine")
        os.symlink("/etc/hostname", os.path.join(self.folder, "link"))
        os.symlink("/nowhere-at-all", os.path.join(self.folder, "dangling"))
        os.symlink("/etc", os.path.join(self.folder, "folder"))
        self.assertEqual(text(self.run_tool("file/read.js", {"path": "..dots"})), "fine")
        for path in ("../x", "/etc/hostname", "link", "folder/hostname", "a/../../x"):
            with self.subTest(path):
                answer = self.run_tool("file/read.js", {"path": path}, ok=False)
                self.check_error(answer, "is outside the project", type="permission")
        for path in ("dangling", "folder/new"):
            answer = self.run_tool("file/write.js", {"path": path, "content": "x"}, ok=False)
            self.check_error(answer, "is outside the project")

    def test_searching_and_looking(self):
        self.write("a/b.js", "// one\nconst f = () => 1\n\nconst two = 'two words'\n")
        self.write("node_modules/x.js", "two words")
        found = json.loads(text(self.run_tool("code/search.js", {"query": "two words"})))
        self.assertEqual(found, [{"file": "a/b.js", "line": 4, "text": "const two = 'two words'"}])
        found = json.loads(text(self.run_tool("code/search.js", {"query": "^const", "regex": True, "max_results": 1})))
        self.assertEqual([f["line"] for f in found], [2])
        self.run_tool("code/search.js", {"query": "(", "regex": True}, ok=False)
        self.host.start(self.path("code/analyze.js"), "analyze", {"path": "a/b.js"}, cwd=self.folder)
        asked = self.host.receive()
        self.assertEqual((asked["service"], asked["action"], asked["args"]), ("file", "read", {"path": "a/b.js"}))
        with open(os.path.join(self.folder, "a/b.js")) as file:
            value = {"content": [{"type": "text", "text": file.read()}]}
        self.host.send({"op": "answer", "id": asked["id"], "ok": True, "value": value})
        self.assertEqual(json.loads(text(self.host.result())), {"lines": 5, "empty": 2, "comments": 1, "functions": 1})

    def test_system(self):
        answer = json.loads(text(self.run_tool("system/execute.js", {"command": "pwd"})))
        self.assertEqual(answer["stdout"], self.folder + "\n")
        for command in ("ls; pwd", "rm", "toString", "pwd "):
            self.check_error(self.run_tool("system/execute.js", {"command": command}, ok=False), "is not allowed", type="permission")
        self.assertEqual(self.run_tool("system/info.mjs", {})["value"]["platform"], "linux")


class PythonExamples(Python):
    root = os.path.join(EXAMPLES, "python")

    def call(self, worker, file, tool, args=None, ok=True):
        answer = worker.call(os.path.join(self.root, file), tool, args, cwd=self.folder)
        self.assertTrue(answer["ok"], answer)
        self.assertEqual(answer["value"]["ok"], ok, answer)
        return answer["value"]["data"] if ok else answer["value"]["error"]

    SERVERS = {
        "web": {"web_search": ["query", "max_results", "search_depth"], "web_fetch": ["url", "max_bytes"]},
        "memory": {
            "recall_memory": ["topic", "limit"],
            "remember": ["category", "content", "key", "value"],
            "get_user_profile": [],
            "list_memories": ["category", "limit"],
            "forget": ["memory_id"],
        },
        "chatlog": {
            "get_chatlog_stats": [],
            "search_person": ["person", "include_context"],
            "list_topics": ["limit", "pattern"],
            "search_by_topics": ["topics", "max_results"],
            "search_by_keywords": ["keywords", "target_person", "max_results", "match_all"],
            "load_messages": ["line_numbers", "context_before", "context_after", "include_metadata"],
            "expand_query": ["question", "target_person", "use_llm"],
            "search_semantic": ["query", "top_k"],
            "filter_by_person": ["messages", "target_person", "use_llm"],
            "format_messages": ["messages", "format", "max_chars"],
        },
    }

    def test_all_seventeen_are_described(self):
        files = [os.path.join(self.root, f"{name}.py") for name in self.SERVERS]
        found = {}
        for described in self.worker().describe(*files):
            self.assertIsNone(described["error"], described)
            for tool in described["tools"]:
                properties = tool["input_schema"]["properties"]
                found.setdefault(tool["server"], {})[tool["name"]] = list(properties)
                for name, one in properties.items():
                    self.assertIn("description", one, f"{tool['name']}.{name}")
        self.assertEqual(found, self.SERVERS)

    def test_memory(self):
        worker = self.worker()
        keep = {"category": "preference", "content": "likes tea", "key": "drink", "value": "tea"}
        self.assertEqual(self.call(worker, "memory.py", "remember", keep)["id"], "m1")
        self.call(worker, "memory.py", "remember", {"category": "fact", "content": "住在北京"})
        self.call(worker, "memory.py", "remember", {"category": "mood", "content": "x"}, ok=False)
        recalled = self.call(worker, "memory.py", "recall_memory", {"topic": "tea"})
        self.assertEqual([m["id"] for m in recalled["memories"]], ["m1"])
        self.assertEqual(self.call(worker, "memory.py", "get_user_profile"), {"drink": "tea"})
        listed = self.call(worker, "memory.py", "list_memories", {"category": "fact"})
        self.assertEqual([m["content"] for m in listed["memories"]], ["住在北京"])
        self.call(worker, "memory.py", "forget", {"memory_id": "m1"})
        self.call(worker, "memory.py", "forget", {"memory_id": "m1"}, ok=False)
        self.assertEqual(len(self.call(worker, "memory.py", "list_memories")["memories"]), 1)

    def test_chatlog(self):
        log = [
            {"sender": "Ada", "time": "10:00", "text": "The engine weaves patterns", "topics": ["engine"]},
            {"sender": "Bob", "time": "10:01", "text": "Like a loom?", "topics": ["engine", "loom"]},
            {"sender": "Cyd", "time": "10:02", "text": "今天天气很好", "topics": ["天气"]},
            {"sender": "Bob", "time": "10:03", "text": "Ada is right about the loom", "topics": ["loom"]},
        ]
        self.write("chatlog.jsonl", "".join(json.dumps(m, ensure_ascii=False) + "\n" for m in log))
        worker = self.worker()

        def call(tool, ok=True, **args):
            return self.call(worker, "chatlog.py", tool, args, ok)

        self.assertEqual(call("get_chatlog_stats"), {"total_messages": 4, "senders": {"Bob": 2, "Ada": 1, "Cyd": 1}})
        self.assertEqual([m["line"] for m in call("search_person", person="ada", include_context=False)["messages"]], [1, 4])
        self.assertEqual([m["line"] for m in call("search_person", person="ada")["messages"]], [1, 2, 3, 4])
        self.assertEqual([t["topic"] for t in call("list_topics", limit=2)["topics"]], ["engine", "loom"])
        self.assertEqual(
            call("search_by_topics", topics=["loom", "天气"]),
            {"line_numbers": [2, 3, 4], "total_matches": 3, "topic_breakdown": {"loom": 2, "天气": 1}},
        )
        self.assertEqual(call("search_by_keywords", keywords=["loom", "right"], match_all=True)["line_numbers"], [4])
        self.assertEqual(call("search_by_keywords", keywords=["loom", "engine"], target_person="bob")["line_numbers"], [2, 4])
        call("search_by_keywords", ok=False)
        self.assertEqual(call("load_messages", line_numbers=[2], context_after=1)["messages"][1],
                         {"line": 3, "sender": "Cyd", "text": "今天天气很好"})
        self.assertEqual(call("expand_query", question="What about the loom?")["topics"], ["loom"])
        self.assertEqual(call("search_semantic", query="天气怎么样", top_k=1)["messages"][0]["line"], 3)
        kept = call("filter_by_person", messages=log, target_person="Ada")["messages"]
        self.assertEqual(len(kept), 2)
        formatted = call("format_messages", messages=kept, format="timeline")["text"]
        self.assertEqual(formatted, "[10:00] Ada: The engine weaves patterns\n[10:03] Bob: Ada is right about the loom")
        call("format_messages", ok=False, format="odd")

    def test_web(self):
        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                found = json.dumps([self.path]) if self.path.startswith("/search") else "a page é"
                self.wfile.write(found.encode())

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Page)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        far = f"http://127.0.0.1:{server.server_port}"
        worker = self.worker({"WEB_FAR_END": far})
        found = self.call(worker, "web.py", "web_search", {"query": "a b", "max_results": 2})
        self.assertEqual(found, {"results": ["/search?q=a+b&n=2&depth=basic"]})
        page = self.call(worker, "web.py", "web_fetch", {"url": far + "/x", "max_bytes": 6})
        self.assertEqual(page["text"], "a page")
        self.call(worker, "web.py", "web_fetch", {"url": "http://127.0.0.2/x"}, ok=False)
        self.call(self.worker(), "web.py", "web_search", {"query": "x"}, ok=False)

    def test_plain_functions(self):
        self.write("words.txt", "one three three")
        worker = self.worker()
        file = os.path.join(self.root, "plain.py")
        [described] = worker.describe(file)
        self.assertEqual([t["name"] for t in described["tools"]], ["word_count", "convert_temperature", "days_between", "slugs"])
        for tool in described["tools"][:3]:
            for one in tool["input_schema"]["properties"].values():
                self.assertIn("description", one)

        def call(tool, **args):
            return worker.call(file, tool, args, cwd=self.folder)

        self.check_value(call("word_count", path="words.txt", longest=1), {"words": 3, "different": 2, "longest": ["three"]})
        self.check_value(call("convert_temperature", degrees=100), 212)
        self.check_value(call("convert_temperature", degrees=212, unit="fahrenheit"), 100)
        self.check_value(call("days_between", first="2024-02-28", last="2024-03-01"), 2)
        self.check_value(call("slugs", titles=["A Title!"]), ["a-title"])


class ErlangExamples(Erlang):
    def test_weather(self):
        file = os.path.join(EXAMPLES, "erlang", "weather_tools.erl")
        worker = self.worker()
        [described] = worker.describe(file)
        self.assertIsNone(described["error"])
        tools = {t["name"]: t for t in described["tools"]}
        self.assertEqual(
            {name: tool["tag"] for name, tool in tools.items()},
            {
                "get_weather": "current",
                "forecast": ["weather", "example"],
                "compare": ["weather", "example"],
                "heat_alert": ["alert", "health"],
                "convert_temperature": "units",
            },
        )
        self.assertEqual(tools["forecast"]["retry"], {"max": 3, "delay": 1000})
        self.assertEqual(tools["get_weather"]["parameters"]["unit"]["enum"], ["celsius", "fahrenheit"])
        self.check_value(
            worker.call(file, "get_weather", {"city": "Tokyo", "unit": "fahrenheit"}),
            {"city": "Tokyo", "temp": 82.4, "unit": "fahrenheit", "condition": "Cloudy"},
        )
        self.check_error(worker.call(file, "get_weather", {"city": "Atlantis"}), "there is no weather for Atlantis")
        self.check_error(worker.call(file, "get_weather"), "missing_city")
        answer = worker.call(file, "forecast", {"city": "Oslo", "days": 2})
        self.check_value(answer, {"city": "Oslo", "days": [{"day": 1, "temp": 13}, {"day": 2, "temp": 12}]})
        self.assertEqual(answer["writes"], {"last_city": "Oslo"})
        answer = worker.call(file, "forecast", {"days": 1}, keys={"last_city": "Oslo"})
        self.assertEqual(answer["value"]["city"], "Oslo")
        self.assertNotIn("writes", answer)
        places = [{"city": "Oslo"}, {"city": "Cairo", "weight": 0.25}]
        self.check_value(worker.call(file, "compare", {"places": places}), [{"city": "Oslo", "score": 12}, {"city": "Cairo", "score": 9}])
        self.check_error(worker.call(file, "compare", {"places": [{"city": "X"}]}), '{unknown_cities,[<<"X">>]}')
        self.check_value(worker.call(file, "heat_alert"), {"threshold": 30, "cities": ["Cairo"]})
        self.check_value(worker.call(file, "convert_temperature", {"celsius": 100}), 212)


if __name__ == "__main__":
    unittest.main()
