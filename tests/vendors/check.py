#!/usr/bin/env python3
"""Checks converted tools with each vendor's own types.

usage: check.py DIR

DIR holds one folder per row of DIALECTS, each with one file per conversion:
JSON, or Python or Erlang text. Prints a line per dialect and one per problem,
then `N passed, N failed`. Exits with 1 on any failure, and when a folder is
missing or a file holds no tools: a check that saw nothing has not passed.
"""

import ast
import asyncio
import functools
import importlib.util
import inspect
import json
import pathlib
import re
import subprocess
import sys

import claude_agent_sdk
import mcp

import dialects
import schemas


def json_file(path, check):
    """The (name, problems) of every tool in the file, as all of these functions return them."""
    try:
        tools = list(unwrap(json.loads(path.read_text("utf-8"))))
    except ValueError as error:
        return [("?", [f"not JSON: {error}"])]
    return [(name_of(tool), check(tool)) for tool in tools]


def unwrap(value):
    """The tools of any collection that a vendor takes them in."""
    if isinstance(value, list):
        for item in value:
            yield from unwrap(item)
    elif isinstance(value, dict) and "name" not in value and isinstance(value.get("tools"), list):
        yield from unwrap(value["tools"])
    elif isinstance(value, dict) and isinstance(value.get("functionDeclarations"), list):
        yield from unwrap(value["functionDeclarations"])
    else:
        yield value


def name_of(tool):
    for key in (None, "function", "toolSpec"):
        inner = tool.get(key) if key and isinstance(tool, dict) else tool
        if isinstance(inner, dict) and isinstance(inner.get("name"), str):
            return inner["name"]
    return "?"


def openakita_python(path):
    try:
        module = ast.parse(path.read_text("utf-8"))
        values = [ast.literal_eval(node.value) for node in module.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    except (SyntaxError, ValueError) as error:
        return [("?", [f"not a literal: {error}"])]
    return [(name_of(tool), dialects.openakita(tool)) for value in values for tool in unwrap(value)]


def claude_sdk_python(path):
    """Runs the file with the real SDK and asks the real server for its tools."""
    spec = importlib.util.spec_from_file_location(f"converted_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        tools = [v for v in vars(module).values() if isinstance(v, claude_agent_sdk.SdkMcpTool)]
        server = claude_agent_sdk.create_sdk_mcp_server("check", tools=tools)
        listed = {tool.name: tool for tool in asyncio.run(list_tools(server["instance"]))}
    except Exception as error:  # whatever the file does wrong is its failure, not ours
        return [("?", [f"{type(error).__name__}: {error}"])]
    result = []
    written = len(re.findall(r"^@tool\b", path.read_text("utf-8"), re.MULTILINE))
    if written != len(tools):
        result.append(("?", [f"{written} tools are written, {len(tools)} are left: a function hides another"]))
    for tool in tools:
        problems = dialects.named(tool.name, r"[a-zA-Z0-9_-]{1,64}")
        if not isinstance(tool.description, str):
            problems.append("`description` is no text")
        if not inspect.iscoroutinefunction(tool.handler):
            problems.append("the handler is not async")
        schema = listed[tool.name].input_schema
        problems += schemas.any_schema(schema)
        # Not a schema by the SDK's reading, so that each of its keywords became a parameter.
        if isinstance(tool.input_schema, dict) and schema != tool.input_schema:
            mistaken = [key for key, kind in tool.input_schema.items() if isinstance(kind, (str, dict, list))]
            problems += [f"`{key}` was taken for a parameter" for key in mistaken]
        result.append((tool.name, problems))
    return result


async def list_tools(server):
    async with mcp.Client(server) as client:
        return (await client.list_tools()).tools


def beamai_erlang(path):
    return erlang_results(path.parent).get(path.name, [])


@functools.cache
def erlang_results(folder):
    """All files of a folder at once: most of the time goes into starting Erlang."""
    script = pathlib.Path(__file__).with_name("beamai.escript")
    files = sorted(folder.glob("*.erl"))
    run = subprocess.run(["escript", script, *files], capture_output=True, text=True, encoding="utf-8")
    if run.returncode != 0:
        raise SystemExit(f"escript failed:\n{run.stdout}{run.stderr}")
    results = {}
    for line in run.stdout.splitlines():
        file, name, text = line.split("\t")
        results.setdefault(pathlib.Path(file).name, []).append((name, [] if text == "ok" else [text]))
    return results


def each(check, *args):
    return lambda path: json_file(path, lambda tool: check(tool, *args))


# folder: (the extension of its files, what checks one of them)
DIALECTS = {
    "openai": (".json", each(dialects.openai, False)),
    "openai-strict": (".json", each(dialects.openai, True)),
    "openai-responses": (".json", each(dialects.openai_responses, False)),
    "openai-responses-strict": (".json", each(dialects.openai_responses, True)),
    "kimi": (".json", each(dialects.kimi, False)),
    "kimi-strict": (".json", each(dialects.kimi, True)),
    "anthropic": (".json", each(dialects.anthropic, False)),
    "anthropic-strict": (".json", each(dialects.anthropic, True)),
    "mcp": (".json", each(dialects.mcp_tool)),
    "gemini": (".json", each(dialects.gemini)),
    "bedrock": (".json", each(dialects.bedrock)),
    "claude-sdk": (".json", each(dialects.claude_sdk)),
    "claude-sdk-python": (".py", claude_sdk_python),
    "openakita-python": (".py", openakita_python),
    "beamai-erlang": (".erl", beamai_erlang),
}


def check_folder(folder, extension, check):
    """Returns how many tools passed, and the failures as lines."""
    if not folder.is_dir():
        return 0, [f"{folder}: the folder is missing"]
    files = sorted(path for path in folder.iterdir() if path.name != "__pycache__")
    if not files:
        return 0, [f"{folder}: the folder holds no tools"]
    passed, failures = 0, []
    for path in files:
        if path.suffix != extension:
            failures.append(f"{path}: not a {extension} file")
            continue
        tools = check(path)
        if not tools:
            failures.append(f"{path}: the file holds no tools")
        seen = set()
        for name, problems in tools:
            if name in seen and name != "?":
                problems = [*problems, "two tools of this name in one file"]
            seen.add(name)
            if problems:
                failures.append(f"{path}: {name}: {'; '.join(problems)}")
            else:
                passed += 1
    return passed, failures


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    sys.dont_write_bytecode = True
    total, failed = 0, 0
    for dialect, (extension, check) in DIALECTS.items():
        passed, failures = check_folder(pathlib.Path(argv[1]) / dialect, extension, check)
        print(f"{dialect}: {passed} passed, {len(failures)} failed")
        for failure in failures:
            print(f"  {failure}")
        total += passed
        failed += len(failures)
    print(f"{total} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
