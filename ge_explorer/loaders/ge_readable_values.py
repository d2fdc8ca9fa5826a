"""Values and lists of the readable dump: ``{1, 2}``, ``{{1}, {2}}``, ``"text"``, ``DT_FLOAT``, ``[1 2 … 5]``, ``<empty>``."""

from __future__ import annotations

import re
from typing import Any

DEPTH_LIMIT = 8
_INT = re.compile(r"-?[0-9]{1,20}\Z", re.ASCII)
_FLOAT = re.compile(r"-?(?:[0-9]{1,40}\.?[0-9]{0,40}(?:[eE][+-]?[0-9]{1,4})?|inf|nan)\Z", re.ASCII)
_SPECIAL = re.compile(r'[\\"(){}\[\],]')
_OPEN = {"(": ")", "{": "}", "[": "]"}


class Braces(ValueError):
    """Brackets or quotes that do not match; the text says how."""


def split_items(text: str) -> list[str]:
    """Split at commas outside brackets and quotes; parts are stripped, an empty text has none.

    >>> split_items('inputs = (x=%a, y=%b), attrs = {s: "a, b"}')
    ['inputs = (x=%a, y=%b)', 'attrs = {s: "a, b"}']
    """
    parts: list[str] = []
    closers: list[str] = []
    start, quoted, skip = 0, False, -1
    for m in _SPECIAL.finditer(text):
        c, i = m[0], m.start()
        if i == skip:
            continue
        if c == "\\":
            skip = i + 1 if quoted else -1
        elif c == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif c in _OPEN:
            closers.append(_OPEN[c])
            if len(closers) > DEPTH_LIMIT:
                raise Braces(f"brackets are nested deeper than {DEPTH_LIMIT}")
        elif closers and c == closers[-1]:
            closers.pop()
        elif c != "," and not closers:
            raise Braces("a bracket closes that was never opened")
        elif c == "," and not closers:
            parts.append(text[start:i])
            start = i + 1
    if quoted:
        raise Braces("a quoted text is not closed")
    if closers:
        raise Braces(f"a bracket is not closed with {closers[-1]!r}")
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def read_braces(text: str, depth: int = 0) -> Any:
    """One value.

    >>> read_braces("{{1, 2}, {3}}"), read_braces("true"), read_braces('"s"'), read_braces("0.500000")
    (((1, 2), (3,)), True, 's', 0.5)
    """
    if depth > DEPTH_LIMIT:
        raise Braces(f"brackets are nested deeper than {DEPTH_LIMIT}")
    if text.startswith("{") and text.endswith("}"):
        return tuple(read_braces(p, depth + 1) for p in split_items(text[1:-1]))
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    return text
