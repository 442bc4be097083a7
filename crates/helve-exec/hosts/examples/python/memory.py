"""What a user wants to be remembered, in a file of the working folder."""

import json
import os
from pathlib import Path
from typing import Any, Dict, List

from claude_agent_sdk import create_sdk_mcp_server, tool
from _envelope import failure, success

CATEGORIES = ("preference", "fact", "opinion", "attitude")


def _file() -> Path:
    return Path(os.environ.get("MEMORY_FILE", "memory.json"))


def _load() -> Dict[str, Any]:
    try:
        return json.loads(_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"next": 1, "memories": []}


def _save(store: Dict[str, Any]) -> None:
    # Whole or not at all: a reader never sees half a file.
    new = _file().with_suffix(".new")
    new.write_text(json.dumps(store, ensure_ascii=False, indent=2), encoding="utf-8")
    new.replace(_file())


def _matching(topic: str, memories: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    words = topic.lower().split() or [topic.lower()]

    def score(memory: Dict[str, Any]) -> int:
        text = " ".join(str(memory.get(key) or "") for key in ("content", "key", "value")).lower()
        return sum(word in text for word in words)

    return sorted((m for m in memories if score(m)), key=score, reverse=True)


@tool(
    "recall_memory",
    "Find what is remembered about a topic. When an answer depends on what the user likes, knows or thinks.",
    {
        "topic": str,  # a topic or keywords
        "limit": int,  # how many, 5 if left out
    },
    risk="read",
)
async def recall_memory(args: Dict[str, Any]) -> Dict[str, Any]:
    topic = args.get("topic") or ""
    if not topic:
        return failure("say which topic")
    found = _matching(topic, _load()["memories"])
    return success({"memories": found[: args.get("limit") or 5]}, {"matches": len(found)})


@tool(
    "remember",
    "Keep what the user asked to be remembered. Categories are preference, fact, opinion and attitude.",
    {
        "category": str,  # preference, fact, opinion or attitude
        "content": str,   # what to remember
        "key": str,       # name of a preference, where it has one
        "value": str,     # its value
    },
    risk="write",
)
async def remember(args: Dict[str, Any]) -> Dict[str, Any]:
    if args.get("category") not in CATEGORIES:
        return failure(f"the category must be one of {', '.join(CATEGORIES)}")
    if not args.get("content"):
        return failure("say what to remember")
    store = _load()
    memory = {"id": f"m{store['next']}", **{k: args.get(k) for k in ("category", "content", "key", "value")}}
    store["next"] += 1
    store["memories"].append(memory)
    _save(store)
    return success(memory)


@tool("get_user_profile", "Say who the user is: name, language and the like. It is short, and always there.", {}, risk="read")
async def get_user_profile(args: Dict[str, Any]) -> Dict[str, Any]:
    preferences = [m for m in _load()["memories"] if m["category"] == "preference" and m.get("key")]
    return success({m["key"]: m.get("value") for m in preferences})


@tool(
    "list_memories",
    "List what is remembered, of one category or of all.",
    {
        "category": str,  # only this category
        "limit": int,     # how many
    },
    risk="read",
)
async def list_memories(args: Dict[str, Any]) -> Dict[str, Any]:
    wanted = args.get("category")
    found = [m for m in _load()["memories"] if wanted in (None, "", m["category"])]
    return success({"memories": found[: args.get("limit") or 50]}, {"total": len(found)})


@tool(
    "forget",
    "Delete one memory.",
    {
        "memory_id": str  # id of the memory
    },
    risk="write",
)
async def forget(args: Dict[str, Any]) -> Dict[str, Any]:
    store = _load()
    kept = [m for m in store["memories"] if m["id"] != args.get("memory_id")]
    if len(kept) == len(store["memories"]):
        return failure(f"there is no memory `{args.get('memory_id')}`")
    _save({**store, "memories": kept})
    return success({"forgotten": args["memory_id"]})


def create_memory_mcp_server():
    return create_sdk_mcp_server(
        name="memory",
        version="1.0.0",
        tools=[recall_memory, remember, get_user_profile, list_memories, forget],
    )
