#!/usr/bin/env python3
"""A piece of work as somebody would do it, over MCP by the Python SDK.

usage: walk.py [--helve PATH]

Read a file, search the code, edit it; see the difference in the question, and say yes; run the
project's registered test; undo the edit from the terminal; check the record. In each era. The
hub is the one that a client starts with `helve mcp`; nothing else is configured.
"""

import argparse
import asyncio
import json
import pathlib
import subprocess

import mcp
from mcp import types
from mcp.client.stdio import StdioServerParameters

import rig

CODE = 'GREETING = "helo"\n\n\ndef greet(name):\n    return f"{GREETING}, {name}"\n'

TEST = """\
import greeter

assert greeter.greet("Ann") == "hello, Ann", greeter.greet("Ann")
print("ok")
"""

TEST_TOML = """\
name = "test"
description = "Runs the project's tests. Use it after a change."
risk = "exec_low"
allowed_paths = [{ path = ".", access = "read" }]

[executor]
type = "host"
command = ["python3", "-B", "check.py"]

[input_schema]
type = "object"
additionalProperties = false
properties = {}
"""

MODES = {"legacy": "legacy", "modern": "2026-07-28"}


class Walk:
    """One client, its user, and the terminal beside them."""

    def __init__(self, helve, folder, era):
        self.helve, self.folder, self.era = helve, folder, era
        self.asked = []

    async def person(self, _context, params):
        """Reads what is asked, and says yes."""
        self.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "approve"})

    async def call(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        self.meta = result.meta or {}
        if result.is_error:
            text = "\n".join(block.text for block in result.content if block.type == "text")
            raise rig.Failure(f"{tool} {arguments}: {text}")
        return result.structured_content or {}

    def terminal(self, *words):
        """A command of the person at the terminal."""
        done = subprocess.run(
            [self.helve, *words], cwd=self.folder, env=rig.environment(), capture_output=True, text=True, timeout=rig.PATIENCE
        )
        if done.returncode != 0:
            raise rig.Failure(f"helve {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    async def go(self):
        server = StdioServerParameters(command=str(self.helve), args=["mcp"], cwd=self.folder, env=rig.environment())
        async with mcp.Client(
            server, mode=MODES[self.era], elicitation_callback=self.person, read_timeout_seconds=rig.PATIENCE
        ) as self.client:
            await self.work()
        # The hub signs its record when it stops.
        told = self.terminal("audit", "verify")
        same("the record holds", "whole:" in told and "all of it" in told, True)

    async def work(self):
        source = self.folder / "greeter.py"
        read = await self.call("read_file", path="greeter.py")
        same("the file is read", "helo" in json.dumps(read), True)
        found = await self.call("internal_code_search", query="GREETING =")
        same("the code is found", "greeter.py" in json.dumps(found), True)
        same("nobody was asked so far", self.asked, [])
        edit = {"path": "greeter.py", "old_string": "helo", "new_string": "hello"}
        await self.call("edit_file", **edit)
        run = run_of(self.meta)
        same("the person was asked once", len(self.asked), 1)
        for line in ('-GREETING = "helo"', '+GREETING = "hello"'):
            same(f"the question shows {line}", line in self.asked[0], True)
        same("the file is changed", source.read_text("utf-8"), CODE.replace("helo", "hello"))
        tested = await self.call("system_execute", command="project_test")
        same("the test passes", "ok" in json.dumps(tested), True)
        self.terminal("undo", run)
        same("the edit is undone", source.read_text("utf-8"), CODE)


def run_of(meta):
    """The run, of which an answer tells beside its result."""
    found = [value["run_id"] for value in meta.values() if isinstance(value, dict) and "run_id" in value]
    run = meta.get("run_id") or (found and found[0])
    if not run:
        raise rig.Failure(f"no run in {meta}")
    return run


def same(what, found, wanted):
    if found != wanted:
        raise rig.Failure(f"{what}: {found!r}, not {wanted!r}")
    print(f"    {what}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--helve", type=pathlib.Path, default=rig.HELVE)
    options = parser.parse_args()
    for era in MODES:
        print(era, flush=True)
        with rig.scratch() as folder:
            folder = rig.workspace(pathlib.Path(folder) / "project", '[mcp]\ndisclose = "full"\nnames = "plain"\n', more="")
            (folder / "greeter.py").write_text(CODE, "utf-8")
            (folder / "check.py").write_text(TEST, "utf-8")
            (folder / "tools" / "project").mkdir(parents=True)
            (folder / "tools" / "project" / "test.toml").write_text(TEST_TOML, "utf-8")
            asyncio.run(Walk(options.helve, folder, era).go())
    return True


if __name__ == "__main__":
    rig.finish(main)
