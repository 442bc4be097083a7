"""The Python SDK as a client: does what a plan says, and prints what it saw as JSON.

usage: python_sdk.py PLAN

See clients.py beside this folder for what stands in a plan.
"""

import asyncio
import json
import sys

import httpx2
import mcp
from mcp import types
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def main(plan):
    seen = {"asked": 0, "tools": [], "pages": 0, "answers": []}

    async def person(_context, params):
        seen["asked"] += 1
        if plan["elicit"] != "accept":
            return types.ElicitResult(action=plan["elicit"])
        fields = (params.requested_schema or {}).get("properties", {})
        return types.ElicitResult(action="accept", content={name: fill(field) for name, field in fields.items()})

    mode = {"legacy": "legacy", "modern": "2026-07-28"}[plan["era"]]
    callback = person if plan["elicit"] else None
    async with mcp.Client(
        server(plan), mode=mode, elicitation_callback=callback, read_timeout_seconds=plan["patience"]
    ) as client:
        seen["version"] = client.protocol_version
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            seen["pages"] += 1
            seen["tools"] += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        for call in plan["calls"]:
            result = await client.call_tool(call["tool"], call["arguments"])
            text = "\n".join(block.text for block in result.content if block.type == "text")
            seen["answers"].append({"text": text, "error": bool(result.is_error)})
    return seen


def server(plan):
    if plan["transport"] == "http":
        http = httpx2.AsyncClient(headers=plan["headers"], timeout=plan["patience"])
        return streamable_http_client(plan["url"], http_client=http)
    command, *arguments = plan["command"]
    return StdioServerParameters(command=command, args=arguments, cwd=plan["folder"], env=plan["env"])


def fill(field):
    """Something that a field takes."""
    if "default" in field:
        return field["default"]
    if "enum" in field:
        return field["enum"][0]
    return {"boolean": True, "integer": 1, "number": 1}.get(field.get("type"), "somebody")


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
