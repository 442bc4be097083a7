"""What a docstring says: what the function does, and what its parameters are."""

import inspect
import re

_SPHINX = re.compile(r"^:param\s+(?:[^:\s]+\s+)?\*{0,2}(\w+)\s*:\s*(.*)$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_ARGS = ("args:", "arguments:", "parameters:", "params:")


def summary(doc):
    """The first paragraph, on one line."""
    lines = inspect.cleandoc(doc).split("\n")
    first = []
    for line in lines:
        if not line.strip() or line.lower().strip() in _ARGS or line.startswith(":param"):
            break
        first.append(line.strip())
    return " ".join(first)


def parameters(doc):
    """Descriptions by name, in the style of Google, NumPy or Sphinx."""
    lines = inspect.cleandoc(doc).split("\n")
    found = {}
    for i, line in enumerate(lines):
        match = _SPHINX.match(line)
        if match:
            found[match[1]] = _joined(match[2], _deeper(lines, i + 1, 0))
        elif line.lower().strip() in _ARGS:
            found.update(_google(lines, i + 1, _indent(line)))
        elif line.strip() == "Parameters" and _underlined(lines, i + 1):
            found.update(_numpy(lines, i + 2))
    return {name: text for name, text in found.items() if text}


def _indent(line):
    return len(line) - len(line.lstrip())


def _underlined(lines, i):
    return i < len(lines) and re.fullmatch(r"-{3,}", lines[i].strip()) is not None


def _joined(first, more):
    return " ".join(part for part in [first.strip(), *more] if part)


def _deeper(lines, start, indent):
    """The lines that go on with what stood above them."""
    out = []
    for line in lines[start:]:
        if not line.strip() or _indent(line) <= indent:
            break
        out.append(line.strip())
    return out


def _google(lines, start, outer):
    found = {}
    inner = None
    for i, line in enumerate(lines[start:], start):
        if not line.strip():
            continue
        depth = _indent(line)
        if depth <= outer:
            break
        inner = depth if inner is None else inner
        match = _GOOGLE.match(line.strip()) if depth == inner else None
        if match:
            found[match[1]] = _joined(match[2], _deeper(lines, i + 1, depth))
    return found


def _numpy(lines, start):
    found = {}
    for i, line in enumerate(lines[start:], start):
        if _underlined(lines, i + 1):
            break
        match = _NUMPY.match(line) if line.strip() and _indent(line) == 0 else None
        if match:
            text = _joined("", _deeper(lines, i + 1, 0))
            found.update({name.strip(): text for name in match[1].split(",")})
    return found
