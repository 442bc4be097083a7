"""Stands in for the Claude Agent SDK where it is not installed.

Tools need two of its names, `tool` and `create_sdk_mcp_server`. Everything
else can be imported, so that a file which also builds an agent still loads,
but not used: Helve runs tools, not agents.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Optional


@dataclass
class SdkMcpTool:
    name: str
    description: str
    input_schema: Any
    handler: Callable[..., Any]
    annotations: Optional[Any] = None
    # What the author says beyond the SDK: `risk="write"`, `timeout="5s"`, ….
    extras: Dict[str, Any] = field(default_factory=dict)


class ToolAnnotations:
    """Hints about a tool, under whatever names they have."""

    def __init__(self, **hints: Any) -> None:
        self.__dict__.update(hints)


def tool(name, description, input_schema, annotations=None, **extras):
    """Makes a tool of the function below."""

    def decorate(handler):
        return SdkMcpTool(name, description, input_schema, handler, annotations, extras)

    return decorate


def create_sdk_mcp_server(name, version="1.0.0", tools=None):
    """Puts tools under the name of a server."""
    return {"type": "sdk", "name": name, "version": version, "instance": list(tools or [])}


class _Absent:
    """Something of the SDK that is not here."""

    def __init__(self, *_args: Any, **_more: Any) -> None:
        name = type(self).__name__
        raise RuntimeError(
            f"`claude_agent_sdk.{name}` is not there: Helve runs the tools of this file "
            "without the SDK; install `claude-agent-sdk` to use the rest of it"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return type(name, (_Absent,), {})
