#!/usr/bin/env python3
"""Finds which functions a hub uses, and writes the order in which the linker is to place them.

usage: record.py [--out FILE]

A hub maps its program file, and the system brings in 64 KB around each page that is touched. What
a call needs lies scattered over all of the code otherwise, and half of it becomes resident for a
tenth that is used. So `crates/helve/build.rs` hands the linker a list of what is used, which comes
first then; everything else follows as before. A name in the list that there is no longer does no
harm, and a function that is missing in it is merely further away: make the list anew when the
memory of a hub has grown (`bench/gateway/run.py` shows it). The names are those of this lock file,
this compiler and the features that `cargo run --release` chooses.

The hub is run under valgrind, which tells what was called: its start, both eras of MCP over HTTP, a
server elsewhere, files read and written, the console, REST, and its end. What calls need comes
first, the most called before the others; then what only the start and the end need, of which a
hub lets go when it has started.

Wants valgrind, `cargo build --release -p helve` and `cargo build --release -p helve-mcp --examples`.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
BUILT = TARGET / "release"
HELVE = BUILT / "helve"
ECHO = BUILT / "examples" / "echo_server"
LOAD = BUILT / "examples" / "gateway_load"
PATIENCE = 300
UNSEEN = ("x86_sha8compress", "crc32fast11specialized")
# How long a hub may take for what it does beside calls, under valgrind.
SETTLED = 5

TOML = """
[server]
rate = 1_000_000
burst = 1_000_000

[[policy]]
effect = "allow"
tool = "*"

[mcp.servers.echo.tools.echo]
risk = "read"
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "crates" / "helve" / "order.txt")
    options = parser.parse_args()
    for program in (HELVE, ECHO, LOAD):
        if not program.exists():
            sys.exit(f"{program} is not built")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        parts = used(folder)
    symbols, order = functions(), []
    # What this processor has its own instructions for, which valgrind does not know.
    unseen = [name for name in symbols if any(mark in name for mark in UNSEEN)]
    parts["calls"].update(dict.fromkeys(unseen, 1))
    for part, calls in parts.items():
        found = [name for name in calls if name in symbols and name not in order]
        found.sort(key=lambda name: (-calls[name], name))
        size = sum(symbols[name] for name in found)
        share = 100 * size / sum(symbols.values())
        print(f"{part}: {len(found)} functions of {len(symbols)}, {size / 1e6:.1f} MB, {share:.0f} % of the code")
        order += found
    options.out.write_text("".join(f"{name}\n" for name in order), "utf-8")


def used(folder):
    """How often each function was called that was: by calls, by what people look at, and by all else."""
    profile = folder / "profile"
    work = folder / "work"
    work.mkdir()
    echo = subprocess.Popen([ECHO, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        url = echo.stdout.readline().strip()
        (work / "helve.toml").write_text(TOML, "utf-8")
        (work / ".mcp.json").write_text(json.dumps({"mcpServers": {"echo": {"type": "http", "url": url}}}), "utf-8")
        (work / "notes.txt").write_text("one\ntwo\nthree\n", "utf-8")
        port = free_port()
        hub = subprocess.Popen(
            [
                "valgrind", "--tool=callgrind", "--demangle=no", "--trace-children=no",
                f"--callgrind-out-file={profile}", HELVE, "up", "--listen", f"127.0.0.1:{port}",
            ],
            cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        try:
            base = f"http://127.0.0.1:{port}"
            begun(work, base)
            dump(hub.pid)
            call(work, base)
            dump(hub.pid)
            look(work, base)
            dump(hub.pid)
        finally:
            hub.send_signal(signal.SIGTERM)
            hub.wait(PATIENCE)
    finally:
        echo.kill()
        echo.wait()
    # Numbered in their order; what comes with the end has no number.
    start, calls, looks = (counted(profile.with_name(f"profile.{number}")) for number in (1, 2, 3))
    return {"calls": calls, "looks": looks, "start": start, "end": counted(profile)}


def dump(pid):
    """Ends a part of the profile."""
    subprocess.run(["callgrind_control", "--dump", str(pid)], stdout=subprocess.DEVNULL, check=True)


def begun(work, base):
    """Waits until the hub has started, and does nothing any more."""
    token = work / ".helve" / "tokens" / "agent"
    until = time.monotonic() + PATIENCE
    while not token.exists() or not answers(f"{base}/healthz"):
        if time.monotonic() > until:
            sys.exit("the hub does not start")
        time.sleep(0.2)
    time.sleep(SETTLED)


def call(work, base):
    secret = (work / ".helve" / "tokens" / "agent").read_text("utf-8").strip()
    for modern in (False, True):
        client = Client(f"{base}/mcp", secret, modern)
        client.ask("tools/list", {})
        for number in range(20):
            client.call("mcp__echo__echo", {"text": f"text {number}"})
            client.call("file_read", {"path": "notes.txt"})
            client.call("file_list", {"path": "."})
            client.call("file_glob", {"pattern": "*.txt"})
        client.call("file_edit", {"path": "notes.txt", "old_string": "two", "new_string": "2"})
        client.call("file_edit", {"path": "notes.txt", "old_string": "2", "new_string": "two"})
        client.call("file_write", {"path": "more/new.txt", "content": "new\n"})
        client.call("search_tools", {"query": "read a file"})
        client.call("get_tool_info", {"tool_name": "file_read"})
        client.call("file_read", {"path": "missing.txt"})
    # Many at once, who hang up.
    plan = {
        "url": f"{base}/mcp",
        "headers": {"Authorization": f"Bearer {secret}"},
        "tool": "mcp__echo__echo",
        "argument": "text",
        "arguments": {},
        "answer": True,
        "callers": 16,
        "seconds": 3,
    }
    subprocess.run([LOAD, json.dumps(plan)], input="go\n", stdout=subprocess.DEVNULL, text=True, check=True)
    time.sleep(SETTLED)


def look(work, base):
    """What people ask for."""
    person = (work / ".helve" / "tokens" / "terminal").read_text("utf-8").strip()
    for path in ("/tools", "/runs", "/audit", "/approvals", "/openapi.json", "/", "/healthz"):
        answers(base + path, person)


def answers(url, secret=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {secret}"} if secret else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()
        return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


class Client:
    """As much of MCP over HTTP as it takes."""

    def __init__(self, url, secret, modern):
        self.url, self.secret, self.modern, self.session, self.last = url, secret, modern, None, 0
        if not modern:
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            self.ask("initialize", about)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, "notifications/initialized", None)

    def call(self, tool, arguments):
        self.ask("tools/call", {"name": tool, "arguments": arguments})

    def ask(self, method, params):
        self.last += 1
        if self.modern:
            meta = "io.modelcontextprotocol/"
            params = {**params, "_meta": {f"{meta}protocolVersion": "2026-07-28", f"{meta}clientCapabilities": {}}}
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}, method, params.get("name"))

    def send(self, message, method, name):
        headers = {
            "Authorization": f"Bearer {self.secret}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.modern:
            headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
            headers |= {"Mcp-Name": name} if name else {}
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            self.session = answer.headers.get("Mcp-Session-Id") or self.session
            text = answer.read().decode()
        if '"error":{' in text and '"code"' in text:
            sys.exit(f"{method} was refused: {text[:300]}")


def counted(profile):
    names, calls, callee = {}, {}, None
    for line in profile.open(encoding="utf-8", errors="replace"):
        if found := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line.rstrip("\n")):
            called, number, name = found.groups()
            if name:
                names[number] = name.partition("'")[0]
            name = names[number]
            calls.setdefault(name, 0)
            callee = name if called else None
        elif callee and line.startswith("calls="):
            calls[callee] += int(line[6:].split()[0])
            callee = None
    return calls


def functions():
    """The functions of the program, each with its length."""
    table = subprocess.run(["nm", "--print-size", HELVE], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in table.splitlines())
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tTwW"}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


if __name__ == "__main__":
    main()
