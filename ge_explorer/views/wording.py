"""Numbers and short texts as the explorer writes them: real minus sign, one decimal for us, two for MiB and ratios."""

from __future__ import annotations

from collections.abc import Iterable

from ge_explorer.ids import Ref
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot

MINUS = "−"
Bilingual = dict[str, str]


def both(text: Text | str) -> Bilingual:
    """JSON form of a text: ``{"en": …, "zh": …}``; a plain string is the same in both languages."""
    if isinstance(text, str):
        return {"en": text, "zh": text}
    return {"en": text.en, "zh": text.get("zh")}


def count(n: int) -> str:
    """Whole number with thousands separators and a real minus sign.

    >>> count(-12345)
    '−12,345'
    """
    return f"{n:,}".replace("-", MINUS)


def signed(n: int) -> str:
    """Whole number with sign; zero is ``±0``."""
    return "±0" if n == 0 else ("+" if n > 0 else MINUS) + f"{abs(n):,}"


def us(ns: float, *, sign: bool = False) -> str:
    """Nanoseconds as microseconds, one decimal, without the unit.

    >>> us(165_600), us(-33_600, sign=True)
    ('165.6', '−33.6')
    """
    return _decimal(ns / 1000, 1, sign)


def mib(nbytes: float, *, sign: bool = False) -> str:
    """Bytes as MiB, two decimals, without the unit (see ``size`` for small amounts)."""
    return _decimal(nbytes / 2**20, 2, sign)


def size(nbytes: int, *, sign: bool = False) -> tuple[str, str]:
    """(number, unit) of an amount of bytes: B, KiB, MiB or GiB.

    >>> size(512), size(1536), size(3 * 2**20), size(-2 * 2**30, sign=True)
    (('512', 'B'), ('1.50', 'KiB'), ('3.00', 'MiB'), ('−2.00', 'GiB'))
    """
    n = abs(nbytes)
    if n < 1024:
        return (signed(nbytes) if sign else count(nbytes)), "B"
    unit, scale = ("KiB", 2**10) if n < 2**20 else ("MiB", 2**20) if n < 2**30 else ("GiB", 2**30)
    return _decimal(nbytes / scale, 2, sign), unit


def axis_unit(top: float) -> tuple[str, float]:
    """(unit, bytes of one) of an axis up to ``top`` bytes: B, KiB or MiB, so that its figures are never tiny fractions.

    >>> axis_unit(512), axis_unit(4096), axis_unit(3 * 2**30)
    (('B', 1.0), ('KiB', 1024.0), ('MiB', 1048576.0))
    """
    return ("B", 1.0) if top < 1024 else ("KiB", 1024.0) if top < 2**20 else ("MiB", float(2**20))


def ratio(x: float, *, sign: bool = False) -> str:
    """Two decimals."""
    return _decimal(x, 2, sign)


def percent(x: float, *, sign: bool = False) -> str:
    """Fraction as per cent, one decimal, with a space before the sign."""
    return f"{_decimal(x * 100, 1, sign)} %"


def _decimal(x: float, digits: int, sign: bool) -> str:
    text = f"{abs(x):,.{digits}f}"
    if not any(c in text for c in "123456789"):
        return f"±{text}" if sign else text
    return (MINUS if x < 0 else "+" if sign else "") + text


def source_file(source: str) -> str:
    """Last part of a GE path, for display; the whole path belongs into the tooltip.

    >>> source_file("compiler/graph/build/stream/stream_utils.cc AssignStreams")
    'stream_utils.cc'
    """
    first = source.split("(")[0].split("::")[0].split(" ")[0].rstrip(":,")
    return first.rsplit("/", 1)[-1] or source


def name_of(s: Snapshot, ref: Ref) -> str:
    """Name of a thing as it is written in lists (untrusted text: escape it where it becomes markup)."""
    if ref.kind == "node":
        return s.graph.unique_names.get(ref.id) or f"#{ref.id}"
    if ref.kind == "event":
        found = next((e for e in (s.sync.events if s.sync else ()) if e.uid == ref.id), None)
        return f"event {found.id if found else ref.id}"
    if ref.kind == "buffer" and s.memory and 0 <= ref.id < len(s.memory.problem.buffers):
        return s.memory.problem.buffers[ref.id].name or "(empty)"
    if ref.kind == "tensor" and 0 <= ref.id < len(s.graph.tensors):
        tensor = s.graph.tensors[ref.id]
        return tensor.name if tensor and tensor.name else f"tensor {ref.id}"
    return f"{ref.kind} {ref.id}"


def listed(names: Iterable[str], limit: int = 3) -> str:
    """First names, and how many more.

    >>> listed(["a", "b", "c", "d", "e"])
    'a, b, c +2'
    """
    found = list(names)
    rest = len(found) - limit
    return ", ".join(found[:limit]) + (f" +{rest}" if rest > 0 else "")
