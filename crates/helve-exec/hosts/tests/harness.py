"""Starts a host as Helve does and talks to it over its two descriptors."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import textwrap
import threading
import unittest

HOSTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# A hung worker is killed after this; then its end is read, and the test fails.
DEADLINE = 120
MAX_MESSAGE = 8 * 1024 * 1024

_PLUMBING = 'exec 3>&1 4<&0 1>&2 0</dev/null; exec "$@"'


class Worker:
    def __init__(self, argv, environment=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", _PLUMBING, "-", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd="/",
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", **(environment or {})},
        )
        self.overdue = False
        self.timer = threading.Timer(DEADLINE, self._give_up)
        self.timer.daemon = True
        self.timer.start()
        self.last_id = 0
        self.ready = self.receive()

    def _give_up(self):
        self.overdue = True
        self.process.kill()

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(frame(message))

    def receive(self):
        """The next message, or `None` at the end."""
        head = self.process.stdout.read(4)
        if len(head) < 4:
            return None
        (size,) = struct.unpack(">I", head)
        assert size <= MAX_MESSAGE, f"a message of {size} bytes"
        body = self.process.stdout.read(size)
        # Strict: no `NaN`, no half surrogates, valid UTF-8.
        return json.loads(body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_object)

    def ask(self, message):
        self.send(message)
        return self.receive()

    def describe(self, *files):
        answer = self.ask({"op": "describe", "files": list(files)})
        assert answer is not None and answer["op"] == "described", answer
        assert [f["file"] for f in answer["files"]] == list(files), answer
        return answer["files"]

    def start(self, file, tool, args=None, cwd=None, **ctx):
        self.last_id += 1
        info = {"run_id": "run-1", "tool": f"x_{tool}", "agent_id": None, "principal": "user:ada", "keys": {}}
        self.send(
            {
                "op": "call",
                "id": self.last_id,
                "file": file,
                "tool": tool,
                "args": args or {},
                "cwd": cwd or os.path.dirname(file),
                "ctx": {**info, **ctx},
            }
        )

    def call(self, file, tool, args=None, cwd=None, **ctx):
        self.start(file, tool, args, cwd, **ctx)
        return self.result()

    def result(self):
        message = self.receive()
        if message is not None:
            assert message["op"] == "result" and message["id"] == self.last_id, message
        return message

    def close(self):
        """Ends the worker and gives what it wrote to the log."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.code = self.process.wait()
        self.timer.cancel()
        assert not self.overdue, f"it did not end within {DEADLINE} s"
        self.process.stdout.close()
        self.log.seek(0)
        text = self.log.read().decode("utf-8", "replace")
        self.log.close()
        return text

    def peak_memory(self):
        """The most memory it ever held, in bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024


def frame(message):
    body = json.dumps(message).encode("utf-8")
    return struct.pack(">I", len(body)) + body


def _no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def _object(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), f"a key is there twice: {pairs}"
    for _, value in pairs:
        if isinstance(value, str):
            value.encode("utf-8")
    return dict(pairs)


class HostTest(unittest.TestCase):
    """A folder of tools and a worker to run them."""

    maxDiff = None
    argv = []

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.workers = []
        self.addCleanup(self._end)

    def _end(self):
        for worker in self.workers:
            if not worker.log.closed:
                worker.close()

    def worker(self, environment=None, argv=None):
        worker = Worker(argv or self.argv, environment)
        self.workers.append(worker)
        return worker

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(text, str) and text.startswith("\n "):
            text = textwrap.dedent(text[1:])
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def check_alive(self, worker, file, tool="fine", expected="fine"):
        answer = worker.call(file, tool)
        self.assertIsNotNone(answer, "the worker has ended")
        self.assertEqual((answer["ok"], answer.get("value")), (True, expected), answer)

    def check_value(self, answer, expected):
        self.assertIsNotNone(answer, "the worker has ended")
        self.assertTrue(answer["ok"], answer)
        self.assertEqual(answer["value"], expected)

    def check_error(self, answer, message, **fields):
        self.assertIsNotNone(answer, "the worker has ended")
        self.assertFalse(answer["ok"], answer)
        error = answer["error"]
        self.assertLessEqual({"message", "name", "stack", "line"}, set(error))
        self.assertIn(message, error["message"])
        for key, value in fields.items():
            self.assertEqual(error.get(key), value, f"{key} of {error}")

    def check_file_error(self, described, message, line="any", column="any"):
        self.assertEqual(described["tools"], [])
        error = described["error"]
        self.assertIsNotNone(error, described)
        self.assertEqual(set(error), {"message", "line", "column"})
        self.assertIn(message, error["message"])
        if line != "any":
            self.assertEqual(error["line"], line, error)
        if column != "any":
            self.assertEqual(error["column"], column, error)


class CommonTests:
    """What holds for every language. A subclass gives the tools.

    `common` is a file with these tools: `fine` returns "fine", `echo` returns its
    arguments, `ask` returns what `file_read` with `{path: "a"}` says, `where`
    returns the working directory, `long` returns a text of `n` bytes, `tell`
    logs "one" and says 1 of 2, then returns nothing.
    """

    runtime = ""

    def common(self):
        raise NotImplementedError

    def test_says_that_it_is_ready(self):
        ready = self.worker().ready
        self.assertEqual((ready["op"], ready["protocol"]), ("ready", 1))
        self.assertRegex(ready["runtime"], rf"^{self.runtime} \d+")

    def test_ends_when_nobody_speaks_any_more(self):
        worker = self.worker()
        worker.close()
        self.assertEqual(worker.code, 0)

    def test_messages_in_pieces_and_in_one(self):
        file = self.common()
        worker = self.worker()
        call = {"op": "call", "id": 1, "file": file, "tool": "echo", "args": {"a": "é"}, "cwd": "/", "ctx": {}}
        for byte in frame(call):
            worker.send_bytes(bytes([byte]))
        self.check_value(worker.receive(), {"a": "é"})
        worker.send_bytes(frame({**call, "id": 2}) + frame({**call, "id": 3}) + frame({**call, "id": 4}))
        self.assertEqual([worker.receive()["id"] for _ in range(3)], [2, 3, 4])

    def test_large_messages_both_ways(self):
        file = self.common()
        worker = self.worker()
        text = "é" * (4 * 1024 * 1024 - 1000)
        self.check_value(worker.call(file, "echo", {"a": text}), {"a": text})
        answer = worker.call(file, "echo", {"a": "x" * (15 * 1024 * 1024)})
        self.check_error(answer, "its result is too long: ", type="internal")
        self.check_error(answer, "bytes, at most 8388608")
        self.check_alive(worker, file)

    def test_the_longest_message(self):
        file = self.common()
        worker = self.worker()
        head = len(json.dumps({"op": "result", "id": 1, "ok": True, "value": ""}, separators=(",", ":")))
        for over, fits in ((0, True), (1, False)):
            answer = worker.call(file, "long", {"n": MAX_MESSAGE - head + over})
            self.assertEqual(answer["ok"], fits)
            if not fits:
                self.check_error(answer, f"its result is too long: {MAX_MESSAGE + 1} bytes, at most {MAX_MESSAGE}")

    def test_arguments_of_all_kinds(self):
        file = self.common()
        worker = self.worker()
        args = {
            "text": 'a "quoted" \\ line\n\t\r\b\f/\u0001 é 中文 😀 \u2028',
            "numbers": [0, -1, 1.5, 1e5, -2.5e-3, 2**53, 12345678901],
            "none": None,
            "flags": [True, False],
            "empty": [{}, [], ""],
            "__proto__": {"a": 1},
            "deep": _nested(60),
        }
        self.check_value(worker.call(file, "echo", args), args)

    def test_unknown_tool_and_missing_file(self):
        file = self.common()
        worker = self.worker()
        self.check_error(worker.call(file, "nothing"), "the file has no tool named `nothing`", type="not_found")
        missing = os.path.join(self.folder, "gone" + os.path.splitext(file)[1])
        self.assertFalse(worker.call(missing, "fine")["ok"])
        described = worker.describe(missing, file)
        self.check_file_error(described[0], "")
        self.assertIsNone(described[1]["error"])
        self.check_alive(worker, file)

    def test_runs_in_the_folder_it_is_told(self):
        file = self.common()
        worker = self.worker()
        other = os.path.join(self.folder, "中 文")
        os.mkdir(other)
        self.check_value(worker.call(file, "where"), self.folder)
        self.check_value(worker.call(file, "where", cwd=other), other)
        self.assertFalse(worker.call(file, "where", cwd="/nowhere/at/all")["ok"])
        self.check_value(worker.call(file, "where"), self.folder)

    def test_asks_another_tool(self):
        file = self.common()
        worker = self.worker()
        worker.start(file, "ask")
        question = worker.receive()
        self.assertEqual({k: question[k] for k in ("op", "args")}, {"op": "ask", "args": {"path": "a"}})
        self.assertEqual(question["tool"], "file_read")
        worker.send({"op": "answer", "id": question["id"], "ok": True, "value": ["é", {"n": 1}]})
        self.check_value(worker.result(), ["é", {"n": 1}])
        worker.start(file, "ask")
        question = worker.receive()
        # An answer to something else is nobody's.
        worker.send({"op": "answer", "id": 99, "ok": True, "value": 1})
        error = {"type": "not_found", "message": "no such file", "hint": "look elsewhere"}
        worker.send({"op": "answer", "id": question["id"], "ok": False, "error": error})
        self.check_error(worker.result(), "no such file", type="not_found", hint="look elsewhere")
        self.check_alive(worker, file)

    def test_ends_while_an_answer_is_awaited(self):
        file = self.common()
        worker = self.worker()
        worker.start(file, "ask")
        worker.receive()
        worker.close()
        self.assertEqual(worker.code, 0)

    def test_logs_and_progress(self):
        file = self.common()
        worker = self.worker()
        worker.start(file, "tell")
        self.assertEqual(worker.receive(), {"op": "log", "level": "info", "text": "one 1 é"})
        self.assertEqual(worker.receive(), {"op": "log", "level": "warn", "text": "two"})
        self.assertEqual(worker.receive(), {"op": "progress", "done": 1, "total": 2, "message": "half"})
        self.assertEqual(worker.receive(), {"op": "progress", "done": 2, "total": None, "message": None})
        self.check_value(worker.result(), None)


def _nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value
