"""One tool of each dialect in, a list of problems out.

Shapes are checked by the vendors' own types. What those leave open, such as
the rules for names, is added from the vendors' documentation.
"""

import ast
import re
import warnings

import botocore.session
import botocore.validate
import google.genai.types
import mcp.types
import pydantic
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam

import schemas

# The Gemini client warns of an unknown type name; `schemas.gemini_parameters` refuses it.
warnings.filterwarnings("ignore", message=".*is not a valid", category=UserWarning)


def openai(tool, strict):
    problems = typed(ChatCompletionFunctionToolParam, tool)
    if problems:
        return problems
    function = tool["function"]
    problems += named(function["name"], r"[A-Za-z0-9_-]{1,64}")
    return problems + openai_schema(function, strict, schemas.openai_strict)


def openai_responses(tool, strict):
    problems = typed(FunctionToolParam, tool)
    if problems:
        return problems
    problems += named(tool["name"], r"[A-Za-z0-9_-]{1,64}")
    if "output_schema" in tool:
        problems += schemas.any_schema(tool["output_schema"])
    return problems + openai_schema(tool, strict, schemas.openai_strict)


def kimi(tool, strict):
    problems = typed(ChatCompletionFunctionToolParam, tool)
    if problems:
        return problems
    function = tool["function"]
    problems += named(function["name"], r"[a-zA-Z_][a-zA-Z0-9_-]{2,63}")
    # Here a tool is strict unless it says otherwise.
    function = {"strict": True, **function}
    return problems + openai_schema(function, strict, schemas.kimi_strict)


def openai_schema(function, strict, rules):
    problems = schemas.any_schema(function.get("parameters"))
    problems += not_strict(function, function.get("parameters"), strict)
    if not problems and function.get("strict"):
        problems += rules(function["parameters"])
    return problems


def not_strict(tool, schema, strict):
    """A tool asked for strictly may stay loose only where its schema is open-ended, and must say so."""
    if not strict or tool.get("strict") is True:
        return []
    if tool.get("strict") is False and schemas.open_ended(schema):
        return []
    return ["`strict` is not true"]


def anthropic(tool, strict):
    problems = typed(ToolParam, tool)
    if problems:
        return problems
    schema = tool["input_schema"]
    problems += named(tool["name"], r"[a-zA-Z0-9_-]{1,128}") + schemas.any_schema(schema)
    problems += not_strict(tool, schema, strict)
    if not problems:
        problems += schemas.examples(schema, tool.get("input_examples", []))
    if not problems and tool.get("strict"):
        problems += schemas.anthropic_strict(schema)
    return problems


def mcp_tool(tool):
    problems = modelled(mcp.types.Tool, tool)
    if problems:
        return problems
    problems += named(tool["name"], r"[A-Za-z0-9_.-]{1,128}") + schemas.any_schema(tool["inputSchema"])
    if tool.get("outputSchema") is not None:
        problems += schemas.any_schema(tool["outputSchema"])
    return problems


def gemini(tool):
    problems = modelled(google.genai.types.FunctionDeclaration, tool)
    if problems:
        return problems
    problems += named(tool.get("name"), r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
    if not tool.get("description"):
        problems.append("`description` is missing")
    if "parameters" in tool and "parametersJsonSchema" in tool:
        problems.append("both `parameters` and `parametersJsonSchema`")
    if "parameters" in tool:
        problems += schemas.gemini_parameters(tool["parameters"])
    if "parametersJsonSchema" in tool:
        problems += schemas.any_schema(tool["parametersJsonSchema"])
    if "responseJsonSchema" in tool:
        problems += schemas.any_schema(tool["responseJsonSchema"])
    return problems


CONVERSE = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse")


def bedrock(tool):
    config = CONVERSE.input_shape.members["toolConfig"]
    report = botocore.validate.ParamValidator().validate({"tools": [tool]}, config)
    if report.has_errors():
        return [report.generate_report()]
    if "toolSpec" not in tool:
        return ["no `toolSpec`"]
    spec = tool["toolSpec"]
    # The validator knows lengths from below only; the model has the rest.
    name = config.members["tools"].member.members["toolSpec"].members["name"].metadata
    problems = named(spec["name"], name["pattern"])
    if len(spec["name"]) > name["max"]:
        problems.append(f"the name has more than {name['max']} characters")
    return problems + schemas.any_schema(spec["inputSchema"]["json"])


def claude_sdk(tool):
    if not isinstance(tool, dict) or not {"name", "description", "input_schema"} <= set(tool):
        return ["`name`, `description` or `input_schema` is missing"]
    unknown = set(tool) - {"name", "description", "input_schema", "annotations", "server"}
    problems = [f"unknown key `{key}`" for key in sorted(unknown)]
    problems += named(tool["name"], r"[a-zA-Z0-9_-]{1,64}")
    if not isinstance(tool["description"], str):
        problems.append("`description` is no text")
    schema = tool["input_schema"]
    if not isinstance(schema, dict):
        return problems + ["`input_schema` is no object"]
    # The SDK takes a dict for a JSON Schema only with both of these keys.
    if isinstance(schema.get("type"), str) and isinstance(schema.get("properties"), dict):
        return problems + schemas.any_schema(schema)
    return problems + [f"`{key}`: {kind!r} is no type" for key, kind in schema.items() if not short_type(kind)]


def short_type(text):
    """Whether a text is a type of the SDK's short form, such as `list[str]`."""

    def known(node):
        match node:
            case ast.Name(id="str" | "int" | "float" | "bool" | "list" | "dict"):
                return True
            case ast.Subscript(value=ast.Name(id="list"), slice=item):
                return known(item)
            case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
                return known(key) and known(value)
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[item, ast.Constant(value=str())])):
                return known(item)
        return False

    try:
        return isinstance(text, str) and known(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return False


OPENAKITA = {
    "name": str, "description": str, "input_schema": dict, "detail": str, "triggers": list,
    "prerequisites": list, "examples": list, "category": str, "warnings": list,
    "related_tools": list, "workflow": dict,
}  # fmt: skip


def openakita(tool):
    if not isinstance(tool, dict):
        return ["no dict"]
    problems = [f"`{key}` is missing" for key in ("name", "description", "input_schema") if key not in tool]
    for key, value in tool.items():
        if key not in OPENAKITA:
            problems.append(f"unknown key `{key}`")
        elif not isinstance(value, OPENAKITA[key]):
            problems.append(f"`{key}` is no {OPENAKITA[key].__name__}")
    if problems:
        return problems
    problems += named(tool["name"], r"[a-z0-9_]{1,64}") + schemas.any_schema(tool["input_schema"])
    for key in ("triggers", "warnings"):
        problems += [f"`{key}`: {item!r} is no text" for item in tool.get(key, []) if not isinstance(item, str)]
    for item in tool.get("prerequisites", []):
        if not isinstance(item, str):
            problems += keyed("prerequisites", item, {"condition"}, {"check_tool", "action_if_not_met"})
    for item in tool.get("related_tools", []):
        problems += keyed("related_tools", item, {"name"}, {"relation"})
    for item in tool.get("examples", []):
        problems += keyed("examples", item, {"params"}, {"scenario", "expected"})
    if "workflow" in tool:
        problems += keyed("workflow", tool["workflow"], {"steps"}, {"name"})
        for step in tool["workflow"].get("steps", []):
            problems += keyed("workflow", step, {"action"}, {"step", "tool", "tools", "condition"})
    if not problems:
        problems += schemas.examples(tool["input_schema"], [e["params"] for e in tool.get("examples", [])])
    return problems


def keyed(where, item, needed, optional):
    if not isinstance(item, dict):
        return [f"`{where}`: {item!r} is no dict"]
    wrong = sorted((needed - set(item)) | (set(item) - needed - optional))
    return [f"`{where}`: missing or unknown: {wrong}"] if wrong else []


def typed(kind, value):
    """Problems of a value that a vendor describes as a TypedDict."""
    try:
        pydantic.TypeAdapter(kind).validate_python(value, extra="forbid", strict=True)
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return []


def modelled(model, value):
    """Problems of a value that a vendor describes as a model with camelCase aliases."""
    try:
        model.model_validate(value, extra="forbid", by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    except Exception as error:  # a value on which the vendor's own code stumbles
        return [f"{model.__name__}: {type(error).__name__}: {error}"]
    return []


def named(name, pattern):
    if isinstance(name, str) and re.fullmatch(pattern, name):
        return []
    return [f"the name {name!r} does not match {pattern}"]
