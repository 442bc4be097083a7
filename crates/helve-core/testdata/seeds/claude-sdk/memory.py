"""记忆工具：存、查、列、删，还有用户画像。"""

import json

from claude_agent_sdk import create_sdk_mcp_server, tool

_STORE = {}
_PROFILE = {"language": "zh"}


def _reply(value):
    return {"content": [{"type": "text", "text": json.dumps(value, ensure_ascii=False)}]}


@tool(
    "recall_memory",
    "按话题或关键词找出有关的用户记忆。当前对话需要知道用户的偏好、事实或看法时使用。",
    {
        "topic": str,      # 话题，或者关键词
        "limit": int       # 最多返回几条（默认5）
    }
)
async def recall_memory(args: dict) -> dict:
    found = [m for m in _STORE.values() if args["topic"] in m["content"]]
    return _reply(found[: args.get("limit", 5)])


@tool(
    "remember",
    "把用户要求记下的内容存起来。"
    "可用的类别：preference（偏好）、fact（事实）、opinion（观点）、attitude（态度）。",
    {
        "category": str,   # 取值: preference/fact/opinion/attitude
        "content": str,    # 需要存下的内容
        "key": str,        # 可选：偏好的键名
        "value": str       # 可选：偏好的值
    }
)
async def remember(args: dict) -> dict:
    if args["category"] not in ("preference", "fact", "opinion", "attitude"):
        return {**_reply("没有这个类别"), "is_error": True}
    memory_id = f"m{len(_STORE) + 1}"
    _STORE[memory_id] = dict(args)
    return _reply({"memory_id": memory_id})


@tool(
    "get_user_profile",
    "读取用户画像：姓名、语言、职业这些基本情况。随时可以调用，占用的 token 不多。",
    {}  # 没有参数
)
async def get_user_profile(args: dict) -> dict:
    return _reply(_PROFILE)


@tool(
    "list_memories",
    "给出存下的记忆清单，也可以只看某一类（preference/fact/opinion/attitude）。",
    {
        "category": str,  # 可选：只看这一类
        "limit": int      # 最多列出几条
    }
)
async def list_memories(args: dict) -> dict:
    kind = args.get("category")
    rows = [m for m in _STORE.values() if not kind or m["category"] == kind]
    return _reply(rows[: args.get("limit", 20)])


@tool(
    "forget",
    "按 ID 删掉一条记忆。",
    {
        "memory_id": str  # 哪一条记忆的ID
    }
)
async def forget(args: dict) -> dict:
    return _reply({"removed": _STORE.pop(args["memory_id"], None) is not None})


def create_memory_mcp_server():
    return create_sdk_mcp_server(
        name="memory",
        version="1.0.0",
        tools=[recall_memory, remember, get_user_profile, list_memories, forget],
    )
