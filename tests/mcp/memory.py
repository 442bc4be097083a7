#!/usr/bin/env python3
"""What is remembered over MCP, by the Python SDK.

usage: memory.py [--helve PATH]

Remember in Chinese, recall in other words, forget, see that it is gone, undo the forgetting. In
each era, under the names of the Claude Agent SDK.
"""

import argparse
import asyncio
import pathlib

import rig
from walk import MODES, Walk, run_of, same

SAID = "我对花生过敏，外出吃饭要小心"
ASKED = "有什么东西不能吃，会过敏吗"


class Memory(Walk):
    """One client that remembers, and the terminal beside it."""

    async def recalled(self):
        found = await self.call("mcp__memory__recall_memory", topic=ASKED)
        return [memory["content"] for memory in data(found)["memories"]]

    async def work(self):
        noted = data(await self.call("mcp__memory__remember", category="fact", content=SAID))
        same("what is new is added", noted["status"], "added")
        again = data(await self.call("mcp__memory__remember", category="fact", content=SAID + "。"))
        same("what is known is told so", (again["status"], again["id"]), ("duplicate", noted["id"]))
        same("it is recalled in other words", await self.recalled(), [SAID])
        gone = data(await self.call("mcp__memory__forget", memory_id=noted["id"]))
        run = run_of(self.meta)
        same("it is forgotten", gone["done"], True)
        same("nothing finds it", await self.recalled(), [])
        self.terminal("undo", run)
        same("an undo brings it back", await self.recalled(), [SAID])
        same("nobody was asked", self.asked, [])


def data(answer):
    """The result, which a client may get in its envelope."""
    return answer.get("data", answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--helve", type=pathlib.Path, default=rig.HELVE)
    options = parser.parse_args()
    for era in MODES:
        print(era, flush=True)
        with rig.scratch() as folder:
            folder = rig.workspace(pathlib.Path(folder) / "project", '[mcp]\ndisclose = "full"\n', more="")
            asyncio.run(Memory(options.helve, folder, era).go())
    return True


if __name__ == "__main__":
    rig.finish(main)
