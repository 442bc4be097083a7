"""Values as JSON, bounded while they are written.

The encoder of the standard library builds the whole text before anyone can say
that it is too long, writes `NaN`, and stops at the first set. This one counts
as it goes, and says where something stood that JSON cannot hold.
"""

import base64
import dataclasses
import datetime
import decimal
import enum
import fractions
import json.encoder
import math
import os
import uuid
from collections.abc import Mapping

MAX_MESSAGE = 8 * 1024 * 1024
# Readers of JSON give up on deep nesting; the message around a value takes some.
MAX_DEPTH = 100

# Taken now: a tool may put something else there.
_quote = json.encoder.encode_basestring
_float = float.__repr__
_int = int.__repr__
_isinstance = isinstance
_is_dataclass = dataclasses.is_dataclass
_fields = dataclasses.fields
_isfinite = math.isfinite
_fspath = os.fspath
_b64 = base64.b64encode

_AS_TEXT = (decimal.Decimal, fractions.Fraction, uuid.UUID)
_DATES = (datetime.date, datetime.time)
_BYTES = (bytes, bytearray, memoryview)


class NotJson(Exception):
    """A value that JSON cannot hold, or that is too long."""


def too_long(size):
    return f"its result is too long: {size} bytes, at most {MAX_MESSAGE}"


def encode(value):
    """The value as JSON text."""
    return Encoder().encode(value)


def utf8(text):
    """Text as bytes. Half a surrogate pair is no text, and becomes `U+FFFD`."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        halves = text.encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "replace").encode("utf-8")


class Encoder:
    def __init__(self):
        self.out = []
        self.chunks = []
        self.size = 0
        self.path = []

    def encode(self, value):
        self.write(value, 0)
        return "".join([*self.chunks, *self.out])

    def put(self, text):
        self.size += len(text)
        if self.size > MAX_MESSAGE:
            raise NotJson(too_long(f"at least {self.size}"))
        self.out.append(text)
        # Many short pieces would take far more room than the text that they make.
        if len(self.out) > 50_000:
            self.chunks.append("".join(self.out))
            self.out.clear()

    def refuse(self, what):
        place = "".join(f"[{key!r}]" for key in self.path)
        where = f" at `{place}`" if place else ""
        raise NotJson(f"its result holds {what}{where}, which is not JSON")

    def write(self, value, depth):
        kind = type(value)
        if kind is str:
            self.text(value)
        elif value is None:
            self.put("null")
        elif kind is bool:
            self.put("true" if value else "false")
        elif kind is int:
            self.integer(value)
        elif kind is float:
            self.put(_float(value) if _isfinite(value) else "null")
        elif depth >= MAX_DEPTH:
            raise NotJson(f"its result is circular, or nested more than {MAX_DEPTH} deep")
        elif kind is dict:
            self.entries(value.items(), depth)
        elif kind is list or kind is tuple:
            self.items(value, depth)
        else:
            self.other(value, depth)

    def text(self, value):
        # Before it is copied: a text is never shorter in UTF-8 than it is long.
        if self.size + len(value) > MAX_MESSAGE:
            raise NotJson(too_long(f"at least {self.size + len(value)}"))
        self.put(_quote(value))

    def integer(self, value):
        if -(1 << 63) <= value < 1 << 64:
            self.put(_int(value))
        elif value.bit_length() <= 10_000:
            # Where JSON is read as 64-bit numbers it would lose its last digits.
            self.put(f'"{_int(value)}"')
        else:
            self.refuse(f"an integer of {value.bit_length()} bits")

    def items(self, values, depth):
        self.put("[")
        path = self.path
        path.append(0)
        for i, value in enumerate(values):
            if i:
                self.put(",")
            path[-1] = i
            self.write(value, depth + 1)
        path.pop()
        self.put("]")

    def entries(self, pairs, depth):
        self.put("{")
        path = self.path
        path.append("")
        first = True
        for key, value in pairs:
            path[-1] = key
            if not first:
                self.put(",")
            first = False
            self.text(key if type(key) is str else self.key(key))
            self.put(":")
            self.write(value, depth + 1)
        path.pop()
        self.put("}")

    def key(self, key):
        if _isinstance(key, enum.Enum):
            key = key.value
        if _isinstance(key, str):
            return str.__str__(key)
        if key is None:
            return "null"
        if _isinstance(key, bool):
            return "true" if key else "false"
        if _isinstance(key, (int, float, os.PathLike, *_AS_TEXT, *_DATES)):
            return str(key)
        return self.refuse(f"a key of type `{type(key).__name__}`")

    def other(self, value, depth):
        """Everything that is not plainly JSON, by what it is nearest to."""
        if _isinstance(value, enum.Enum):
            self.write(value.value, depth)
        elif _isinstance(value, str):
            self.text(str.__str__(value))
        elif _isinstance(value, int):
            self.integer(int(value))
        elif _isinstance(value, float):
            self.write(float(value), depth)
        elif _isinstance(value, Mapping):
            self.entries(value.items(), depth)
        elif _isinstance(value, (list, tuple)):
            self.items(value, depth)
        elif _isinstance(value, (set, frozenset)):
            self.items(_in_order(value), depth)
        elif _isinstance(value, _BYTES):
            self.bytes(value, depth)
        elif _is_dataclass(value) and not _isinstance(value, type):
            self.entries(((f.name, getattr(value, f.name)) for f in _fields(value)), depth)
        elif _isinstance(value, _DATES):
            self.text(value.isoformat())
        elif _isinstance(value, datetime.timedelta):
            self.put(_float(value.total_seconds()))
        elif _isinstance(value, _AS_TEXT):
            self.text(str(value))
        elif _isinstance(value, os.PathLike):
            self.text(_fspath(value))
        elif callable(getattr(type(value), "model_dump", None)):
            self.write(value.model_dump(mode="json"), depth + 1)
        elif callable(getattr(type(value), "tolist", None)):
            # Arrays and numbers of numpy, without importing it.
            self.write(value.tolist(), depth + 1)
        else:
            self.refuse(f"a value of type `{type(value).__name__}`")

    def bytes(self, value, depth):
        """Bytes that are text are text; others say that they are not."""
        size = memoryview(value).nbytes
        if self.size + size > MAX_MESSAGE:
            raise NotJson(too_long(f"at least {self.size + size}"))
        raw = bytes(value)
        try:
            self.text(raw.decode("utf-8"))
        except UnicodeDecodeError:
            self.entries([("base64", _b64(raw).decode("ascii"))], depth)


def _in_order(values):
    try:
        return sorted(values)
    except TypeError:
        return list(values)
