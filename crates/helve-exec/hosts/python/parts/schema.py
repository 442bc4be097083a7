"""From Python types to JSON Schema, and arguments back to those types."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import os
import pathlib
import typing
import uuid

from .encode import NotJson, encode

_NONE = type(None)
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", _NONE: "null"}
_FORMATS = {
    datetime.datetime: "date-time",
    datetime.date: "date",
    datetime.time: "time",
    uuid.UUID: "uuid",
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_NAMES = {
    **{t.__name__: t for t in (str, int, float, bool, list, dict, tuple, set, object)},
    **{n: getattr(typing, n) for n in ("Any", "List", "Dict", "Optional", "Union", "Tuple")},
    **{n: getattr(typing, n) for n in ("Literal", "Mapping", "Sequence", "Set")},
}


class UnknownType(Exception):
    """A type that has no JSON Schema here."""


def origin_of(hint):
    return typing.get_origin(hint)


def _shown(hint):
    return getattr(hint, "__name__", None) or str(hint)


def schema_of(hint):
    """The JSON Schema of a type."""
    if isinstance(hint, dict):
        return hint
    if isinstance(hint, str):
        return schema_of(_named(hint))
    if hint in (typing.Any, object, inspect.Parameter.empty):
        return {}
    if hint is None:
        return {"type": "null"}
    if isinstance(hint, typing.TypeVar):
        return schema_of(hint.__bound__) if hint.__bound__ else {}
    origin = origin_of(hint)
    if origin is not None:
        return _generic(hint, origin, typing.get_args(hint))
    if not isinstance(hint, type):
        supertype = getattr(hint, "__supertype__", None)  # NewType
        if supertype is not None:
            return schema_of(supertype)
        raise UnknownType(_shown(hint))
    return _class(hint)


def _named(text):
    try:
        return eval(text, {"__builtins__": {}}, dict(_NAMES))  # noqa: S307 - names of types only
    except Exception:
        raise UnknownType(text) from None


def _generic(hint, origin, args):
    if getattr(hint, "__metadata__", None) is not None:
        schema = dict(schema_of(args[0]))
        for extra in hint.__metadata__:
            text = extra if isinstance(extra, str) else getattr(extra, "description", None)
            if isinstance(text, str):
                schema["description"] = text
                break
        return schema
    if _shown(origin) in ("Required", "NotRequired", "ReadOnly", "Final"):
        return schema_of(args[0])
    if origin is typing.Literal:
        return _choice([getattr(a, "value", a) for a in args])
    if is_union(origin):
        return _union(args)
    if origin in _LISTS:
        items = [a for a in args if a is not Ellipsis]
        schema = {"type": "array"}
        if items and not isinstance(items[0], typing.TypeVar):
            schema["items"] = schema_of(items[0])
        if origin in (set, frozenset):
            schema["uniqueItems"] = True
        return schema
    if origin in _DICTS:
        if len(args) == 2 and not isinstance(args[1], typing.TypeVar) and args[1] is not typing.Any:
            return {"type": "object", "additionalProperties": schema_of(args[1])}
        return {"type": "object"}
    if isinstance(origin, type):
        return _class(origin)
    raise UnknownType(_shown(hint))


def is_union(origin):
    # `int | str` has a type of its own from 3.10 on.
    return origin is typing.Union or _shown(origin) == "UnionType"


def _union(args):
    some = [schema_of(a) for a in args if a is not _NONE]
    one = some[0] if len(some) == 1 else {"anyOf": some}
    if len(some) == len(args):
        return one
    if isinstance(one.get("type"), str):
        nullable = {**one, "type": [one["type"], "null"]}
        if "enum" in one:
            nullable["enum"] = [*one["enum"], None]
        return nullable
    return {"anyOf": [*some, {"type": "null"}]}


def _choice(values):
    if all(isinstance(v, str) for v in values):
        return {"type": "string", "enum": values}
    return {"enum": values}


def _class(hint):
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if hint in _FORMATS:
        return {"type": "string", "format": _FORMATS[hint]}
    if hint in _LISTS:
        return {"type": "array"}
    if hint in _DICTS:
        return {"type": "object"}
    if issubclass(hint, enum.Enum):
        return _choice([member.value for member in hint])
    if issubclass(hint, (pathlib.PurePath, os.PathLike)):
        return {"type": "string", "format": "path"}
    if issubclass(hint, decimal.Decimal):
        return {"type": "number"}
    if hint in (bytes, bytearray):
        return {"type": "string"}
    if callable(getattr(hint, "model_json_schema", None)):
        return hint.model_json_schema()
    if is_typed_dict(hint):
        return _typed_dict(hint)
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint)
    raise UnknownType(_shown(hint))


def is_typed_dict(hint):
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")


def hints_of(thing):
    """The types of a class or function, with what `Annotated` says about them."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception as error:
        raise UnknownType(f"a hint of `{_shown(thing)}` ({error})") from None


def _typed_dict(hint):
    hints = hints_of(hint)
    required = []
    for name, kind in hints.items():
        marker = _shown(origin_of(kind)) if origin_of(kind) is not None else ""
        # With `from __future__ import annotations` only the hint still says so.
        if marker == "Required" or marker != "NotRequired" and name in hint.__required_keys__:
            required.append(name)
    return object_schema({name: schema_of(kind) for name, kind in hints.items()}, required)


def _dataclass(hint):
    hints = hints_of(hint)
    properties, required = {}, []
    for field in dataclasses.fields(hint):
        if not field.init:
            continue
        schema = dict(schema_of(hints[field.name]))
        if field.default is not dataclasses.MISSING:
            add_default(schema, field.default)
        elif field.default_factory is dataclasses.MISSING:
            required.append(field.name)
        properties[field.name] = schema
    return object_schema(properties, required)


def object_schema(properties, required):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def add_default(schema, value):
    """Says the default where JSON can."""
    try:
        encode(value)
    except NotJson:
        return
    schema["default"] = value


# ----- arguments ---------------------------------------------------------------


def convert(value, hint):
    """An argument as the type that a function asks for."""
    origin = origin_of(hint)
    args = typing.get_args(hint)
    if getattr(hint, "__metadata__", None) is not None:
        return convert(value, args[0])
    if value is None or isinstance(hint, str):
        return value
    if origin is not None:
        return _convert_generic(value, hint, origin, args)
    if not isinstance(hint, type):
        return value
    return _convert_class(value, hint)


def _convert_generic(value, hint, origin, args):
    if is_union(origin):
        return _convert_union(value, args)
    if origin in _LISTS and isinstance(value, list):
        many = list(args)
        if origin is tuple and many and many[-1] is not Ellipsis:
            many += [typing.Any] * (len(value) - len(many))
            return tuple(convert(v, a) for v, a in zip(value, many))
        item = many[0] if many else typing.Any
        items = [convert(v, item) for v in value]
        return origin(items) if origin in (tuple, set, frozenset) else items
    if origin in _DICTS and isinstance(value, dict) and len(args) == 2:
        return {key: convert(v, args[1]) for key, v in value.items()}
    return value


def _convert_union(value, args):
    kind = type(value)
    if any(a is kind for a in args):
        return value
    for arg in args:
        if arg is _NONE:
            continue
        try:
            return convert(value, arg)
        except (ValueError, TypeError):
            continue
    return value


def _convert_class(value, hint):
    if hint in (str, int, bool, dict, list, _NONE):
        return value
    if hint is float:
        return float(value) if type(value) is int else value
    if hint in (tuple, set, frozenset) and isinstance(value, list):
        return hint(value)
    if hint in (datetime.datetime, datetime.date, datetime.time) and isinstance(value, str):
        # Before 3.11 a `Z` at the end is not read.
        return hint.fromisoformat(value[:-1] + "+00:00" if value.endswith("Z") else value)
    if issubclass(hint, enum.Enum):
        return hint(value)
    if issubclass(hint, pathlib.PurePath):
        return hint(value)
    if hint is os.PathLike:
        return pathlib.Path(value)
    if hint is uuid.UUID:
        return uuid.UUID(value)
    if issubclass(hint, decimal.Decimal):
        return hint(str(value))
    if hint in (bytes, bytearray) and isinstance(value, str):
        return hint(value, "utf-8")
    if callable(getattr(hint, "model_validate", None)):
        return hint.model_validate(value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = hints_of(hint)
        return hint(**{key: convert(v, hints.get(key, typing.Any)) for key, v in value.items()})
    return value
