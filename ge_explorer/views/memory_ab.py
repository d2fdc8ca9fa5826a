"""A/B of two memory plans: what moved, what is new or gone, and who holds the bytes at either peak.

Buffers are matched by name (the tensor's producer and output), so plans of different stream assignments compare too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ge_explorer.ids import Ref
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import NO_MARK, Mark, number, size
from ge_explorer.views.memory_curve import curve_top
from ge_explorer.views.memory_life import Lives
from ge_explorer.views.memory_peak import taken_at
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, thing, words

Change = Literal["new", "gone", "resized", "moved", "same"]
LISTED = 20
NAMES: dict[str, Text] = {
    "new": Text("only in B", "仅在 B"),
    "gone": Text("only in A", "仅在 A"),
    "resized": Text("other size", "大小不同"),
    "moved": Text("moved", "已移动"),
    "same": Text("same place", "位置相同"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One buffer in both plans: bytes and offset in A and in B (None: not there)."""

    name: str
    change: Change
    mark: Mark
    size_a: int | None
    size_b: int | None
    offset_a: int | None
    offset_b: int | None
    ref: Ref | None


@dataclass(frozen=True, slots=True)
class PeakPart:
    """Buffers held at one peak or at both: ``new`` only at B's, ``freed`` only at A's, ``common`` at both. Bytes as B counts
    them for new and common, as A does for freed.
    """

    kind: Literal["new", "freed", "common"]
    count: int
    nbytes: int
    largest: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """A and B by ``title``; ``peak`` is the planned range, ``live`` the most bytes held at one point."""

    title_a: Text
    title_b: Text
    peak_a: int
    peak_b: int
    live_a: int
    live_b: int
    pairs: tuple[Pair, ...]
    at_peak: tuple[PeakPart, ...]
    alt: Text

    def count(self, change: Change) -> int:
        """Number of pairs of a kind."""
        return sum(p.change == change for p in self.pairs)


def compare(a: Lives, b: Lives, title_a: Text, title_b: Text) -> PlanDiff:
    """Difference from A to B."""
    ia = {n: i for i, n in enumerate(_unique(a))}
    ib = {n: i for i, n in enumerate(_unique(b))}
    pairs = tuple(_pair(n, a, ia.get(n), b, ib.get(n)) for n in dict.fromkeys([*ia, *ib]))
    by_name = {p.name: p for p in pairs}
    (at_a, live_a), (at_b, live_b) = curve_top(a), curve_top(b)
    names_a, names_b = _unique(a), _unique(b)
    held_a = {names_a[i] for i in taken_at(a, at_a)}
    held_b = {names_b[i] for i in taken_at(b, at_b)}

    def part(kind: Literal["new", "freed", "common"], names: set[str]) -> PeakPart:
        found = [by_name[n] for n in names]
        weight = [(p.size_a if kind == "freed" else p.size_b) or 0 for p in found]
        ranked = sorted(zip(weight, found, strict=True), key=lambda x: (-x[0], x[1].name))
        return PeakPart(kind, len(found), sum(weight), tuple(p for _, p in ranked[:LISTED]))

    at_peak = (part("new", held_b - held_a), part("freed", held_a - held_b), part("common", held_a & held_b))
    out = PlanDiff(title_a, title_b, a.plan.peak, b.plan.peak, live_a, live_b, pairs, at_peak, Text(""))
    moved, more = number(out.count("moved")), size(b.plan.peak - a.plan.peak, signed=True)
    new, gone, common = (size(p.nbytes) for p in at_peak)
    alt = Text(
        f"B ({title_b.en}) needs {more} against A ({title_a.en}); {moved} buffers lie elsewhere; at the peak {new} are new, "
        f"{gone} gone, {common} common.",
        f"B（{title_b.get('zh')}）相对 A（{title_a.get('zh')}）为 {more}；{moved} 个缓冲区位置不同；峰值处新增 {new}，"
        f"减少 {gone}，共有 {common}。",
    )
    return replace(out, alt=alt)


def _unique(v: Lives) -> list[str]:
    """Names made unique with a count, so that nothing is lost in matching."""
    seen: dict[str, int] = {}
    out = []
    for n in v.names:
        k = seen[n] = seen.get(n, -1) + 1
        out.append(f"{n} #{k + 1}" if k else n)
    return out


def _pair(name: str, a: Lives, i: int | None, b: Lives, j: int | None) -> Pair:
    size_a = int(a.size[i]) if i is not None else None
    size_b = int(b.size[j]) if j is not None else None
    at_a = int(a.offset[i]) if i is not None else None
    at_b = int(b.offset[j]) if j is not None else None
    change: Change = (
        "new" if i is None else "gone" if j is None else "resized" if size_a != size_b
        else "moved" if at_a != at_b else "same"
    )  # fmt: skip
    mark = b.mark(j) if j is not None else a.mark(i) if i is not None else NO_MARK
    ref = buffer_ref(b.buffer(j).id) if j is not None else None
    return Pair(name, change, mark, size_a, size_b, at_a, at_b, ref)


def table(d: PlanDiff, origins: tuple[Origin, Origin] = (Origin.MODEL, Origin.MODEL)) -> TablePicture:
    """Figures, who is new, freed and common at the peaks, then what moved. ``origins``: of A's and B's sizes."""
    kinds = {"new": Text("new at the peak", "峰值处新增"), "freed": Text("gone from the peak", "峰值处减少"),
             "common": Text("at both peaks", "两个峰值共有")}  # fmt: skip
    figures = (
        Figure(Text(size(d.peak_a)), _side("A", d.title_a), origins[0]),
        Figure(Text(size(d.peak_b)), _side("B", d.title_b), origins[1], "→"),
        Figure(Text(size(d.peak_b - d.peak_a, signed=True)), Text("B against A", "B 相对 A"), Origin.MODEL, "="),
        *(Figure(Text(size(p.nbytes)), kinds[p.kind], Origin.MODEL) for p in d.at_peak),
    )
    tables = [_peak_table(kinds[p.kind], p) for p in d.at_peak[:2] if p.count]
    tables.append(_moves(d))
    return TablePicture("memory-ab", figures, tuple(tables), d.alt)


def _side(letter: str, title: Text) -> Text:
    return Text(f"{letter}: {title.en}", f"{letter}：{title.get('zh')}")


def _named(p: Pair) -> tuple[Part, ...]:
    if p.ref is not None:
        return (thing(p.name, p.ref, p.mark),)
    return (Part(Text(p.name), mark=p.mark if p.mark.index >= 0 else None),)


def _peak_table(title: Text, part: PeakPart) -> Table:
    def weight(p: Pair) -> int:
        return (p.size_a if part.kind == "freed" else p.size_b) or 0

    rows = tuple(Row((_named(p), (words(size(weight(p))),)), p.ref, _refs(p)) for p in part.largest[:8])
    return Table(title, (Column(title), Column(Text("size", "大小"), "right", True)), rows, part.count - len(rows))


def _refs(p: Pair) -> tuple[Ref, ...]:
    return (p.ref,) if p.ref is not None else ()


def _moves(d: PlanDiff) -> Table:
    order = {"new": 0, "gone": 1, "resized": 2, "moved": 3}
    changed: Sequence[Pair] = sorted(
        (p for p in d.pairs if p.change != "same"),
        key=lambda p: (order[p.change], -max(p.size_a or 0, p.size_b or 0), p.name),
    )

    def at(offset: int | None) -> tuple[Part, ...]:
        return (words("–" if offset is None else number(offset)),)

    rows = []
    for p in changed[:LISTED]:
        nbytes = p.size_b if p.size_b is not None else p.size_a or 0
        cells = (_named(p), (Part(NAMES[p.change]),), (words(size(nbytes)),), at(p.offset_a), at(p.offset_b))
        rows.append(Row(cells, p.ref, _refs(p)))
    columns = (
        Column(Text("buffer", "缓冲区")), Column(Text("change", "变化"), "left", True), Column(Text("size", "大小"), "right", True),
        Column(Text("offset in A", "A 中偏移"), "right", True), Column(Text("offset in B", "B 中偏移"), "right", True),
    )  # fmt: skip
    same = Text("Every buffer lies in the same place in both plans.", "两个规划中所有缓冲区位置相同。")
    return Table(Text("changes", "变化"), columns, tuple(rows), len(changed) - len(rows), same)
