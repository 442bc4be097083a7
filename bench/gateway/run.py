#!/usr/bin/env python3
"""What one call through a gateway costs: Helve and its peers, measured in one run.

usage: run.py [--quick] [--only NAME ...] [--rounds N] [--out DIR]

Each subject is started anew in every round, one after the other, and called by 1, 16 and 64
callers: real sessions, distinct arguments, answers looked at, all callers let go at once. What
stands in the table is the median of the rounds. CPU is that of the subject's processes, from
/proc, without the echo server behind it; so is memory, at rest three seconds after the first call,
and after the last. Start-up is the time from starting the program to the first call that it
serves. "Bytes only" is the physical limit of a gateway here: every byte is read and written once
more, and nothing else is done.

Helve checks a token, decides by policy and writes every call to its record before and after; most
peers do nothing of the kind. A tool that may change something is on the disk before it begins (the
gateway, as it takes every tool of a server to be); of one that only reads (its own, and the gateway
where the operator has said so) the record is on the disk a moment later. Set-ups are as each
project's own pages say.

Wants `cargo build --release -p helve` and `cargo build --release -p helve-mcp --examples`. Peers are installed into the
target folder when they are first needed. What cannot be installed or started is in the table
with its reason. Writes gateway.md and gateway.svg into docs/ (not with --quick or --only).
"""

import argparse
import base64
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import chart

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
# Another folder only for trying the script itself.
BUILT = TARGET / os.environ.get("HELVE_BENCH_BUILD", "release")
ECHO = BUILT / "examples" / "echo_server"
ECHO_HUB = BUILT / "examples" / "echo_hub"
FLOOR = BUILT / "examples" / "gateway_floor"
LOAD = BUILT / "examples" / "gateway_load"
HELVE = BUILT / "helve"
PEERS = TARGET / "bench-peers"

CALLERS = (1, 16, 64)
PATIENCE = 180
# How long each is left alone after its first call, before its memory is looked at.
REST = 3


class Unable(Exception):
    """Why there is no figure."""


# --- subjects ---


class Subject:
    """Something to call `echo` on. A subclass says how it is installed and started."""

    tool, argument, arguments, answer = "echo", "text", {}, True

    def install(self):
        """Makes sure that it is there."""

    def start(self, folder, echo, port):
        """The command, its folder and environment."""
        raise NotImplementedError

    def ready(self, folder, echo, port):
        """What must be done after the start and before the first call."""

    def url(self, port):
        return f"http://127.0.0.1:{port}/mcp"

    def headers(self, folder):
        return {}

    def plan(self, folder, port, **more):
        return {
            "url": self.url(port),
            "headers": self.headers(folder),
            "tool": self.tool,
            "argument": self.argument,
            "arguments": self.arguments,
            "answer": self.answer,
            **more,
        }


class Bare(Subject):
    """The echo server itself."""

    def start(self, folder, echo, port):
        return [ECHO, "--listen", f"127.0.0.1:{port}"], {}


class Floor(Subject):
    """What no gateway can do without: bytes carried in both directions, and nothing known of them."""

    def start(self, folder, echo, port):
        return [FLOOR, f"127.0.0.1:{port}", urllib.parse.urlsplit(echo).netloc], {}


class Hub(Subject):
    """Helve as a gateway."""

    toml = '[[policy]]\neffect = "allow"\ntool = "*"\n\n[mcp]\nnames = "plain"\ndisclose = "full"\n'
    limits = "\n[server]\nrate = 1000000\nburst = 1000000\n"

    def servers(self, echo):
        return {"echo": {"type": "http", "url": echo}}

    def start(self, folder, echo, port):
        (folder / "helve.toml").write_text(self.toml + self.limits, "utf-8")
        servers = {"mcpServers": self.servers(echo)}
        (folder / ".mcp.json").write_text(json.dumps(servers), "utf-8")
        command = [HELVE, "up", "--listen", f"127.0.0.1:{port}"]
        if not (folder / ".helve").exists():
            # Its keys and tokens are made once, when a workspace is first used.
            with started(command, folder, {}) as program:
                wait_for(program, lambda: (folder / ".helve" / "tokens" / "agent").exists())
                wait_for(program, lambda: (folder / ".helve" / "hub.json").exists())
        return command, {}

    def headers(self, folder):
        token = (folder / ".helve" / "tokens" / "agent").read_text("utf-8").strip()
        return {"Authorization": f"Bearer {token}"}


class ReadHub(Hub):
    """The same, where the operator has said that the tool only reads."""

    toml = Hub.toml + '\n[mcp.servers.echo.tools.echo]\nrisk = "read"\n'


class Own(Subject):
    """A hub with the same echo as a tool of its own: token, policy and durable record."""

    def start(self, folder, echo, port):
        return [ECHO_HUB, f"127.0.0.1:{port}", "."], {}

    def ready(self, folder, echo, port):
        self.secret = None

    def headers(self, folder):
        if not self.secret:
            self.secret = wait_for(self.program, lambda: said(self.program).partition("\n")[0]).split()[1]
        return {"Authorization": f"Bearer {self.secret}"}


class Crate(Subject):
    """The crate `mcp-proxy`."""

    tool = "echo/echo"
    version = "0.6.0"

    def install(self):
        self.root = PEERS / "crate-mcp-proxy"
        if not (self.root / "bin" / "mcp-proxy").exists():
            run(["cargo", "install", "--quiet", "--locked", "--root", self.root, f"mcp-proxy@{self.version}"])

    def start(self, folder, echo, port):
        config = (
            f'[proxy]\nname = "bench"\nseparator = "/"\n\n[proxy.listen]\nhost = "127.0.0.1"\nport = {port}\n\n'
            f'[[backends]]\nname = "echo"\ntransport = "http"\nurl = "{echo}"\n'
        )
        (folder / "proxy.toml").write_text(config, "utf-8")
        return [self.root / "bin" / "mcp-proxy", "--config", "proxy.toml"], {}

    def url(self, port):
        return f"http://127.0.0.1:{port}/"


class Python(Subject):
    """A package of PyPI, in an environment of its own."""

    package = None

    def install(self):
        self.root = PEERS / self.package.replace("==", "-")
        if not (self.root / "done").exists():
            shutil.rmtree(self.root, ignore_errors=True)
            run([sys.executable, "-m", "venv", self.root])
            run([self.root / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", self.package])
            (self.root / "done").touch()


class PythonProxy(Python):
    """`mcp-proxy` of PyPI: from stdio to HTTP."""

    package = "mcp-proxy==0.13.0"

    def start(self, folder, echo, port):
        return [self.root / "bin" / "mcp-proxy", "--port", port, "--host", "127.0.0.1", "--", ECHO], {}


class FastMcp(Python):
    """FastMCP's proxy."""

    package = "fastmcp==4.1.2"

    def start(self, folder, echo, port):
        text = (
            "from fastmcp.server import create_proxy\n"
            f"create_proxy({echo!r}).run(transport='http', host='127.0.0.1', port={port}, show_banner=False)\n"
        )
        (folder / "proxy.py").write_text(text, "utf-8")
        return [self.root / "bin" / "python", "proxy.py"], {"FASTMCP_LOG_LEVEL": "WARNING"}


class Supergateway(Subject):
    """`supergateway` of npm: from stdio to HTTP, with sessions."""

    version = "4.0.0"

    def install(self):
        self.root = PEERS / "supergateway"
        self.node = shutil.which("node")
        if not self.node:
            raise Unable("there is no node")
        if not (self.root / "node_modules" / "supergateway").exists():
            self.root.mkdir(parents=True, exist_ok=True)
            words = ["--prefix", self.root, "--no-audit", "--no-fund", "--ignore-scripts"]
            run(["npm", "install", "--silent", *words, f"supergateway@{self.version}"])

    def start(self, folder, echo, port):
        program = self.root / "node_modules" / "supergateway" / "dist" / "index.js"
        words = ["--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none"]
        return [self.node, program, "--stdio", ECHO, *words], {}


class ContextForge(Python):
    """IBM's ContextForge, with the authentication and the database that it starts with."""

    package = "mcp-contextforge-gateway==1.0.7.post20260921"
    secret = "a-secret-for-a-bench-that-nobody-needs-to-guess"
    admin = "admin@example.com"
    tool = "echo-echo"

    def start(self, folder, echo, port):
        environment = {
            "DATABASE_URL": "sqlite:///./mcp.db",
            "JWT_SECRET_KEY": self.secret,
            "AUTH_ENCRYPTION_SECRET": self.secret,
            "PLATFORM_ADMIN_EMAIL": self.admin,
            "PLATFORM_ADMIN_PASSWORD": "Change-me-2026!",
            "MCPGATEWAY_UI_ENABLED": "false",
            "MCPGATEWAY_ADMIN_API_ENABLED": "true",
            # It locks its administrator out after some ninety calls otherwise.
            "RATE_LIMITING_ENABLED": "false",
            "REQUIRE_JTI": "false",
            "SSRF_ALLOW_LOCALHOST": "true",
            "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
            "LOG_LEVEL": "ERROR",
        }
        return [self.root / "bin" / "mcpgateway", "--host", "127.0.0.1", "--port", port], environment

    def ready(self, folder, echo, port):
        body = {"name": "echo", "url": echo, "transport": "STREAMABLEHTTP"}
        until = time.monotonic() + PATIENCE
        while True:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/gateways",
                json.dumps(body).encode(),
                {"Content-Type": "application/json", **self.headers(folder)},
            )
            try:
                with urllib.request.urlopen(request, timeout=60):
                    return
            except urllib.error.HTTPError as error:
                raise Unable(f"it does not take the server: {error.read().decode()[:300]}") from None
            except OSError:
                if time.monotonic() > until:
                    raise Unable("it does not answer") from None
                time.sleep(0.05)

    def headers(self, folder):
        claims = {
            "sub": self.admin,
            "iss": "mcpgateway",
            "aud": "mcpgateway-api",
            "exp": int(time.time()) + 86400,
            "is_admin": True,
            "teams": None,
        }
        return {"Authorization": f"Bearer {signed(claims, self.secret)}"}

    def url(self, port):
        return f"http://127.0.0.1:{port}/mcp/"


def signed(claims, secret):
    """A JWT."""
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
    head = {"alg": "HS256", "typ": "JWT"}
    text = b".".join(part(json.dumps(value).encode()) for value in (head, claims))
    return (text + b"." + part(hmac.digest(secret.encode(), text, hashlib.sha256))).decode()


SUBJECTS = {
    "bare rmcp echo": Bare(),
    "bytes only": Floor(),
    "Helve, a tool of its own": Own(),
    "Helve, gateway, may write": Hub(),
    "Helve, gateway, only reads": ReadHub(),
    "crate mcp-proxy 0.6": Crate(),
    "PyPI mcp-proxy 0.13": PythonProxy(),
    "npm supergateway 4": Supergateway(),
    "FastMCP 4.1 proxy": FastMcp(),
    "ContextForge 1.0.7": ContextForge(),
}


# --- measuring ---


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--only", action="append", choices=SUBJECTS, metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    options = parser.parse_args()
    for program in (ECHO, ECHO_HUB, FLOOR, LOAD, HELVE):
        if not program.exists():
            sys.exit(f"{program} is not built; the top of this script says how")
    names = options.only or list(SUBJECTS)
    rounds, seconds = (1, 1.0) if options.quick else (options.rounds, 4.0)
    unable = {name: reason for name in names if (reason := installed(SUBJECTS[name]))}
    rows = {name: [] for name in names}
    for number in range(rounds):
        for name in names:
            if name in unable:
                continue
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            try:
                rows[name].append(measured(SUBJECTS[name], seconds))
            except Unable as reason:
                unable[name] = str(reason)
    result = {name: medians(found) for name, found in rows.items() if found and name not in unable}
    text = table(result, unable)
    print(text)
    if not options.quick and not options.only and BUILT.name == "release":
        (options.out / "gateway.md").write_text(page(text, rounds, seconds), "utf-8")
        (options.out / "gateway.svg").write_text(chart.svg(result), "utf-8")
    return 0 if result else 1


def installed(subject):
    """Why it cannot be had, or nothing."""
    try:
        subject.install()
    except Unable as reason:
        return f"not installed: {reason}"


def measured(subject, seconds):
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        behind = stack.enter_context(started([ECHO, "--listen", "127.0.0.1:0"], folder, {}))
        echo = wait_for(behind, lambda: said(behind).partition("\n")[0])
        port = free_port()
        # What is made once for a workspace is no part of a start.
        command, environment = subject.start(folder, echo, port)
        begin = time.time()
        program = stack.enter_context(started(command, folder, environment))
        subject.program = program
        subject.ready(folder, echo, port)
        first = load(program, subject.plan(folder, port, first=True))
        row = {"start_ms": first["at_us"] / 1e3 - begin * 1e3}
        time.sleep(REST)
        row["idle_mb"] = memory(program.pid)
        for callers in CALLERS:
            found = load(program, subject.plan(folder, port, callers=callers, seconds=seconds))
            for key in ("p50_ms", "p99_ms", "rate", "cpu_us"):
                row[f"{key} {callers}"] = found[key]
        row["loaded_mb"] = memory(program.pid)
        return row


def load(program, plan):
    """Runs the load client, and looks at the subject's processor before and after."""
    child = subprocess.Popen(
        [LOAD, json.dumps(plan)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        before = 0
        if not plan.get("first"):
            if child.stdout.readline().strip() != "ready":
                raise Unable(f"cannot be called: {child.communicate()[1].strip()[-300:]}\n{said(program)[-600:]}")
            before = cpu(program.pid)
            child.stdin.write("go\n")
            child.stdin.flush()
        line = child.stdout.readline()
        used = cpu(program.pid) - before
        if not line:
            raise Unable(f"cannot be called: {child.communicate()[1].strip()[-300:]}\n{said(program)[-600:]}")
        found = json.loads(line)
        if "calls" in found:
            found["cpu_us"] = used / found["calls"]
        child.communicate(timeout=PATIENCE)
        return found
    finally:
        child.kill()
        child.wait()


def tree(pid):
    """The processes of a subject, without the echo server."""
    found, echo = [], str(ECHO)
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with contextlib.suppress(OSError):
            if one == pid or os.readlink(f"/proc/{one}/exe") != echo:
                found.append(one)
        waiting += children.get(one, [])
    return found


def cpu(pid):
    """Microseconds of processor time, of threads that live and that have ended."""
    tick = os.sysconf("SC_CLK_TCK")
    total = 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total * 1e6 / tick


def memory(pid):
    """Resident megabytes."""
    pages = 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            pages += int(pathlib.Path(f"/proc/{one}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def medians(rows):
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


# --- programs ---


@contextlib.contextmanager
def started(command, folder, environment):
    """A program with all that it starts, which ends with the `with`."""
    log = open(folder / f"log-{time.monotonic_ns()}", "w+b")
    program = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    program.log = log
    try:
        yield program
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(10)
        log.close()


def said(program):
    return os.pread(program.log.fileno(), 1 << 20, 0).decode("utf-8", "replace")


def wait_for(program, look):
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        if program.poll() is not None or time.monotonic() > end:
            raise Unable(f"does not start: {said(program)[-600:]}")
        time.sleep(0.005)
    return found


def run(command):
    command = [str(word) for word in command]
    try:
        ended = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Unable(str(error)) from None
    if ended.returncode:
        raise Unable((ended.stderr or ended.stdout).strip()[-300:])


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


# --- what comes out ---


def table(result, unable):
    heads = ["", "start", "RSS idle → loaded"]
    heads += [f"p50 / p99, calls per s, {callers} caller{'s' * (callers > 1)}" for callers in CALLERS]
    heads += [f"CPU µs per call ({'; '.join(map(str, CALLERS))})"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, row in result.items():
        cells = [name, f"{row['start_ms']:,.0f} ms", f"{row['idle_mb']:.0f} → {row['loaded_mb']:.0f} MB"]
        for callers in CALLERS:
            p50, p99, rate = (row[f"{key} {callers}"] for key in ("p50_ms", "p99_ms", "rate"))
            cells.append(f"{p50:,.2f} / {p99:,.2f} ms, {rate:,.0f}")
        cells.append("; ".join(f"{row[f'cpu_us {callers}']:,.0f}" for callers in CALLERS))
        lines.append("| " + " | ".join(cells) + " |")
    for name, reason in unable.items():
        short = " ".join(reason.split())[:160].replace("|", "/")
        lines.append(f"| {name} | {short} |" + " |" * (len(heads) - 2))
    return "\n".join(lines)


def page(text, rounds, seconds):
    return (
        "# What a call through a gateway costs\n\n"
        f"Measured by `bench/gateway/run.py`: medians of {rounds} rounds of {seconds:g} seconds for each number of "
        "callers, every subject started anew in each round. CPU and memory are of the subject's own processes, "
        f"without the echo server behind it; memory {REST} seconds after the first call, and right after those of "
        f"{CALLERS[-1]} callers. \"Bytes only\" reads and writes every byte once more and knows nothing of it: no "
        "gateway here can be cheaper. Helve checks a token, decides by policy, and writes each call to its "
        "record before and after; of the others only ContextForge knows who calls. What may write is on the disk "
        "before it begins, what only reads a moment later.\n\n"
        f"{text}\n\n![CPU per call](gateway.svg)\n"
    )


if __name__ == "__main__":
    sys.exit(main())
