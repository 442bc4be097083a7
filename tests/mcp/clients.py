#!/usr/bin/env python3
"""Real MCP clients against a hub: each over stdio and HTTP, in each era that it speaks.

usage: clients.py [--direct] [--only CLIENT] [--helve PATH]

    --direct   the fixture server in the hub's place: whether the clients do what they should

Each client lists all tools and calls one that reads. Then it calls one that writes, which needs an
approval, and gets it in three ways: from the person at the terminal while the client waits; from
its own user, who is asked and accepts; and from one who declines, so that nothing is written.
Prints a table, and exits with 1 if anything in it is not `ok`. A `-` is what a client cannot do.
"""

import argparse
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import threading

import rig

WAYS = ("read", "approved", "accepted", "declined")

# name: (eras, whether its user can be asked)
CLIENTS = {
    "inspector": (("legacy", "modern"), False),
    "python": (("legacy", "modern"), True),
    "typescript-v1": (("legacy",), True),
    "typescript-v2": (("legacy", "modern"), True),
}

COUNT_TOML = """\
name = "count"
description = "Counts the lines of a text file. Use before reading a file that may be large."
category = "file"
risk = "read"
idempotent = true
allowed_paths = [{ path = ".", access = "read" }]

[executor]
type = "host"
command = ["wc", "-l", "--", "{path}"]

[input_schema]
type = "object"
required = ["path"]
additionalProperties = false

[input_schema.properties.path]
type = "string"
format = "path"
description = "The file, from the root of the workspace"
"""

WRITE_TOML = """\
name = "write"
description = "Writes a note. Use when something is worth remembering."
category = "note"
risk = "write"
allowed_paths = ["notes"]

[executor]
type = "host"
command = ["sh", "write.sh", "{name}", "{text}"]

[input_schema]
type = "object"
required = ["name", "text"]
additionalProperties = false

[input_schema.properties.name]
type = "string"
description = "The name of the note"

[input_schema.properties.text]
type = "string"
description = "What to write"
"""

WRITE_SH = 'printf "%s\\n" "$2" >"notes/$1"\necho "wrote $1"\n'


class Problem(Exception):
    """What a client did wrong, or what was done wrong to it."""


class Hub:
    """A hub with two tools, and somebody at its terminal."""

    def __init__(self, folder, helve):
        self.folder = pathlib.Path(folder)
        self.helve = pathlib.Path(helve)
        self.notes = 0

    @contextlib.contextmanager
    def running(self):
        rig.workspace(self.folder, "[server]\nrate = 100000\nburst = 100000\n")
        for name, text in {
            "tools/file/count.toml": COUNT_TOML,
            "tools/note/write.toml": WRITE_TOML,
            "write.sh": WRITE_SH,
            "notes/list.txt": "one\ntwo\nthree\n",
        }.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        with rig.hub(self.folder, self.helve) as (self.url, self.program):
            yield self

    def reach(self, transport):
        if transport == "stdio":
            return {"command": [str(self.helve), "mcp"], "folder": str(self.folder), "env": rig.environment()}
        headers = {"Authorization": f"Bearer {rig.token(self.folder, 'agent')}"}
        return {"url": f"{self.url}/mcp", "headers": headers}

    def ways(self, _era):
        return WAYS

    @contextlib.contextmanager
    def case(self, way, _era):
        """The call of a case, and a look at what came of it when the client is done."""
        if way == "read":
            yield {"tool": "file_count", "arguments": {"path": "notes/list.txt"}}, self.counted
            return
        self.notes += 1
        name = f"note-{self.notes}.txt"
        call = {"tool": "note_write", "arguments": {"name": name, "text": f"written {way}"}}

        def look(seen):
            answer, asked = seen["answers"][0], seen["asked"]
            path = self.folder / "notes" / name
            written = path.read_text("utf-8").strip() if path.exists() else None
            if asked != (way in ("accepted", "declined")):
                raise Problem(f"its user was asked {asked} times")
            if way == "declined":
                if written is not None:
                    raise Problem("written although declined")
                if not answer["error"]:
                    raise Problem(f"declined, but not an error: {answer['text']!r}")
                return
            if written != f"written {way}":
                raise Problem(f"not written, answer {answer['text']!r}")
            if answer["error"] or f"wrote {name}" not in answer["text"]:
                raise Problem(f"written, but the answer is {answer['text']!r}")

        if way != "approved":
            yield call, look
            return
        with self.somebody_approves():
            yield call, look

    @staticmethod
    def counted(seen):
        missing = {"file_count", "note_write"} - set(seen["tools"])
        if missing:
            raise Problem(f"not listed: {sorted(missing)}")
        answer = seen["answers"][0]
        # What the program printed, alone or with what else is known of its end.
        if answer["error"] or not re.search(r"\b3 \S*list\.txt", answer["text"]):
            raise Problem(f"answer {answer['text']!r}")

    @contextlib.contextmanager
    def somebody_approves(self):
        """The person at the terminal, who approves the one call that will be waiting."""
        done = threading.Event()

        def person():
            while not done.wait(0.05):
                waiting = json.loads(self.terminal("approvals", "--json"))
                if waiting:
                    self.terminal("approve", waiting[0]["id"], "--yes", "--no-wait")
                    return

        thread = threading.Thread(target=person, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join(rig.PATIENCE)

    def terminal(self, *words):
        command = [str(self.helve), *words]
        ended = subprocess.run(
            command, cwd=self.folder, env=rig.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if ended.returncode:
            raise rig.Failure(f"helve {' '.join(words)}: {ended.stderr}")
        return ended.stdout

    def said(self):
        return self.program.said()


class Fixture:
    """The fixture server, whose tools ask by themselves, in pages of 10."""

    EXPECTED = {
        ("legacy", "accepted"): "action=accept",
        ("legacy", "declined"): "action=decline",
        ("modern", "accepted"): "Hello, somebody!",
        ("modern", "declined"): "You did not say.",
    }

    @contextlib.contextmanager
    def running(self):
        with rig.fixture("--page", "10") as self.url:
            yield self

    def reach(self, transport):
        if transport == "stdio":
            command = [str(rig.built("conformance_server")), "--page", "10"]
            return {"command": command, "folder": str(rig.HERE), "env": rig.environment()}
        return {"url": self.url, "headers": {}}

    def ways(self, _era):
        return [way for way in WAYS if way != "approved"]

    @contextlib.contextmanager
    def case(self, way, era):
        if way == "read":
            call = {"tool": "test_simple_text", "arguments": {}}
        elif era == "legacy":
            call = {"tool": "test_elicitation", "arguments": {"message": "Who are you?"}}
        else:
            call = {"tool": "test_input_required_result_elicitation", "arguments": {}}

        def look(seen):
            if len(seen["tools"]) < 30 or "test_tool_with_task" not in seen["tools"]:
                raise Problem(f"only {len(seen['tools'])} tools listed, in {seen['pages']} pages")
            expected = self.EXPECTED.get((era, way), "This is a simple text response for testing.")
            if expected not in seen["answers"][0]["text"]:
                raise Problem(f"answer {seen['answers'][0]['text']!r}")

        yield call, look

    def said(self):
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--only", choices=CLIENTS)
    parser.add_argument("--helve", default=rig.HELVE, type=pathlib.Path)
    options = parser.parse_args()
    with rig.scratch() as folder:
        subject = Fixture() if options.direct else Hub(folder, options.helve)
        with subject.running():
            whole = check(subject, [options.only] if options.only else CLIENTS)
            if not whole:
                print(subject.said(), end="")
            return whole


def check(subject, clients):
    """Runs every case, and prints the table."""
    widths = (14, 10, 7) + tuple(max(len(way), 8) for way in WAYS)
    line = lambda cells: print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip(), flush=True)
    line(("client", "transport", "era") + WAYS)
    problems = []
    for client in clients:
        eras, asks = CLIENTS[client]
        for transport in ("stdio", "http"):
            for era in eras:
                cells = []
                for way in WAYS:
                    able = way in subject.ways(era) and (asks or way in ("read", "approved"))
                    if not able:
                        cells.append("-")
                        continue
                    try:
                        one(subject, client, transport, era, way)
                        cells.append("ok")
                    except Problem as problem:
                        cells.append("FAILED")
                        problems.append(f"{client} over {transport}, {era}, {way}: {problem}")
                line((client, transport, era, *cells))
    for problem in problems:
        print(f"FAILED {problem}")
    return not problems


def one(subject, client, transport, era, way):
    elicit = {"accepted": "accept", "declined": "decline"}.get(way)
    with subject.case(way, era) as (call, look):
        plan = {
            "transport": transport,
            "era": era,
            "elicit": elicit,
            "calls": [call],
            "patience": rig.PATIENCE,
            **subject.reach(transport),
        }
        seen = inspector(plan) if client == "inspector" else script(client, plan)
    look(seen)


def script(client, plan):
    """One of the scripts in clients/."""
    here = rig.HERE / "clients"
    commands = {
        "python": [sys.executable, here / "python_sdk.py"],
        "typescript-v1": [rig.NODE, here / "typescript_v1.mjs"],
        "typescript-v2": [rig.NODE, here / "typescript_v2.mjs"],
    }
    rig.npm_package("@modelcontextprotocol/sdk", "package.json")
    return output([*commands[client], json.dumps(plan)])


def inspector(plan):
    """The Inspector's command line: one method a run."""
    program = rig.npm_package("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    if plan["transport"] == "http":
        target = [plan["url"], "--transport", "http"]
        target += [word for name, value in plan["headers"].items() for word in ("--header", f"{name}: {value}")]
    else:
        target = [*plan["command"], "--cwd", plan["folder"]]
    with rig.scratch() as folder:
        # Nothing of the user's is read or written.
        files = ["--client-config", f"{folder}/client.json", "--catalog", f"{folder}/catalog.json"]
        common = ["--protocol-era", plan["era"], "--format", "json", "--quiet", "--stored-auth-only"]

        def run(*words):
            return output([rig.NODE, program, "--cli", *target, *common, *words], HOME=folder)["result"]

        tools = run("--method", "tools/list")["tools"]
        seen = {"asked": 0, "pages": 1, "tools": [tool["name"] for tool in tools], "answers": []}
        for call in plan["calls"]:
            arguments = ["--tool-args-json", json.dumps(call["arguments"])]
            result = run("--method", "tools/call", "--tool-name", call["tool"], *arguments)
            text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
            seen["answers"].append({"text": text, "error": bool(result.get("isError"))})
    return seen


def output(command, **more):
    """What a program prints as JSON."""
    command = [str(word) for word in command]
    try:
        ended = subprocess.run(
            command,
            env=rig.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=rig.PATIENCE * 2,
        )
    except subprocess.TimeoutExpired:
        raise Problem("it did not come to an end") from None
    if ended.returncode:
        raise Problem(f"exit {ended.returncode}: {(ended.stderr or ended.stdout).strip()[-1500:]}")
    try:
        return json.loads(ended.stdout)
    except ValueError:
        raise Problem(f"not JSON: {ended.stdout[-500:]!r} {ended.stderr[-500:]!r}") from None


if __name__ == "__main__":
    rig.finish(main)
