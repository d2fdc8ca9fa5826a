"""A reader for protobuf text, written for hostile input: no recursion, bounded depth, numbers, values and strings.

It knows the notation, not the schema: quoted text becomes ``bytes``, numbers ``int`` or ``float``, bare words ``Word``.
A ``fold`` turns a finished message of some field into something smaller at once, so that a large dump never exists as a
tree of all its fields. Byte positions are those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from ge_explorer.errors import InputError, shorten
from ge_explorer.loaders.source import Source

DEPTH_LIMIT = 64
"""Messages inside messages. GE's deepest real dumps have 12."""
VALUE_LIMIT = 4_000_000
"""Fields of one message that are kept at a time (after folding)."""
INT_RANGE = (-(2**63), 2**64 - 1)
T = TypeVar("T")

_GAP = rb"(?:[ \t\r\n,;]|\#[^\n]*+)*+"
_STATEMENT = re.compile(
    _GAP + rb"(?:(?P<close>[}>])"
    rb"|(?P<name>[A-Za-z_][A-Za-z0-9_]*+|\[[A-Za-z0-9_./]*+\])[ \t\r\n]*+"
    rb"(?:(?P<open>(?::[ \t\r\n]*+)?[{<])"
    rb'|:[ \t\r\n]*+(?:"(?P<text>[^"\\\n]*+)"'
    rb"|(?P<int>-?[0-9]++)(?=[ \t\r\n,;}>\#]|\Z)"
    rb"|(?P<word>[A-Za-z_][A-Za-z0-9_]*+)(?=[ \t\r\n,;}>\#]|\Z)"
    rb"|(?P<other>))))"
)
_SKIP = re.compile(_GAP)
_SCALAR = re.compile(
    rb"""[ \t\r\n]*+(?:"(?P<double>(?:[^"\\\n]|\\.)*+)"|'(?P<single>(?:[^'\\\n]|\\.)*+)'"""
    rb"""|(?P<hex>-?0[xX][0-9a-fA-F]++)|(?P<number>-?[ ]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?[fF]?)"""
    rb"""|(?P<word>-?[A-Za-z_][A-Za-z0-9_]*+)|(?P<list>\[))""",
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(.))", re.DOTALL)
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_FLOAT_WORDS = {"inf": float("inf"), "infinity": float("inf"), "nan": float("nan")}


class Word(str):
    """A bare word: an enum name."""

    __slots__ = ()


class Message:
    """Fields of one message: name -> values in file order. ``at`` is the byte where it starts."""

    __slots__ = ("at", "fields")

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.fields: dict[str, list[Any]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def all(self, name: str) -> list[Any]:
        """All values of a field; [] when absent."""
        return self.fields.get(name, [])

    def last(self, name: str, kind: type[T], default: T) -> T:
        """Last value of a field (protobuf's rule for a field given twice); ``default`` when absent or of another kind."""
        values = self.fields.get(name)
        if not values:
            return default
        value = values[-1]
        if kind is float and isinstance(value, int):
            return cast(T, float(value))
        return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else default

    def integer(self, name: str, default: int = 0) -> int:
        """Whole number."""
        return self.last(name, int, default)

    def text(self, name: str, default: str = "") -> str:
        """Quoted text, or a bare word."""
        value = (self.fields.get(name) or [default])[-1]
        return as_text(value) if isinstance(value, bytes | str) else default

    def texts(self, name: str) -> list[str]:
        """All quoted texts of a field."""
        return [as_text(v) for v in self.all(name) if isinstance(v, bytes | str)]

    def integers(self, name: str) -> list[int]:
        """All whole numbers of a field."""
        return [v for v in self.all(name) if isinstance(v, int) and not isinstance(v, bool)]


Fold = Callable[[Message], Any]


def as_text(value: bytes | str) -> str:
    """Text of a quoted value; bytes that are not UTF-8 stay visible as ``\\xNN``, so two names never become one."""
    return str(value) if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def place(data: bytes, at: int, name: str) -> str:
    """``file, byte 12 (line 3)``."""
    line = data.count(b"\n", 0, at) + 1
    return f"{name}, byte {at} (line {line})"


def parse(data: bytes, name: str, folds: Mapping[str, Fold] | None = None) -> Message:
    """The whole text as one message.

    ``folds``: field name -> function that replaces a finished message of that field, at any depth; what it raises as
    InputError without a place gets the place of the message. InputError names byte and line of the first fault.
    """
    reader = _Reader(data, name, folds or {})
    return reader.run()


class _Reader:
    def __init__(self, data: bytes, name: str, folds: Mapping[str, Fold]) -> None:
        self.data, self.name, self.folds = data, name, folds

    def error(self, what: str, at: int, got: object = None, todo: str = "") -> InputError:
        return InputError(
            f"this text dump cannot be read: {what}", where=place(self.data, at, self.name), got=got,
            todo=todo or "Copy or dump the file again.",
        )  # fmt: skip

    def run(self) -> Message:
        data, match, folds = self.data, _STATEMENT.match, self.folds
        top = Message(0)
        stack: list[tuple[Message, str, bytes]] = []
        counts: list[int] = []
        count, pos, end = 0, 3 if data.startswith(b"\xef\xbb\xbf") else 0, len(data)
        low, high = INT_RANGE
        while True:
            m = match(data, pos)
            if m is None:
                pos = self._skip(pos)
                if pos >= end:
                    break
                raise self.error("no field here", pos, bytes(data[pos : pos + 24]))
            group, at, pos = m.lastgroup, m.start(), m.end()
            if group == "close":
                if not stack:
                    raise self.error("a bracket closes that was never opened", pos - 1)
                done, (top, field, closer) = top, stack.pop()
                if m["close"] != closer:
                    raise self.error(
                        f"the bracket of {shorten(field, 40)} is closed by another kind", pos - 1, m["close"]
                    )
                count = counts.pop() + 1
                top.fields.setdefault(field, []).append(self._fold(folds[field], done) if field in folds else done)
                continue
            raw = m["name"]
            field = raw.decode("ascii")
            if group == "open":
                if len(stack) >= DEPTH_LIMIT:
                    raise self.error(f"messages are nested deeper than {DEPTH_LIMIT}", at, field)
                stack.append((top, field, b"}" if data[pos - 1] == 123 else b">"))
                counts.append(count)
                top, count = Message(m.start("name")), 0
                continue
            value: Any
            if group == "text":
                value = m["text"]
            elif group == "int":
                digits = m["int"]
                value = int(digits) if len(digits) < 24 else high + 1
                if not low <= value <= high:
                    raise self.error("a number does not fit 64 bits", m.start("int"), digits[:40])
            elif group == "word":
                value = _word(m["word"].decode("ascii"))
            else:
                value, pos = self._value(pos, field)
            values = top.fields.setdefault(field, [])
            if isinstance(value, list):
                values.extend(value)
                count += len(value)
            else:
                if isinstance(value, bytes) and pos < end and data[pos] in b" \n\t\r\"'":
                    value, pos = self._joined(value, pos)
                values.append(value)
                count += 1
            if count > VALUE_LIMIT:
                raise self.error(f"one message holds more than {VALUE_LIMIT} values", pos)
        if stack:
            raise self.error(
                f"the file ends inside {shorten('.'.join(f for _, f, _ in stack), 120)} (opened at byte {top.at})", end,
                todo="The file was cut off: copy or dump it again.",
            )  # fmt: skip
        return top

    def _fold(self, fold: Fold, message: Message) -> Any:
        try:
            return fold(message)
        except InputError as e:
            if e.where:
                raise
            raise InputError(e.what, where=place(self.data, message.at, self.name), got=e.got, todo=e.todo) from None

    def _skip(self, pos: int) -> int:
        m = _SKIP.match(self.data, pos)
        return m.end() if m else pos

    def _value(self, pos: int, field: str) -> tuple[Any, int]:
        """Value written in a less common way: escapes, floats, hexadecimal, lists."""
        m = _SCALAR.match(self.data, pos)
        if m is None:
            rest = self._skip(pos)
            cut = rest >= len(self.data)
            raise self.error(
                "the file ends in the middle of a field" if cut else "a quoted text is not closed"
                if self.data[rest : rest + 1] in (b'"', b"'") else "no value here", rest, f"{field}: " +
                as_text(bytes(self.data[rest : rest + 24])), todo="The file was cut off: copy or dump it again." if cut else "",
            )  # fmt: skip
        if m.lastgroup != "list":
            return self._scalar(m), m.end()
        out: list[Any] = []
        pos = self._skip(m.end())
        while self.data[pos : pos + 1] != b"]":
            m = _SCALAR.match(self.data, pos)
            if m is None or m.lastgroup == "list":
                raise self.error("a list may hold numbers, text and words", pos, field)
            out.append(self._scalar(m))
            if len(out) > VALUE_LIMIT:
                raise self.error(f"one list holds more than {VALUE_LIMIT} values", pos)
            pos = self._skip(m.end())
        return out, pos + 1

    def _scalar(self, m: re.Match[bytes]) -> Any:
        kind = m.lastgroup
        raw = m[kind or 0]
        if kind in ("double", "single"):
            return unescape(raw) if b"\\" in raw else raw
        if kind == "word":
            text = raw.decode("ascii")
            if text.startswith("-"):
                if text[1:].lower() not in _FLOAT_WORDS:
                    raise self.error("no value here", m.start(), text)
                return -_FLOAT_WORDS[text[1:].lower()]
            return _word(text)
        if len(raw) > 400:
            raise self.error("a number is too long", m.start(), raw[:40])
        if kind == "hex":
            value = int(raw, 16)
        elif re.fullmatch(rb"-? ?[0-9]+", raw):
            value = int(raw.replace(b" ", b""))
        else:
            return float(raw.rstrip(b"fF").replace(b" ", b""))
        if not INT_RANGE[0] <= value <= INT_RANGE[1]:
            raise self.error("a number does not fit 64 bits", m.start(), raw[:40])
        return value

    def _joined(self, first: bytes, pos: int) -> tuple[bytes, int]:
        """Adjacent quoted pieces are one text."""
        parts, at = [first], pos
        while True:
            at = self._skip(at)
            if self.data[at : at + 1] not in (b'"', b"'"):
                return (b"".join(parts) if len(parts) > 1 else first), pos
            m = _SCALAR.match(self.data, at)
            if m is None:
                raise self.error("a quoted text is not closed", at)
            parts.append(self._scalar(m))
            at = pos = m.end()


def _word(text: str) -> Any:
    if text == "true":
        return True
    if text == "false":
        return False
    return _FLOAT_WORDS.get(text, Word(text)) if len(text) <= 8 else Word(text)


def unescape(raw: bytes) -> bytes:
    """Bytes of a quoted text with C escapes (``\\n``, ``\\001``, ``\\x1f``, ``\\u4e2d``)."""

    def one(m: re.Match[bytes]) -> bytes:
        octal, hexadecimal, unicode, plain = m.groups()
        if octal is not None:
            return bytes([int(octal, 8) & 0xFF])
        if hexadecimal is not None:
            return bytes([int(hexadecimal, 16)])
        if unicode is not None:
            code = int(unicode[1:], 16)
            return chr(code if code < 0x110000 else 0xFFFD).encode("utf-8", "surrogatepass")
        return _PLAIN.get(plain, plain)

    return _ESCAPE.sub(one, raw)


def text_head(source: Source) -> str:
    """First 4 KiB without byte order mark, leading space and comment lines."""
    lines = source.head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#")).lstrip()
