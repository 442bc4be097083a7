#!/usr/bin/env python3
"""Real MCP servers behind a hub: their tools are listed and called through it.

usage: upstreams.py [--direct] [--helve PATH]

    --direct   asks each server itself: whether the calls are right

Two servers of npm, two of PyPI (one pair speaks the older era, the other the newer), all in one
`.mcp.json`, with one beside them that does not start: it must not take the others with it. Prints
a line for each call, and exits with 1 if any fails.
"""

import argparse
import asyncio
import collections
import contextlib
import http.server
import pathlib
import re
import subprocess
import sys
import threading

import httpx2
import mcp
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import rig

Call = collections.namedtuple("Call", "server tool arguments expected")

PAGE = "<html><body><h1>Hello</h1><p>from the loopback</p></body></html>"

HELVE_TOML = f"""\
{rig.ALLOW_ALL}
[mcp]
disclose = "full"
"""


def servers(folder):
    """What stands in `.mcp.json`."""
    node = lambda name, *words: program(rig.NODE, rig.npm_package(name, "dist/index.js"), *words)
    python = lambda name, *words: program(sys.executable, "-m", name, *words)
    return {
        "everything": node("@modelcontextprotocol/server-everything", "stdio"),
        "filesystem": node("@modelcontextprotocol/server-filesystem", folder),
        # The page that it is to fetch is on the loopback, which it would refuse.
        "fetch": python("mcp_server_fetch", "--allow-private-ips"),
        "git": python("mcp_server_git", "--repository", folder),
    }


def program(command, *words):
    return {"command": str(command), "args": [str(word) for word in words]}


def calls(folder, url):
    """What is called, and what must be in the answer."""
    new = f"{folder}/new.txt"
    return [
        Call("everything", "echo", {"message": "hello there"}, "hello there"),
        Call("everything", "get-sum", {"a": 2, "b": 40}, "42"),
        Call("everything", "get-tiny-image", {}, "image/png"),
        Call("everything", "get-structured-content", {"location": "New York"}, "structured: temperature"),
        Call("filesystem", "write_file", {"path": new, "content": "kept\n"}, "new.txt"),
        Call("filesystem", "read_text_file", {"path": new}, "kept"),
        Call("filesystem", "list_directory", {"path": str(folder)}, "new.txt"),
        Call("filesystem", "read_text_file", {"path": "/etc/passwd"}, "error: "),
        # As it came: for making a text of it, the server would install an npm package.
        Call("fetch", "fetch", {"url": url, "raw": True}, "from the loopback"),
        Call("fetch", "fetch", {"url": url, "raw": True, "max_length": 20}, "<html><body>"),
        Call("git", "git_log", {"repo_path": str(folder)}, "the first one"),
        Call("git", "git_status", {"repo_path": str(folder)}, "new.txt"),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--helve", default=rig.HELVE, type=pathlib.Path)
    options = parser.parse_args()
    with rig.scratch() as scratch, web() as url:
        folder = pathlib.Path(scratch) / "repository"
        repository(folder)
        if options.direct:
            return asyncio.run(directly(folder, calls(folder, url)))
        workspace = pathlib.Path(scratch) / "workspace"
        beside = {"broken": program(sys.executable, "-c", "raise SystemExit(1)")}
        rig.workspace(workspace, HELVE_TOML, {**servers(folder), **beside})
        with rig.hub(workspace, options.helve) as (hub, running):
            whole = asyncio.run(through(hub, rig.token(workspace, "agent"), calls(folder, url)))
            if not whole:
                print(running.said(), end="")
            return whole


async def through(hub, secret, wanted):
    """All of them behind one client."""
    web = httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=rig.PATIENCE)
    async with mcp.Client(streamable_http_client(f"{hub}/mcp", http_client=web)) as client:
        names = await listed(client, {(call.server, call.tool) for call in wanted})
        print(f"{len(names)} tools are listed")
        return all([await one(client, call, found(names, call)) for call in wanted])


async def directly(folder, wanted):
    whole = True
    for name, server in servers(folder).items():
        parameters = StdioServerParameters(**server, cwd=folder, env=rig.environment())
        async with mcp.Client(parameters) as client:
            names = await listed(client, set())
            mine = [call for call in wanted if call.server == name]
            whole &= all([await one(client, call, found(names, call)) for call in mine])
    return whole


async def listed(client, wanted):
    """The names of all tools. Servers behind a hub may still be starting: they are waited for."""
    end = asyncio.get_running_loop().time() + rig.PATIENCE
    while True:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        missing = [f"{server}'s {tool}" for server, tool in wanted if not named(names, server, tool)]
        if not missing:
            return names
        if asyncio.get_running_loop().time() > end:
            raise rig.Failure(f"not listed: {', '.join(sorted(missing))}; there are {names}")
        await asyncio.sleep(0.1)


def named(names, server, tool):
    """The names that can be this tool's: its own, or with the server's before it, in any spelling."""
    plain = lambda text: re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    spelled = {plain(tool), f"{plain(server)}_{plain(tool)}"}
    return [name for name in names if plain(name) in spelled]


def found(names, call):
    name = named(names, call.server, call.tool)
    if len(name) != 1:
        raise rig.Failure(f"{call.server}'s {call.tool} is listed as {name or 'nothing'}")
    return name[0]


async def one(client, call, name):
    try:
        result = await client.call_tool(name, call.arguments)
        said = shown(result)
    except mcp.MCPError as error:
        said = f"error: {error}"
    right = call.expected in said
    print(f"{'ok    ' if right else 'FAILED'} {call.server:11} {name}" + ("" if right else f": {said[:500]!r}"))
    return right


def shown(result):
    """All of a result as a text."""
    parts = ["error: "] if result.is_error else []
    for block in result.content:
        parts.append(block.text if block.type == "text" else f"{block.type} {getattr(block, 'mime_type', '')}")
    if result.structured_content:
        parts.append(f"structured: {' '.join(map(str, result.structured_content))}")
    return "\n".join(parts)


def repository(folder):
    """A repository with one commit."""
    folder.mkdir()
    (folder / "readme.txt").write_text("Hello.\n", "utf-8")
    identity = ["-c", "user.name=Rig", "-c", "user.email=rig@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "the first one"]):
        subprocess.run(["git", *words], cwd=folder, check=True, env=rig.environment())


@contextlib.contextmanager
def web():
    """A page on the loopback; its URL."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status = 200 if self.path == "/page" else 404
            body = PAGE.encode() if status == 200 else b""
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/page"
    finally:
        server.shutdown()


if __name__ == "__main__":
    rig.finish(main)
