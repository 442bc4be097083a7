#!/usr/bin/env python3
"""The official conformance suite, run through a hub that stands in front of the fixture server.

usage: conformance.py [--direct] [--client] [--only REVISION] [--helve PATH]

    --direct   the fixture server in the hub's place: what the library itself reaches
    --client   the other side: the suite's servers, asked by the example `conformance_client`

Both requirement sets are run, at the wire of their revision. Whatever the fixture server passes
directly and fails behind the hub was lost on the way. Every failing check is named, scored by the
suite or not; so is one of KNOWN that passes. A run that checked nothing has not passed.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import re
import subprocess

import bearer
import rig

REVISIONS = ("2025-11-25", "2026-07-28")

# What is known to fail, and why: (side, revision, scenario, check) -> reason.
KNOWN = {}

HELVE_TOML = f"""\
{rig.ALLOW_ALL}
[mcp]
names = "plain"
disclose = "full"

# The suite asks in a hurry; the limits have tests of their own.
[server]
rate = 100000
burst = 100000
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--client", action="store_true")
    parser.add_argument("--only", choices=REVISIONS)
    parser.add_argument("--helve", default=rig.HELVE, type=pathlib.Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(rig.scratch()))
        if options.client:
            subject = ["client", "--command", rig.built("conformance_client")]
        else:
            url = stack.enter_context(rig.fixture())
            if options.direct:
                # Through the proxy as well, so that it is known to do no harm.
                url = stack.enter_context(bearer.proxy(url, "nobody-looks-at-it"))
            else:
                url = stack.enter_context(through_helve(folder / "workspace", url, options.helve))
            subject = ["server", "--url", url]
        revisions = [options.only] if options.only else REVISIONS
        return all([run(subject, revision, folder / revision) for revision in revisions])


@contextlib.contextmanager
def through_helve(folder, url, helve):
    """A hub in front of a server; the URL at which the suite finds it."""
    rig.workspace(folder, HELVE_TOML, {"fixture": {"type": "http", "url": url}})
    with rig.hub(folder, helve) as (hub, program):
        with bearer.proxy(f"{hub}/mcp", rig.token(folder, "agent")) as there:
            try:
                yield there
            finally:
                # What the hub had to say explains most failures.
                print(program.said(), end="")


def run(subject, revision, results):
    """Runs one requirement set, and prints what came of it."""
    side = subject[0]
    suite = rig.npm_package("@modelcontextprotocol/conformance", "dist/index.js")
    command = [rig.NODE, suite, *subject, "--requirements", revision, "-o", results]
    command = [str(word) for word in command]
    ended = subprocess.run(command, env=rig.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    passed, problems = collections.Counter(), []
    scenarios = sorted(results.glob("**/checks.json"))
    for path in scenarios:
        scenario = scenario_of(side, results, path)
        seen = {}
        for check in json.loads(path.read_text("utf-8")):
            key = (side, revision, scenario, check["id"])
            passed[check["status"]] += 1
            if check["status"] == "FAILURE":
                seen[key] = check.get("errorMessage") or check.get("description")
            elif check["status"] == "WARNING":
                print(f"  warning: {scenario}: {check['id']}: {check.get('errorMessage')}")
        for key, message in seen.items():
            if key not in KNOWN:
                problems.append(f"{scenario}: {key[3]}: {message}")
        for key in KNOWN:
            if key[:3] == (side, revision, scenario) and key not in seen:
                problems.append(f"{scenario}: {key[3]}: is known to fail, and passes")
    if not scenarios or not passed["SUCCESS"]:
        problems.append(f"nothing was checked (exit {ended.returncode}):\n{ended.stdout}\n{ended.stderr}")
    elif ended.returncode and not problems and not KNOWN:
        problems.append(f"the suite failed (exit {ended.returncode}):\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}")
    print(
        f"{side} {revision}: {len(scenarios)} scenarios, {passed['SUCCESS']} checks passed, "
        f"{passed['FAILURE']} failed, {passed['WARNING']} warnings"
    )
    for problem in problems:
        print(f"  FAILED {problem}")
    return not problems


def scenario_of(side, results, path):
    """The folder is the scenario's name and a time, and of a server's run it says so."""
    name = str(path.parent.relative_to(results))
    name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)
    return name.removeprefix("server-") if side == "server" else name


if __name__ == "__main__":
    rig.finish(main)
