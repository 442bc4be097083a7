"""What a tool may ask of Helve while it runs.

    import helve

    text = helve.call("file_read", path="notes.md")
    helve.log.info("read %d characters", len(text))
    helve.progress(1, 3, "read")
    raise helve.ToolError("the file is empty", type="validation")
"""

from typing import Any, Optional

__all__ = ["ToolError", "Context", "acall", "call", "context", "log", "progress"]

# Set by the host. Without it this module can be imported, and no more.
_host: Any = None


class ToolError(Exception):
    """An error whose kind Helve passes on.

    `type` is one of `transient`, `permanent`, `permission`, `timeout`,
    `validation`, `not_found`, `rate_limit`, `dependency` and `internal`.
    """

    def __init__(self, message: str, type: str = "permanent", hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.type = type
        self.hint = hint


def _running() -> Any:
    if _host is None:
        raise RuntimeError("`helve` works only in a tool that Helve runs")
    return _host


def call(_tool: str, _args: Optional[dict] = None, **args: Any) -> Any:
    """Calls another tool and waits for its value."""
    return _running().call(_tool, {**(_args or {}), **args})


async def acall(_tool: str, _args: Optional[dict] = None, **args: Any) -> Any:
    """Calls another tool without holding up the event loop."""
    return await _running().acall(_tool, {**(_args or {}), **args})


def progress(done: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
    """Says how far the call has come."""
    _running().progress(done, total, message)


class _Log:
    """`helve.log.info("%d files", n)`, as `logging` has it."""

    def debug(self, text: Any, *args: Any) -> None:
        _running().log("debug", text, args)

    def info(self, text: Any, *args: Any) -> None:
        _running().log("info", text, args)

    def warning(self, text: Any, *args: Any) -> None:
        _running().log("warn", text, args)

    warn = warning

    def error(self, text: Any, *args: Any) -> None:
        _running().log("error", text, args)


class Context:
    """What is known about the call, and the keys that tools of one run share."""

    @property
    def run_id(self) -> Optional[str]:
        return _running().info("run_id")

    @property
    def agent_id(self) -> Optional[str]:
        return _running().info("agent_id")

    @property
    def principal(self) -> Optional[str]:
        return _running().info("principal")

    @property
    def tool(self) -> Optional[str]:
        return _running().info("tool")

    def get(self, key: str, default: Any = None) -> Any:
        return _running().get_key(key, default)

    def set(self, key: str, value: Any) -> None:
        _running().set_key(key, value)

    # A handler that takes `ctx` finds everything on it.
    call = staticmethod(call)
    acall = staticmethod(acall)
    progress = staticmethod(progress)

    @property
    def log(self) -> _Log:
        return log


log = _Log()
context = Context()
