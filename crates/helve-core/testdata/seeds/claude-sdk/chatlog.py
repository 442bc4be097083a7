"""聊天记录工具：统计、检索、加载、整理。"""

import json
import re

from claude_agent_sdk import create_sdk_mcp_server, tool

# 每条消息：行号就是下标
_LOG = [
    {"sender": "小林", "content": "周末去爬山吗", "topics": ["出行"]},
    {"sender": "阿杰", "content": "这个月花太多了", "topics": ["消费"]},
]


def _ok(data, **meta):
    text = json.dumps(data, ensure_ascii=False)
    return {"ok": True, "data": data, "meta": meta, "content": [{"type": "text", "text": text}]}


def _fail(message):
    return {"ok": False, "error": message, "content": [{"type": "text", "text": message}], "is_error": True}


@tool(
    "get_chatlog_stats",
    "给出聊天记录的概况，例如消息总数和有哪些发送者。",
    {}  # 没有参数
)
async def get_chatlog_stats(args: dict) -> dict:
    return _ok({"messages": len(_LOG), "senders": sorted({m["sender"] for m in _LOG})})


@tool(
    "search_person",
    "找出与某个人有关的全部消息。",
    {
        "person": str,            # 这个人的名字
        "include_context": bool   # 可选：要不要带上下文（默认true）
    }
)
async def search_person(args: dict) -> dict:
    hits = [i for i, m in enumerate(_LOG) if args["person"] in m["sender"] + m["content"]]
    return _ok({"line_numbers": hits}, context=args.get("include_context", True))


@tool(
    "list_topics",
    "看看索引里有哪些话题标签。",
    {
        "limit": int,     # 最多返回几个
        "pattern": str    # 用来筛选的模式
    }
)
async def list_topics(args: dict) -> dict:
    wanted = re.compile(args.get("pattern") or ".")
    topics = sorted({t for m in _LOG for t in m["topics"] if wanted.search(t)})
    return _ok(topics[: args.get("limit", 50)])


@tool(
    "search_by_topics",
    "用话题标签查出消息所在的行号。",
    {
        "topics": list,       # 一个或多个话题
        "max_results": int    # 结果最多几条
    }
)
async def search_by_topics(args: dict) -> dict:
    hits = [i for i, m in enumerate(_LOG) if set(args["topics"]) & set(m["topics"])]
    return _ok({"line_numbers": hits[: args.get("max_results", 100)]})


@tool(
    "search_by_keywords",
    "用关键词做全文搜索，返回行号。需要时可以只查某个发送者。",
    {
        "keywords": list,         # 一个或多个关键词
        "target_person": str,     # 只看这个人（可选）
        "max_results": int,       # 结果最多几条
        "match_all": bool         # 关键词是否必须全部出现
    }
)
async def search_by_keywords(args: dict) -> dict:
    if not args["keywords"]:
        return _fail("关键词不能为空")
    test = all if args.get("match_all", False) else any
    hits = [
        i
        for i, m in enumerate(_LOG)
        if test(k in m["content"] for k in args["keywords"])
        and args.get("target_person", "") in m["sender"]
    ]
    return _ok({"line_numbers": hits[: args.get("max_results", 100)]})


@tool(
    "load_messages",
    "按行号取出消息，可以附上前后文和元数据。",
    {
        "line_numbers": list,       # 要取的行号
        "context_before": int,      # 前面带几条消息
        "context_after": int,       # 后面带几条消息
        "include_metadata": bool    # 元数据要不要
    }
)
async def load_messages(args: dict) -> dict:
    before, after = args.get("context_before", 0), args.get("context_after", 0)
    return _ok([_LOG[max(0, n - before) : n + after + 1] for n in args["line_numbers"]])


@tool(
    "expand_query",
    "从一个问题引申出关键词和话题标签（可以借助 LLM）。",
    {
        "question": str,       # 原来的问题
        "target_person": str,  # 与谁有关（可选）
        "use_llm": bool        # 要不要让 LLM 来引申
    }
)
async def expand_query(args: dict) -> dict:
    return _ok({"keywords": re.findall(r"\w+", args["question"])}, llm=args.get("use_llm", False))


@tool(
    "search_semantic",
    "靠语义向量找出意思相近的消息。",
    {
        "query": str,    # 用来比较的文本
        "top_k": int     # 取最相近的几条
    }
)
async def search_semantic(args: dict) -> dict:
    return _ok({"line_numbers": list(range(len(_LOG)))[: args.get("top_k", 10)]})


@tool(
    "filter_by_person",
    "只留下与目标人物有关的消息。",
    {
        "messages": list,      # 待筛选的消息
        "target_person": str,  # 要留下谁的
        "use_llm": bool        # 归属由 LLM 判断与否
    }
)
async def filter_by_person(args: dict) -> dict:
    return _ok([m for m in args["messages"] if m.get("sender") == args["target_person"]])


@tool(
    "format_messages",
    "把一组消息排成可读的文本。",
    {
        "messages": list,   # 要排版的消息
        "format": str,      # 哪种样式 (compact/timeline/detailed)
        "max_chars": int    # 最多多少字符
    }
)
async def format_messages(args: dict) -> dict:
    lines = (f"{m['sender']}: {m['content']}" for m in args["messages"])
    return _ok("\n".join(lines)[: args.get("max_chars", 4000)])


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
