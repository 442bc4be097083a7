"""What goes wrong in a tool, put into words."""

import traceback

from .calls import cut
from .encode import encode

_HERE = __file__.rsplit("/", 2)[0] + "/"
_FROZEN = "<frozen importlib"


def load_error(error, file):
    """Why a file could not be loaded, and where in it."""
    line, column = _place(error, file)
    message = f"{type(error).__name__}: {_text(error)}"
    if isinstance(error, SystemExit):
        message = f"the file called `sys.exit({_exit_code(error)})` while it was loaded"
    elif isinstance(error, SyntaxError):
        message = f"{type(error).__name__}: {error.msg}"
        if error.filename != file:
            message += f" (in {error.filename}, line {error.lineno})"
    return {"message": message.split("\n")[0], "line": line, "column": column}


def _place(error, file):
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno, error.offset
    return line_in(error, file), None


def line_in(error, file):
    """The innermost line of the file that the error came through."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def fault_json(error, file):
    """The `error` of a result, as JSON. A hostile exception must not get the better of it."""
    try:
        return encode(_fault(error, file))
    except BaseException:  # noqa: BLE001
        name = encode(type(error).__name__)
        return f'{{"message":"it raised something that cannot be looked at","name":{name},"stack":null,"line":null}}'


def _fault(error, file):
    message = _text(error)
    if isinstance(error, SystemExit):
        message = f"the tool called `sys.exit({_exit_code(error)})`"
    elif not message:
        message = type(error).__name__
    cause = error.__cause__
    if cause is not None:
        message += f" (caused by: {type(cause).__name__}: {_text(cause)})"
    fault = {
        "message": cut(message),
        "name": type(error).__name__,
        "stack": cut(_stack(error, file)),
        "line": line_in(error, file),
    }
    for key in ("type", "hint"):
        value = getattr(error, key, None)
        if isinstance(value, str) and value:
            fault[key] = cut(value)
    return fault


def _exit_code(error):
    return "" if error.code is None else repr(error.code)


def _text(error):
    try:
        # A KeyError would only print the key, in quotes.
        return f"no key {error}" if type(error) is KeyError else str(error)
    except BaseException:  # noqa: BLE001
        return "(its text cannot be had)"


def _stack(error, file):
    """The traceback, from where it enters the file: what the host did before tells nobody anything."""
    try:
        whole = traceback.TracebackException.from_exception(error, limit=-50)
        for one in (whole, whole.__cause__, whole.__context__):
            if one is not None:
                one.stack = traceback.StackSummary.from_list(_of_tool(one.stack, file))
        return "".join(whole.format())[: 16 * 1024]
    except BaseException:  # noqa: BLE001
        return ""


def _of_tool(frames, file):
    first = next((i for i, f in enumerate(frames) if f.filename == file), 0)
    return [f for f in frames[first:] if not f.filename.startswith((_HERE, _FROZEN))]
