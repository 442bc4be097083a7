"""Searching and fetching, at one far end that `WEB_FAR_END` names.

The far end answers `GET /search?q=…&n=…&depth=…` with a JSON list of results,
and anything else with a page.
"""

import json
import os
import urllib.parse
import urllib.request
from typing import Any, Dict

from claude_agent_sdk import create_sdk_mcp_server, tool
from _envelope import failure, success


def _far_end() -> str:
    return os.environ.get("WEB_FAR_END", "").rstrip("/")


def _get(url: str, most: int) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - only the far end
        return answer.read(most)


@tool(
    "web_search",
    "Search the web. When you need something that is newer than what you know.",
    {
        "query": str,         # what to look for
        "max_results": int,   # how many results, 5 if left out
        "search_depth": str,  # basic or advanced
    },
    risk="read",
)
async def web_search(args: Dict[str, Any]) -> Dict[str, Any]:
    query = (args.get("query") or "").strip()
    if not query:
        return failure("say what to search for")
    if not _far_end():
        return failure("WEB_FAR_END is not set")
    question = urllib.parse.urlencode(
        {"q": query, "n": int(args.get("max_results") or 5), "depth": args.get("search_depth") or "basic"}
    )
    try:
        results = json.loads(_get(f"{_far_end()}/search?{question}", 1_000_000))
    except (OSError, ValueError) as error:
        return failure(f"the search failed: {error}")
    return success({"results": results}, {"query": query})


@tool(
    "web_fetch",
    "Fetch a web page. When you have an address and need to know what is there.",
    {
        "url": str,        # address of the page, at the far end
        "max_bytes": int,  # how much of it to read, 200000 if left out
    },
    risk="read",
)
async def web_fetch(args: Dict[str, Any]) -> Dict[str, Any]:
    url = (args.get("url") or "").strip()
    if not _far_end() or not url.startswith(_far_end() + "/"):
        return failure(f"only pages of {_far_end() or 'WEB_FAR_END'} are fetched")
    most = int(args.get("max_bytes") or 200_000)
    try:
        page = _get(url, most + 1)
    except (OSError, ValueError) as error:
        return failure(f"the page could not be fetched: {error}")
    text = page[:most].decode("utf-8", "replace")
    return success({"url": url, "text": text}, {"truncated": len(page) > most})


def create_web_mcp_server():
    return create_sdk_mcp_server(name="web", version="1.0.0", tools=[web_search, web_fetch])
