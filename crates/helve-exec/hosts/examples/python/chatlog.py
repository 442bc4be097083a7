"""Finding things in a chat log: `chatlog.jsonl` of the working folder.

Each line is a message, `{"sender", "time", "text", "topics"}`, and known by the
number of its line, from 1.
"""

import collections
import json
import math
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterable, List

from claude_agent_sdk import create_sdk_mcp_server, tool
from _envelope import failure, success


def _messages() -> List[Dict[str, Any]]:
    path = Path(os.environ.get("CHATLOG_FILE", "chatlog.jsonl"))
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [{"line": i, "topics": [], **json.loads(line)} for i, line in enumerate(lines, 1) if line.strip()]


def _words(text: str) -> List[str]:
    """Words of letters; of Chinese, which has no spaces, pairs of characters."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    for run in re.findall(r"[\u4e00-\u9fff]+", text):
        words += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    return words


def _about(message: Dict[str, Any], person: str) -> bool:
    return person.lower() in message.get("sender", "").lower() or person.lower() in message.get("text", "").lower()


def _lines(messages: Iterable[Dict[str, Any]], limit: Any, **more: Any) -> Dict[str, Any]:
    numbers = [m["line"] for m in messages]
    most = int(limit or 50)
    return success({"line_numbers": numbers[:most], "total_matches": len(numbers), **more}, {"source": "scan"})


@tool("get_chatlog_stats", "Say how many messages there are, and whose. When you begin with a chat log.", {}, risk="read")
async def get_chatlog_stats(args: Dict[str, Any]) -> Dict[str, Any]:
    messages = _messages()
    senders = collections.Counter(m.get("sender", "") for m in messages)
    return success({"total_messages": len(messages), "senders": dict(senders.most_common())})


@tool(
    "search_person",
    "Find all messages by or about a person.",
    {
        "person": str,           # name of the person
        "include_context": bool  # whether to give the messages around them, true if left out
    },
    risk="read",
)
async def search_person(args: Dict[str, Any]) -> Dict[str, Any]:
    person = args.get("person") or ""
    if not person:
        return failure("say which person")
    messages = _messages()
    found = [m for m in messages if _about(m, person)]
    if args.get("include_context", True):
        near = {m["line"] + step for m in found for step in (-1, 0, 1)}
        return success({"messages": [m for m in messages if m["line"] in near]}, {"matches": len(found)})
    return success({"messages": found}, {"matches": len(found)})


@tool(
    "list_topics",
    "List the topics of the chat log, the most frequent first.",
    {
        "limit": int,   # how many
        "pattern": str  # only topics that contain this
    },
    risk="read",
)
async def list_topics(args: Dict[str, Any]) -> Dict[str, Any]:
    counts = collections.Counter(topic for m in _messages() for topic in m["topics"])
    pattern = (args.get("pattern") or "").lower()
    found = [(topic, n) for topic, n in counts.most_common() if pattern in topic.lower()]
    return success({"topics": [{"topic": t, "messages": n} for t, n in found[: int(args.get("limit") or 50)]]})


@tool(
    "search_by_topics",
    "Find the lines that have one of some topics.",
    {
        "topics": list,     # the topics
        "max_results": int  # at most so many
    },
    risk="read",
)
async def search_by_topics(args: Dict[str, Any]) -> Dict[str, Any]:
    topics = args.get("topics") or []
    if not topics:
        return failure("give at least one topic")
    found = [m for m in _messages() if set(topics) & set(m["topics"])]
    each = {topic: sum(topic in m["topics"] for m in found) for topic in topics}
    return _lines(found, args.get("max_results"), topic_breakdown=each)


@tool(
    "search_by_keywords",
    "Find the lines that have some keywords, of one sender if wanted.",
    {
        "keywords": list,      # the keywords
        "target_person": str,  # only messages of this sender
        "max_results": int,    # at most so many
        "match_all": bool      # whether all of them must be there
    },
    risk="read",
)
async def search_by_keywords(args: Dict[str, Any]) -> Dict[str, Any]:
    keywords = [str(k).lower() for k in args.get("keywords") or []]
    if not keywords:
        return failure("give at least one keyword", {"source": "scan"})
    enough = all if args.get("match_all") else any
    person = (args.get("target_person") or "").lower()
    found = [
        m
        for m in _messages()
        if person in m.get("sender", "").lower() and enough(k in m.get("text", "").lower() for k in keywords)
    ]
    return _lines(found, args.get("max_results"))


@tool(
    "load_messages",
    "Load messages by their lines, with what stands around them if wanted.",
    {
        "line_numbers": list,     # the lines
        "context_before": int,    # how many messages before each
        "context_after": int,     # how many after each
        "include_metadata": bool  # whether to give time and topics, too
    },
    risk="read",
)
async def load_messages(args: Dict[str, Any]) -> Dict[str, Any]:
    before, after = int(args.get("context_before") or 0), int(args.get("context_after") or 0)
    wanted = {n for line in args.get("line_numbers") or [] for n in range(int(line) - before, int(line) + after + 1)}
    found = [m for m in _messages() if m["line"] in wanted]
    if not args.get("include_metadata"):
        found = [{key: m.get(key) for key in ("line", "sender", "text")} for m in found]
    return success({"messages": found})


@tool(
    "expand_query",
    "Turn a question into keywords and topics to search for.",
    {
        "question": str,       # the question
        "target_person": str,  # whom it is about
        "use_llm": bool        # whether to ask a model; there is none here
    },
    risk="read",
)
async def expand_query(args: Dict[str, Any]) -> Dict[str, Any]:
    question = args.get("question") or ""
    if not question:
        return failure("give a question")
    words = list(dict.fromkeys(w for w in _words(question) if len(w) > 1))
    topics = sorted({t for m in _messages() for t in m["topics"] if any(w in t.lower() for w in words)})
    return success(
        {"keywords": words, "topics": topics, "target_person": args.get("target_person")},
        {"used_llm": False},
    )


@tool(
    "search_semantic",
    "Find messages that are alike in words to a text.",
    {
        "query": str,  # the text
        "top_k": int   # how many
    },
    risk="read",
)
async def search_semantic(args: Dict[str, Any]) -> Dict[str, Any]:
    query = collections.Counter(_words(args.get("query") or ""))
    if not query:
        return failure("give a text to compare with")

    def likeness(message: Dict[str, Any]) -> float:
        words = collections.Counter(_words(message.get("text", "")))
        shared = sum(n * words[word] for word, n in query.items())
        lengths = [math.sqrt(sum(n * n for n in bag.values())) for bag in (query, words)]
        return shared / (lengths[0] * lengths[1]) if shared else 0.0

    scored = sorted(((round(likeness(m), 4), m) for m in _messages()), key=lambda pair: -pair[0])
    best = [{**m, "score": score} for score, m in scored[: int(args.get("top_k") or 5)] if score > 0]
    return success({"messages": best}, {"source": "words"})


@tool(
    "filter_by_person",
    "Keep only the messages that have to do with a person.",
    {
        "messages": list,      # the messages
        "target_person": str,  # the person
        "use_llm": bool        # whether to ask a model; there is none here
    },
    risk="read",
)
async def filter_by_person(args: Dict[str, Any]) -> Dict[str, Any]:
    person = args.get("target_person") or ""
    if not person:
        return failure("say which person")
    kept = [m for m in args.get("messages") or [] if isinstance(m, dict) and _about(m, person)]
    return success({"messages": kept}, {"used_llm": False})


@tool(
    "format_messages",
    "Write messages out as text.",
    {
        "messages": list,  # the messages
        "format": str,     # compact, timeline or detailed
        "max_chars": int   # at most so many characters
    },
    risk="read",
)
async def format_messages(args: Dict[str, Any]) -> Dict[str, Any]:
    forms = {
        "compact": "{sender}: {text}",
        "timeline": "[{time}] {sender}: {text}",
        "detailed": "#{line} [{time}] {sender} ({topics}): {text}",
    }
    form = forms.get(args.get("format") or "compact")
    if form is None:
        return failure(f"the format must be one of {', '.join(forms)}")
    fields = collections.defaultdict(str)
    lines = []
    for message in args.get("messages") or []:
        fields.update({**message, "topics": ", ".join(message.get("topics") or [])})
        lines.append(form.format_map(fields))
        fields.clear()
    text = "\n".join(lines)
    most = int(args.get("max_chars") or 20_000)
    return success({"text": text[:most]}, {"truncated": len(text) > most})


def create_chatlog_mcp_server():
    return create_sdk_mcp_server(
        name="chatlog",
        version="1.0.0",
        tools=[
            get_chatlog_stats,
            search_person,
            list_topics,
            search_by_topics,
            search_by_keywords,
            load_messages,
            expand_query,
            search_semantic,
            filter_by_person,
            format_messages,
        ],
    )
