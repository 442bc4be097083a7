"""One call while it runs, and what it may ask of Helve.

Answers come on the same line as the next call. So whoever waits for one, in
whatever thread, reads for everybody until his own is there; in an event loop
the line is watched instead.
"""

import asyncio
import contextvars
import itertools
import threading

from .encode import NotJson, encode
from .wire import IN, say

_MOST_TEXT = 64 * 1024

current = contextvars.ContextVar("helve_call", default=None)


def cut(text):
    text = text if isinstance(text, str) else str(text)
    over = len(text) - _MOST_TEXT
    return text if over <= 0 else f"{text[:_MOST_TEXT]}… ({over} more)"


class Call:
    """`open` is false once its result is sent."""

    def __init__(self, message):
        self.id = message["id"]
        self.file = message["file"]
        self.info = message.get("ctx") or {}
        self.open = True
        self.writes = {}


class Api:
    """What stands behind the module `helve`."""

    def __init__(self, line, error):
        self.line = line
        self.error = error
        self.latest = None
        self.backlog = []
        self._ids = itertools.count(1)
        self._slots = {}
        self._turn = threading.Condition()
        self._reading = False

    def now(self):
        """The call that the code belongs to: a task keeps the one it began in."""
        call = current.get() or self.latest
        if call is None:
            raise RuntimeError("no call is running")
        return call

    # ----- what a tool says ---------------------------------------------------

    def log(self, level, text, args):
        call = self.now()
        text = cut(str(text) % args if args else text)
        if not call.open:
            return say(f"after its call: {text}")
        self.line.send(f'{{"op":"log","level":"{level}","text":{encode(text)}}}')

    def progress(self, done, total, message):
        if not self.now().open:
            return
        shown = None if message is None else cut(message)
        self.line.send(
            f'{{"op":"progress","done":{encode(done)},"total":{encode(total)},'
            f'"message":{encode(shown)}}}'
        )

    def info(self, key):
        return self.now().info.get(key)

    def get_key(self, key, default):
        call = self.now()
        if key in call.writes:
            return call.writes[key]
        return (call.info.get("keys") or {}).get(key, default)

    def set_key(self, key, value):
        encode(value)
        self.now().writes[str(key)] = value

    # ----- what a tool asks ---------------------------------------------------

    def call(self, tool, args):
        slot = {}
        self._ask(tool, args, lambda answer: slot.update(answer=answer))
        self._read_until(lambda: "answer" in slot)
        return self._value(slot["answer"])

    async def acall(self, tool, args):
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def deliver(answer):
            loop.call_soon_threadsafe(lambda: future.done() or future.set_result(answer))

        ask = self._ask(tool, args, deliver)
        loop.add_reader(IN, self._readable)
        try:
            answer = await future
        finally:
            self._slots.pop(ask, None)
            if not self._slots:
                loop.remove_reader(IN)
        return self._value(answer)

    def _ask(self, tool, args, deliver):
        if not self.now().open:
            raise self.error(f"`{tool}` was called after the result was given", type="internal")
        try:
            arguments = encode(args)
        except NotJson as error:
            message = str(error).replace("its result", "the arguments", 1)
            raise self.error(f"`{tool}`: {message}", type="validation") from None
        ask = next(self._ids)
        self._slots[ask] = deliver
        size = self.line.send(
            f'{{"op":"ask","id":{ask},"tool":{encode(tool)},"args":{arguments}}}'
        )
        if size:
            del self._slots[ask]
            raise self.error(f"the arguments for `{tool}` are too long: {size} bytes", type="validation")
        return ask

    def _value(self, answer):
        if answer.get("ok"):
            return answer.get("value")
        error = answer.get("error") or {}
        raise self.error(
            error.get("message") or "the call failed",
            type=error.get("type") or "internal",
            hint=error.get("hint"),
        )

    def _read_until(self, there):
        with self._turn:
            while not there():
                if self._reading:
                    self._turn.wait()
                    continue
                self._reading = True
                self._turn.release()
                try:
                    message = self.line.wait()
                finally:
                    self._turn.acquire()
                    self._reading = False
                self._sort_all(message)

    def _readable(self):
        with self._turn:
            if not self._reading:
                self.line.fill()
                self._sort_all(self.line.next())

    def _sort_all(self, message):
        """Whatever was read: nobody would wake for what stays in the buffer."""
        while message is not None:
            self._sort(message)
            message = self.line.next()
        self._turn.notify_all()

    def _sort(self, message):
        if message.get("op") != "answer":
            self.backlog.append(message)
            return
        deliver = self._slots.pop(message.get("id"), None)
        if deliver:
            deliver(message)

    def next_message(self):
        """What Helve wants next. A thread that a tool left behind may be reading."""
        self._read_until(lambda: self.backlog)
        return self.backlog.pop(0)
