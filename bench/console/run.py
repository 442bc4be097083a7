#!/usr/bin/env python3
"""How long the console's pages take, in a hub with many runs and a long diff.

    bench/console/run.py [--runs 10000] [--lines 20000] [--rounds 30]

Starts a real hub (`target/release/helve`, or $HELVE) in a folder of its own, lets an agent make
runs and ask for a write of many lines, signs in, and asks for every page in turns: wall time as a
browser has it over a connection that stays open, beside a request that does nothing (`/healthz`)
in the same rounds. Medians and the slowest are printed. Nothing but the standard library.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HELVE = os.environ.get("HELVE", str(TARGET / "release" / "helve"))


class Hub:
    """A hub in a folder of its own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "helve.toml").write_text("[server]\nrate = 1000000\nburst = 1000000\n")
        (self.folder / "note.txt").write_text("a note\n")
        self.process = subprocess.Popen(
            [HELVE, "up", "--listen", "127.0.0.1:0"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        known = self.folder / ".helve" / "hub.json"
        for _ in range(600):
            if known.exists():
                break
            if self.process.poll() is not None:
                raise SystemExit("the hub did not start")
            time.sleep(0.1)
        self.host = json.loads(known.read_text())["url"].removeprefix("http://")
        self.agent = (self.folder / ".helve/tokens/agent").read_text().strip()
        self.person = (self.folder / ".helve/tokens/terminal").read_text().strip()

    def connection(self):
        return http.client.HTTPConnection(self.host, timeout=60)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def ask(connection, method, path, headers=None, body=None):
    """One request; its status, headers and bytes."""
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def call(hub, connection, tool, args):
    """A call as the agent; the whole answer."""
    headers = {"authorization": f"Bearer {hub.agent}", "content-type": "application/json"}
    _, _, body = ask(connection, "POST", f"/tools/{tool}/runs", headers, json.dumps({"args": args}))
    return json.loads(body)


def make_runs(hub, count):
    """Runs of an agent, by several callers."""

    def some(number):
        connection = hub.connection()
        for _ in range(number):
            answer = call(hub, connection, "file_stat", {"path": "note.txt"})
            assert answer["ok"], answer

    callers = 8
    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        for done in [pool.submit(some, count // callers) for _ in range(callers)]:
            done.result()


def sign_in(hub):
    """The cookie of a session."""
    headers = {"authorization": f"Bearer {hub.person}"}
    status, _, body = ask(hub.connection(), "POST", "/console/links", headers)
    assert status == 201, body
    status, headers, _ = ask(hub.connection(), "GET", json.loads(body)["path"])
    assert status == 200
    return headers["set-cookie"].split(";")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(folder)
        try:
            measure(hub, args)
        finally:
            hub.stop()


def measure(hub, args):
    """Fills the hub, asks for the pages in turns, prints the table."""
    make_runs(hub, args.runs)
    text = "".join(f"let line_{i} = {i}; // a line\n" for i in range(args.lines))
    asked = call(hub, hub.connection(), "file_write", {"path": "long.rs", "content": text})
    run, approval = asked["meta"]["run_id"], asked["meta"]["approval_id"]
    headers = {"cookie": sign_in(hub)}
    pages = {
        "nothing (/healthz)": "/healthz",
        "overview": "/console",
        "inbox": "/console/inbox",
        "one approval": f"/console/inbox/{approval}",
        "the same, side by side": f"/console/inbox/{approval}?view=split",
        "runs": "/console/runs",
        "runs of a tool": "/console/runs?tool=file_stat&who=agent:agent",
        "runs that failed": "/console/runs?state=failed",
        "one run": f"/console/runs/{run}",
        "the middle of its diff": f"/console/runs/{run}/diff?file=0&from={args.lines // 2}",
        "tools": "/console/tools",
        "a tool": "/console/tools/file_write",
        "audit": "/console/audit",
        "audit of a run": f"/console/audit?about={run}",
    }
    connection = hub.connection()
    took = {name: [] for name in pages}
    size = {}
    for _ in range(args.rounds + 1):
        for name, path in pages.items():
            start = time.perf_counter()
            status, _, body = ask(connection, "GET", path, headers)
            took[name].append((time.perf_counter() - start) * 1000)
            assert status == 200, (path, status, body[:300])
            size[name] = len(body)
    print(f"{args.runs} runs, a diff of {args.lines} lines; {args.rounds} rounds\n")
    print(f"{'page':<24} {'median ms':>10} {'slowest':>9} {'KB':>7}")
    for name, times in took.items():
        times = times[1:]
        print(f"{name:<24} {statistics.median(times):>10.1f} {max(times):>9.1f} {size[name] / 1000:>7.0f}")


if __name__ == "__main__":
    main()
