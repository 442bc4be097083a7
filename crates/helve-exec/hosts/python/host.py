"""Loads tools written in Python and runs them for Helve, one call at a time.

A tool runs in the main thread, or in the event loop that lives as long as the
worker. It shares this process, so what is needed later is taken before the
first tool is loaded, and everything that a tool raises is caught.
"""

import asyncio
import inspect
import os
import platform
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
# The folder of the host is not for tools; what stands in for packages comes last.
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _HERE]
sys.path.insert(0, _HERE)

from parts import sdk  # noqa: E402
from parts.calls import Api, Call, current  # noqa: E402
from parts.encode import MAX_MESSAGE, NotJson, encode, too_long  # noqa: E402
from parts.faults import fault_json  # noqa: E402
from parts.load import load  # noqa: E402
from parts.modules import enter_for  # noqa: E402
from parts.wire import Line, say  # noqa: E402

sys.path.remove(_HERE)
sys.path.append(os.path.join(_HERE, "standin"))

import helve  # noqa: E402

_chdir = os.chdir
_isawaitable = inspect.isawaitable


class Fault(Exception):
    """Something that the host, not the tool, has to say about a call."""

    def __init__(self, message, type):
        super().__init__(message)
        self.type = type


class Host:
    def __init__(self):
        self.line = Line()
        self.api = Api(self.line, helve.ToolError)
        self.files = {}
        self.loop = None

    def serve(self):
        version = platform.python_version()
        self.line.send(f'{{"op":"ready","protocol":1,"runtime":"python {version}"}}')
        while True:
            message = self.api.next_message()
            op = message.get("op")
            if op == "call":
                self.call(message)
            elif op == "describe":
                self.describe(message["files"])
            elif op != "answer":
                say(f"there is no `{op}`")

    def load(self, file):
        if file not in self.files:
            self.files[file] = load(file)
        return self.files[file]

    # ----- calls --------------------------------------------------------------

    def call(self, message):
        call = Call(message)
        self.api.latest = call
        token = current.set(call)
        # SystemExit, KeyboardInterrupt and whatever else a tool raises are its
        # result; the worker goes on.
        try:
            value = self.run(call, message)
            text = self.success(call, value)
        except BaseException as error:  # noqa: BLE001
            text = self.failure(call, error)
        finally:
            current.reset(token)
        self.line.check()
        call.open = False
        size = self.line.send(text)
        if size:
            self.line.send(self.failure(call, Fault(too_long(size), "internal")))

    def run(self, call, message):
        loaded = self.load(call.file)
        if loaded.cause is not None:
            raise loaded.cause
        tool = loaded.tools.get(message["tool"])
        if tool is None:
            raise Fault(f"the file has no tool named `{message['tool']}`", "not_found")
        enter_for(call.file)
        if message.get("cwd"):
            _chdir(message["cwd"])
        value = tool.run(message.get("args") or {}, helve.context)
        return self.settle(value) if _isawaitable(value) else value

    def settle(self, awaitable):
        """Waits for an asynchronous tool, whatever others have left in the loop."""
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(_finish(awaitable))
        while True:
            try:
                return self.loop.run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                # These leave the loop from any task, so it may be one of an earlier call.
                if task.done():
                    raise
                say(f"a task left behind ended with {error!r}")

    def success(self, call, value):
        try:
            text = f'{{"op":"result","id":{call.id},"ok":true,"value":{encode(value)}'
            writes = f',"writes":{encode(call.writes)}' if call.writes else ""
        except NotJson as error:
            raise Fault(str(error), "internal") from None
        return f"{text}{writes}}}"

    def failure(self, call, error):
        fault = fault_json(error, call.file)
        return f'{{"op":"result","id":{call.id},"ok":false,"error":{fault}}}'

    # ----- what tools there are -----------------------------------------------

    def describe(self, files):
        out, size = [], 0
        for file in files:
            loaded = self.load(file)
            tools = ",".join(tool.described for tool in loaded.tools.values())
            text = f'{{"file":{encode(file)},"tools":[{tools}],"error":{encode(loaded.error)}}}'
            if size + len(text) > MAX_MESSAGE // 4:
                error = {"message": "the descriptions of the tools are too long together", "line": None, "column": None}
                text = f'{{"file":{encode(file)},"tools":[],"error":{encode(error)}}}'
            size += len(text)
            out.append(text)
        self.line.check()
        self.line.send(f'{{"op":"described","files":[{",".join(out)}]}}')


async def _finish(awaitable):
    return await awaitable


if __name__ == "__main__":
    sdk.listen()
    host = Host()
    helve._host = host.api
    host.serve()
