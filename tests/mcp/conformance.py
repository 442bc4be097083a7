#!/usr/bin/env python3
"""The official conformance suite, run through a hub that stands in front of the fixture server.

usage: conformance.py [--direct] [--client] [--only REVISION] [--helve PATH]

    --direct   the fixture server in the hub's place: what the library itself reaches
    --client   the other side: the suite's servers, asked through the gateway by the example
               `conformance_client`

Both requirement sets are run, at the wire of their revision. Whatever the fixture server passes
directly and fails behind the hub was lost on the way. Every failing check is named, scored by the
suite or not; so is a scenario of KNOWN that passes. A run that checked nothing has not passed.
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

# Scenarios that are known to fail, by side and name, and why. None of them is scored.
KNOWN = {
    ("client", "auth/client-credentials-jwt"): "no signing of login requests",
    ("client", "auth/dpop"): "not in rmcp",
    ("client", "auth/dpop-nonce"): "not in rmcp",
    ("client", "auth/enterprise-managed-authorization"): "no identity provider of a company",
    ("client", "auth/wif-jwt-bearer"): "not in rmcp",
}

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
    counts, problems = collections.Counter(), []
    scenarios = sorted(results.glob("**/checks.json"))
    for path in scenarios:
        scenario = scenario_of(side, results, path)
        checks = json.loads(path.read_text("utf-8"))
        failed = [check for check in checks if check["status"] == "FAILURE"]
        reason = KNOWN.get((side, scenario))
        if reason and not failed:
            problems.append(f"{scenario}: is known to fail ({reason}), and passes")
        elif reason:
            counts["KNOWN"] += 1
        else:
            problems += [f"{scenario}: {said(check)}" for check in failed]
            counts.update(check["status"] for check in checks)
        for check in checks:
            if check["status"] == "WARNING":
                print(f"  warning: {scenario}: {said(check)}")
    if not counts["SUCCESS"]:
        problems.append("nothing was checked")
    elif ended.returncode and not problems:
        problems.append("the suite says that it failed")
    print(
        f"{side} {revision}: {len(scenarios)} scenarios, {counts['SUCCESS']} checks passed, "
        f"{counts['FAILURE']} failed, {counts['WARNING']} warnings, {counts['KNOWN']} scenarios known to fail"
    )
    for problem in problems:
        print(f"  FAILED {problem}")
    if problems:
        print(f"  the suite (exit {ended.returncode}):\n{ended.stdout[-4000:]}\n{ended.stderr[-2000:]}")
    return not problems


def said(check):
    return f"{check['id']}: {check.get('errorMessage') or check.get('description')}"


def scenario_of(side, results, path):
    """The folder is the scenario's name and a time, and of a server's run it says so."""
    name = str(path.parent.relative_to(results))
    name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)
    return name.removeprefix("server-") if side == "server" else name


if __name__ == "__main__":
    rig.finish(main)
