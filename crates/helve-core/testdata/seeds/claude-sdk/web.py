"""Web tools: look something up, read a page."""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

from claude_agent_sdk import create_sdk_mcp_server, tool


def _text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value, ensure_ascii=False)}]}


@tool(
    "web_search",
    "Look things up on the web through Tavily",
    {
        "query": str,           # 要搜的词
        "max_results": int,     # 最多几条结果
        "search_depth": str,    # 搜索有多深 (basic/advanced)
    },
)
async def web_search(args: dict[str, Any]) -> dict[str, Any]:
    wanted = {
        "query": str(args["query"]).strip(),
        "max_results": args.get("max_results", 5),
        "search_depth": args.get("search_depth", "basic"),
    }
    if "TAVILY_API_KEY" not in os.environ:
        return {**_text("no key for the search service"), "is_error": True}
    return _text(wanted)


@tool(
    "web_fetch",
    "Get one web page by HTTP",
    {
        "url": str,             # 页面的 URL
        "max_bytes": int,       # 读取多少字节为止
    },
)
async def web_fetch(args: dict[str, Any]) -> dict[str, Any]:
    limit = args.get("max_bytes", 200_000)
    with urllib.request.urlopen(args["url"], timeout=20) as page:
        return _text(page.read(limit).decode("utf-8", "replace"))


def create_web_mcp_server():
    return create_sdk_mcp_server(
        name="web",           # 服务的名字
        version="1.0.0",
        tools=[
            web_search,
            web_fetch,
        ],
    )
