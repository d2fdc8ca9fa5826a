"""What every picture model shares: stream marks, formatted numbers with their origin, and the JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from ge_explorer.ids import Ref
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views import wording
from ge_explorer.views.palette import StreamIdentity, letters
from ge_explorer.views.wording import MINUS


@dataclass(frozen=True, slots=True)
class Mark:
    """How a stream is shown: GE number ``stream`` (-1 none), palette place ``index`` (-1 none), ``letter`` ("" none)."""

    stream: int
    index: int
    letter: str
    role: Text
    engine: str = ""
    label: str = ""


NO_MARK = Mark(-1, -1, "", Text("no stream", "无流"))


def stream_marks(s: Snapshot, identities: Mapping[int, StreamIdentity], extra: Iterable[int] = ()) -> dict[int, Mark]:
    """Mark of each GE stream number used by ``s`` (and of ``extra`` ones, such as a timeline's), ascending.

    Streams without an identity get the letters after the known ones, so that nothing is shown without a mark.
    """
    used: set[int] = {int(x) for x in extra if x >= 0}
    if s.streams is not None:
        used |= {int(x) for x in s.streams.node.tolist() if x >= 0}
        used |= {x for ids in s.streams.attached.values() for x in ids if x >= 0}
    spare = max((i.index for i in identities.values()), default=-1) + 1
    out: dict[int, Mark] = {}
    for n in sorted(used):
        known = identities.get(n)
        if known is not None:
            out[n] = Mark(n, known.index, known.letter, known.role, known.engine, known.label)
        else:
            out[n] = Mark(n, spare, letters(spare), Text("side", "旁路"))
            spare += 1
    return out


def by_letter(marks: Iterable[Mark]) -> list[Mark]:
    """Marks in reading order: A first, not by GE number."""
    return sorted(marks, key=lambda m: (m.index < 0, m.index, m.stream))


# ---------------------------------------------------------------- numbers
def number(value: float, digits: int = 0, signed: bool = False) -> str:
    """Number with thousands separators and a real minus sign.

    >>> number(-1234.5, 1), number(3, signed=True)
    ('−1,234.5', '+3')
    """
    text = f"{abs(value):,.{digits}f}"
    zero = not any(c in "123456789" for c in text)
    if zero:
        return ("±" if signed else "") + text
    return (MINUS if value < 0 else "+" if signed else "") + text


def us(ns: float, signed: bool = False) -> str:
    """Nanoseconds as microseconds with one decimal, unit included."""
    return f"{wording.us(ns, sign=signed)} us"


def size(nbytes: int, signed: bool = False) -> str:
    """Bytes with the fitting unit."""
    return " ".join(wording.size(nbytes, sign=signed))


def whole_percent(parts: list[int]) -> list[int]:
    """Percentages of ``parts`` as whole numbers that add up to exactly 100 (largest remainder); all 0 when the sum is 0.

    >>> whole_percent([1, 1, 1])
    [34, 33, 33]
    """
    total = sum(parts)
    if total <= 0:
        return [0] * len(parts)
    low = [100 * p // total for p in parts]
    order = sorted(range(len(parts)), key=lambda i: (-(100 * parts[i] % total), i))
    for i in order[: 100 - sum(low)]:
        low[i] += 1
    return low


# ---------------------------------------------------------------- text from files
def plain(text: str, limit: int = 120) -> str:
    """Name from a file on one printable line: control and bidirectional characters become ``·``; empty is said."""
    if not text:
        return "(empty)"
    clean = "".join("·" if not c.isprintable() or c in "\u202a\u202b\u202d\u202e\u2066\u2067" else c for c in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def node_name(s: Snapshot, i: int, limit: int = 120) -> str:
    """Printable unique name of a node; ``#id`` when it does not exist in this snapshot."""
    return plain(s.graph.unique_names.get(i, f"#{i}"), limit)


def as_json(value: Any) -> Any:
    """Plain JSON form of a picture model: dataclasses to objects, Text to ``{en, zh}``, Ref to ``kind:id``, enums to values."""
    if isinstance(value, Text):
        return {"en": value.en, "zh": value.get("zh")}
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [as_json(v) for v in value]
    return value.item() if hasattr(value, "item") else value
