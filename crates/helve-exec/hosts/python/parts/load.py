"""From a file to its tools."""

import inspect
import tokenize
import types

from . import docstrings, schema, sdk
from .encode import NotJson, encode
from .faults import load_error
from .modules import import_file
from .sources import Source

_MOST_DESCRIPTION = 1024 * 1024


class Unfit(Exception):
    """A file that was loaded, but has no tool that could be run."""


class Tool:
    """How a tool is called, and what it says of itself, as JSON."""

    def __init__(self, name, run, described):
        self.name = name
        self.run = run
        self.described = described


class Loaded:
    """The tools of a file by name, or what is wrong with it."""

    def __init__(self, file, module, tools, error, cause):
        self.file = file
        self.module = module
        self.tools = tools
        self.error = error
        self.cause = cause


def load(file):
    # A tool may do anything while it is loaded, and all of it is its own affair.
    try:
        module = import_file(file)
        tools = {}
        for tool in _tools_of(module, file):
            if tool.name in tools:
                raise Unfit(f"it has two tools named `{tool.name}`")
            tools[tool.name] = tool
        return Loaded(file, module, tools, None, None)
    except Unfit as error:
        return Loaded(file, None, {}, {"message": str(error), "line": None, "column": None}, error)
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like as well
        return Loaded(file, None, {}, load_error(error, file), error)


def _tools_of(module, file):
    with tokenize.open(file) as text:
        source = Source(text.read())
    found = []
    for variable, value in list(vars(module).items()):
        if sdk.is_tool(value) and _is_from(value.handler, module):
            if not any(value is tool for _, tool in found):
                found.append((variable, value))
    if found:
        return [_decorated(tool, variable, source) for variable, tool in found]
    functions = [f for f in _functions(module) if not _what_lacks(f)]
    if functions:
        return [_plain(function) for function in functions]
    lacking = [f"`{f.__name__}` {_what_lacks(f)}" for f in _functions(module)]
    if not lacking:
        # Something for its neighbours.
        return []
    raise Unfit(
        "no tool here: neither a function with `@tool(…)` nor a public one with a docstring "
        "and a type for every parameter" + "".join(f"; {one}" for one in lacking[:3])
    )


def _is_from(function, module):
    return getattr(function, "__module__", module.__name__) == module.__name__


# ----- `@tool(name, description, parameters)` ---------------------------------


def _decorated(tool, variable, source):
    if not isinstance(tool.name, str) or not tool.name:
        raise Unfit(f"the tool of `{variable}` has no name")
    if not callable(tool.handler):
        raise Unfit(f"`{tool.name}` has no handler")
    comments = source.comments.get(tool.handler.__name__, {}) if hasattr(tool.handler, "__name__") else {}
    described = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": _parameters(tool, comments),
    }
    annotations = _plain_data(getattr(tool, "annotations", None))
    if annotations:
        described["annotations"] = annotations
    described.update(sdk.extras.get(id(tool), {}))
    server = sdk.servers.get(id(tool)) or source.servers.get(variable)
    if server:
        described["server"] = server
    takes = _positional(tool.handler)
    if takes >= 2:
        run = lambda args, ctx: tool.handler(args, ctx)  # noqa: E731
    elif takes == 1:
        run = lambda args, ctx: tool.handler(args)  # noqa: E731
    else:
        run = lambda args, ctx: tool.handler()  # noqa: E731
    return Tool(tool.name, run, _json(described, tool.name))


def _positional(handler):
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        return 1
    count = 0
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            return 2
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            # A second one with a default is the author's own, unless it says what it is.
            if count == 1 and parameter.default is not parameter.empty:
                return 2 if parameter.name in ("ctx", "context") else 1
            count += 1
    return count


def _parameters(tool, comments):
    given = tool.input_schema
    if not isinstance(given, dict):
        try:
            return schema.schema_of(given)
        except schema.UnknownType as error:
            raise Unfit(f"the parameters of `{tool.name}` are of a type that is not known: {error}")
    # The test of the SDK: a dict with a text as `type`, and `properties`, is a schema.
    if isinstance(given.get("type"), str) and "properties" in given:
        return given
    properties = {}
    for name, kind in given.items():
        try:
            properties[name] = dict(schema.schema_of(kind))
        except schema.UnknownType as error:
            raise Unfit(
                f"parameter `{name}` of `{tool.name}` has a type that is not known, `{error}`; "
                'use str, int, float, bool, list, dict, list[T] or Annotated[T, "…"]'
            )
        if name in comments:
            properties[name].setdefault("description", comments[name])
    # The short form has no word for "required", so nothing is.
    return schema.object_schema(properties, [])


def _plain_data(value):
    if value is None or isinstance(value, dict):
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    return {key: v for key, v in vars(value).items() if v is not None}


def _json(described, name):
    try:
        text = encode(described)
    except NotJson as error:
        raise Unfit(f"`{name}`: {str(error).replace('its result', 'what describes it', 1)}") from None
    if len(text) > _MOST_DESCRIPTION:
        raise Unfit(f"`{name}`: what describes it is too long")
    return text


# ----- plain functions ---------------------------------------------------------


def _functions(module):
    listed = getattr(module, "__all__", None)
    return [
        value
        for name, value in vars(module).items()
        if isinstance(value, types.FunctionType)
        and not name.startswith("_")
        and _is_from(value, module)
        and (listed is None or name in listed)
    ]


def _what_lacks(function):
    if not inspect.getdoc(function):
        return "has no docstring"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return f"takes `*{parameter.name}`"
        if parameter.annotation is parameter.empty and not _is_context(parameter):
            return f"has no type for `{parameter.name}`"
    return None


def _is_context(parameter):
    hint = parameter.annotation
    if parameter.name == "ctx" and hint is parameter.empty:
        return True
    return getattr(hint, "__name__", hint) in ("Context", "helve.Context")


def _plain(function):
    name = function.__name__
    doc = inspect.getdoc(function)
    texts = docstrings.parameters(doc)
    parameters = inspect.signature(function).parameters
    properties, required, context = {}, [], None
    try:
        hints = schema.hints_of(function)
        for parameter in parameters.values():
            if _is_context(parameter):
                context = parameter.name
                continue
            one = dict(schema.schema_of(hints[parameter.name]))
            if parameter.name in texts:
                one.setdefault("description", texts[parameter.name])
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            else:
                schema.add_default(one, parameter.default)
            properties[parameter.name] = one
    except schema.UnknownType as error:
        raise Unfit(f"`{name}` has a type that is not known: {error}")
    described = {
        "name": name,
        "description": docstrings.summary(doc),
        "input_schema": schema.object_schema(properties, required),
        # Its folder may be part of its name: nobody has called it yet.
        "plain": True,
    }
    more = getattr(function, "helve", None)
    if isinstance(more, dict):
        described.update(more)
        name = described["name"]
    ahead = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_ONLY]

    def run(args, ctx):
        given = dict(args)
        if context:
            given[context] = ctx
        for key in given:
            if key in hints and key != context:
                given[key] = _converted(given[key], hints[key], key)
        first = [given.pop(key) for key in ahead if key in given]
        return function(*first, **given)

    return Tool(name, run, _json(described, name))


def _converted(value, hint, key):
    import helve

    try:
        return schema.convert(value, hint)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise helve.ToolError(f"argument `{key}`: {error}", type="validation") from None
