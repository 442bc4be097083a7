"""Rules for JSON Schemas that the vendors' Python types do not know.

Written from the vendors' documentation and on purpose not from our own
converter: if both had the same mistake, nothing would show it. Every function
returns a list of problems, each with the place in the schema.
"""

import jsonschema

MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLES = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema",
)  # fmt: skip


def walk(schema, place="#", depth=1):
    """Yields (place, subschema, depth) for the schema and all schemas in it."""
    yield place, schema, depth
    if not isinstance(schema, dict):
        return
    for key in MAPS:
        if isinstance(schema.get(key), dict):
            # A definition is no level of its own: it counts where it is used.
            step = 0 if key in ("$defs", "definitions") else 1
            for name, child in schema[key].items():
                yield from walk(child, f"{place}/{key}/{name}", depth + step)
    for key in LISTS:
        if isinstance(schema.get(key), list):
            step = 1 if key == "prefixItems" else 0
            for i, child in enumerate(schema[key]):
                yield from walk(child, f"{place}/{key}/{i}", depth + step)
    for key in SINGLES:
        if isinstance(schema.get(key), (dict, bool)):
            yield from walk(schema[key], f"{place}/{key}", depth + 1)


def any_schema(schema):
    """What holds for every input schema: valid 2020-12, and an object at the root."""
    if not isinstance(schema, dict):
        return [f"the schema is a {type(schema).__name__}, not an object"]
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return [f"#/{'/'.join(map(str, error.absolute_path))}: {error.message}"]
    problems = []
    if schema.get("type") != "object":
        problems.append("#: the root is not `type: object`")
    for place, node, _ in walk(schema):
        ref = node.get("$ref") if isinstance(node, dict) else None
        if ref is not None and not _resolves(schema, ref):
            problems.append(f"{place}: `$ref` {ref!r} leads nowhere")
    return problems


def open_ended(schema):
    """Whether some part takes values that no strict schema can describe: lists and objects of anything."""
    for place, node, _ in walk(schema):
        if node is True or node == {}:
            return True
        if not isinstance(node, dict):
            continue
        kinds = node.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "array" in kinds and "items" not in node:
            return True
        if "object" in kinds and isinstance(node.get("additionalProperties"), dict):
            return True
        if "object" in kinds and place != "#" and not node.get("properties") and node.get("additionalProperties") is not False:
            return True
    return False


def examples(schema, values):
    """Examples that do not fit the schema."""
    validator = jsonschema.Draft202012Validator(schema)
    return [f"example {i}: {error.message}" for i, value in enumerate(values) for error in validator.iter_errors(value)]


def openai_strict(schema):
    problems = []
    if "anyOf" in schema:
        problems.append("#: `anyOf` at the root")
    properties = enums = letters = 0
    for place, node, depth in walk(schema):
        if isinstance(node, bool):
            if not place.endswith("/additionalProperties"):
                problems.append(f"{place}: a boolean schema")
            continue
        problems += _without(
            place, node,
            "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
            "dependencies", "patternProperties", "propertyNames", "unevaluatedProperties",
        )  # fmt: skip
        if not node:
            problems.append(f"{place}: an empty schema")
        if "$ref" in node and len(set(node) - {"$defs", "definitions"}) > 1:
            problems.append(f"{place}: other keys beside `$ref`")
        if _is_object(node):
            problems += _closed(place, node)
            missing = set(node.get("properties", {})) ^ set(node.get("required", []))
            if missing:
                problems.append(f"{place}: not all required, or unknown: {sorted(missing)}")
        if depth > 10:
            problems.append(f"{place}: deeper than 10 levels")
        properties += len(node.get("properties", {}))
        enums += len(node.get("enum", []))
        letters += sum(map(len, [*node.get("properties", {}), *node.get("$defs", {})]))
        letters += sum(len(v) for v in [*node.get("enum", []), node.get("const")] if isinstance(v, str))
    problems += _at_most("properties", properties, 5000) + _at_most("enum values", enums, 1000)
    return problems + _at_most("characters in names, enums and constants", letters, 120_000)


ANTHROPIC_KEYS = {
    "type", "anyOf", "allOf", "enum", "const", "description", "title", "default", "properties",
    "required", "additionalProperties", "items", "minItems", "format", "$ref", "$defs", "definitions",
}  # fmt: skip
ANTHROPIC_FORMATS = {
    "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
}  # fmt: skip


def anthropic_strict(schema):
    problems = []
    for place, node, _ in walk(schema):
        if isinstance(node, bool):
            if not place.endswith("/additionalProperties"):
                problems.append(f"{place}: a boolean schema")
            continue
        problems += [f"{place}: `{key}` is not supported" for key in sorted(set(node) - ANTHROPIC_KEYS)]
        if _is_object(node):
            problems += _closed(place, node)
        if node.get("minItems", 0) not in (0, 1):
            problems.append(f"{place}: `minItems` is neither 0 nor 1")
        if "format" in node and node["format"] not in ANTHROPIC_FORMATS:
            problems.append(f"{place}: format {node['format']!r} is not supported")
        if any(isinstance(value, (dict, list)) for value in node.get("enum", [])):
            problems.append(f"{place}: an enum value that is not a scalar")
        if not {"type", "anyOf", "allOf", "enum", "const", "$ref"} & set(node):
            problems.append(f"{place}: neither a type nor an alternative to it")
    return problems


def kimi_strict(schema):
    problems = []
    properties = enums = 0
    for place, node, depth in walk(schema):
        if isinstance(node, bool) or not node:
            if not place.endswith("/additionalProperties"):
                problems.append(f"{place}: a boolean or empty schema")
            continue
        problems += _without(
            place, node,
            "allOf", "oneOf", "not", "if", "then", "else", "const", "pattern", "format", "$schema",
            "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "prefixItems",
        )  # fmt: skip
        if "type" in node and {"anyOf", "$ref"} & set(node):
            problems.append(f"{place}: `type` beside `anyOf` or `$ref`")
        if place != "#" and {"$defs", "definitions"} & set(node):
            problems.append(f"{place}: definitions below the root")
        kinds = {_kind(value) for value in node.get("enum", [])}
        if len(kinds) > 1:
            problems.append(f"{place}: an enum of {sorted(kinds)}")
        unknown = set(node.get("required", [])) - set(node.get("properties", {}))
        if unknown:
            problems.append(f"{place}: required but not a property: {sorted(unknown)}")
        if depth > 30:
            problems.append(f"{place}: deeper than 30 levels")
        properties += len(node.get("properties", {}))
        enums += len(node.get("enum", []))
    return problems + _at_most("keys", properties, 3000) + _at_most("enum values", enums, 1000)


def gemini_parameters(schema, place="parameters"):
    """Gemini's OpenAPI style, where the client's types are too lenient."""
    problems = []
    types = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
    if str(schema.get("type", "")).upper() not in types and "anyOf" not in schema:
        problems.append(f"{place}: type {schema.get('type')!r} is not one of {', '.join(types)}")
    if any(not isinstance(value, str) for value in schema.get("enum", [])):
        problems.append(f"{place}: an enum value that is not a string")
    if {"$ref", "$defs", "ref", "defs"} & set(schema):
        problems.append(f"{place}: references are refused here")
    unknown = set(schema.get("required", [])) - set(schema.get("properties", {}))
    if unknown:
        problems.append(f"{place}: required but not a property: {sorted(unknown)}")
    for name, child in schema.get("properties", {}).items():
        problems += gemini_parameters(child, f"{place}.{name}")
    for i, child in enumerate(schema.get("anyOf", [])):
        problems += gemini_parameters(child, f"{place}.anyOf[{i}]")
    if isinstance(schema.get("items"), dict):
        problems += gemini_parameters(schema["items"], f"{place}[]")
    return problems


def _resolves(root, ref):
    if not ref.startswith("#"):
        return False
    node = root
    for part in ref[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True


def _is_object(node):
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def _closed(place, node):
    if node.get("additionalProperties") is False:
        return []
    return [f"{place}: an object without `additionalProperties: false`"]


def _without(place, node, *keys):
    return [f"{place}: `{key}` is not supported" for key in keys if key in node]


def _at_most(what, count, limit):
    return [f"#: {count} {what}, at most {limit} are allowed"] if count > limit else []


def _kind(value):
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", type(None): "null"}.get(type(value), "object")
