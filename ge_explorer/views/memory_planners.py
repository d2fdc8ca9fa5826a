"""Planners side by side: GE's candidates with their totals, ours, no reuse, the bound, and what the streams cost in memory."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.memory.bounds import serial_live
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import number, size
from ge_explorer.views.memory_plans import PlanBook, PlanCase
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, words

SHOWN = ("ge", "ge-priority", "hb", "search", "none")
SLOW_NOTE = Text(
    "This graph is large: GE's planner, the search and the single-stream plans run only when asked (button above).",
    "图较大：GE 规划器、搜索与单流规划仅在点击上方按钮后运行。",
)
SLOW = ("ge", "ge-priority", "search")


@dataclass(frozen=True, slots=True)
class PlannerRow:
    """One plan. ``nbytes`` None: no plan, ``note`` says why. ``gap`` over the bound and ``reuse`` against no reuse, as parts of 1.

    ``candidate``: one of GE's own tries; ``chosen``: the one GE takes.
    """

    name: Text
    nbytes: int | None
    gap: float | None
    reuse: float | None
    origin: Origin
    candidate: bool = False
    chosen: bool = False
    note: Text = Text("")


@dataclass(frozen=True, slots=True)
class PriceRow:
    """The same planner on these streams and in one queue; ``extra`` bytes is the price."""

    name: Text
    one: int | None
    many: int | None
    origin: Origin

    @property
    def extra(self) -> int | None:
        """Bytes more on these streams."""
        return None if self.one is None or self.many is None else self.many - self.one


@dataclass(frozen=True, slots=True)
class Comparison:
    """``rows`` in reading order; ``price`` is empty on one stream."""

    bound: int
    bound_name: str
    no_reuse: int
    streams: int
    rows: tuple[PlannerRow, ...]
    price: tuple[PriceRow, ...]
    waiting: tuple[str, ...]
    alt: Text


def compare(book: PlanBook, *, everything: bool = False) -> Comparison:
    """Comparison for a planned state. On large graphs the slow planners run only with ``everything`` (else ``waiting``)."""
    m = book.memory
    wanted = [k for k in SHOWN if everything or not book.large or k not in SLOW or book.has(k)]
    no_reuse = sum(b.size for b in m.problem.buffers)
    rows: list[PlannerRow] = []

    def add(name: Text, nbytes: int | None, origin: Origin, **more: object) -> None:
        gap = nbytes / m.lower_bound - 1 if nbytes is not None and m.lower_bound else None
        reuse = 1 - nbytes / no_reuse if nbytes is not None and no_reuse else None
        rows.append(PlannerRow(name, nbytes, gap, reuse, origin, **more))  # type: ignore[arg-type]  # fields of the row

    for key in wanted:
        case = book.get(key)
        add(case.title, case.peak, case.origin, note=Text(case.failure))
        if case.ge is not None and len(case.ge.candidates) > 1:
            for k, c in enumerate(case.ge.candidates):
                add(Text(c.name), c.size, case.origin, candidate=True, chosen=k == case.ge.chosen)
    add(_BOUND.format(name=m.bound_name), m.lower_bound or None, Origin.MODEL)
    price = _price(book) if book.streams > 1 and (everything or not book.large) else ()
    waiting = tuple(k for k in SHOWN if k not in wanted)
    return Comparison(
        m.lower_bound, m.bound_name, no_reuse, book.streams, tuple(rows), price, waiting, _alt(book, rows, price)
    )


def _price(book: PlanBook) -> tuple[PriceRow, ...]:
    one = serial_live(book.one_stream()).bytes
    cases: list[tuple[PlanCase, PlanCase]] = [
        (book.get("one-hb"), book.get("hb")),
        (book.get("one-ge"), book.get("ge")),
    ]
    return (
        PriceRow(Text("bound of every safe plan", "任何安全规划的下界"), one, book.memory.lower_bound, Origin.MODEL),
        *(PriceRow(many.title, a.peak, many.peak, many.origin) for a, many in cases),
    )


def _alt(book: PlanBook, rows: list[PlannerRow], price: tuple[PriceRow, ...]) -> Text:
    best = min(
        (r for r in rows[:-1] if r.nbytes is not None and not r.candidate), key=lambda r: r.nbytes or 0, default=None
    )
    en = zh = ""
    if best is not None and best.nbytes is not None:
        gap = "" if not best.gap else f", {best.gap:.2%} above the bound"
        en = f"Smallest plan: {best.name.en}, {size(best.nbytes)}{gap or ', proven optimal'}"
        more = f"，比下界高 {best.gap:.2%}" if best.gap else "，已证明最优"
        zh = f"最小的规划：{best.name.get('zh')}，{size(best.nbytes)}{more}"
    if price and price[0].extra is not None:
        ge = price[-1].extra
        en += f"; {book.streams} streams cost every safe plan at least {size(price[0].extra, signed=True)}"
        zh += f"；{book.streams} 条流使任何安全规划至少多用 {size(price[0].extra, signed=True)}"
        if ge is not None:
            en += f", GE's planner {size(ge, signed=True)}"
            zh += f"，GE 的规划器 {size(ge, signed=True)}"
    return Text(en + ".", zh + "。")


def table(c: Comparison) -> TablePicture:
    """The comparison as figures and tables."""
    figures = [
        Figure(Text(size(c.bound)), _BOUND.format(name=c.bound_name), Origin.MODEL),
        Figure(Text(size(c.no_reuse)), Text("without any reuse", "完全不复用"), Origin.MODEL),
    ]
    tables = [_planners(c)]
    if c.price:
        first, last = c.price[0], c.price[-1]
        label = Text("price of {n} streams, every safe plan", "{n} 条流的代价（任何安全规划）").format(n=c.streams)
        figures.insert(0, Figure(Text(_extra(first)), label, Origin.MODEL))
        figures.insert(
            1, Figure(Text(_extra(last)), Text("price in GE's planner", "在 GE 规划器中的代价"), last.origin)
        )
        tables.insert(0, _prices(c))
    notes = (
        ()
        if c.price or c.streams > 1
        else (Text("One stream: there is no price of the streams.", "单流：没有多流代价。"),)
    )
    if c.waiting:
        notes = (SLOW_NOTE,)
    return TablePicture("memory-planners", tuple(figures), tuple(tables), c.alt, notes)


_BOUND = Text("lower bound ({name})", "下界（{name}）")


def _extra(r: PriceRow) -> str:
    return "–" if r.extra is None else size(r.extra, signed=True)


def _percent(x: float | None, digits: int = 1, signed: bool = False) -> str:
    return "–" if x is None else f"{number(100 * x, digits, signed=signed)} %"


def _prices(c: Comparison) -> Table:
    rows = tuple(
        Row((
            (Part(r.name),), (_bytes(r.one, r.origin),), (_bytes(r.many, r.origin),), (words(_extra(r), tone="strong"),),
            (words(_percent(r.extra / r.one if r.extra is not None and r.one else None, 2, True)),),
        ))
        for r in c.price
    )  # fmt: skip
    columns = (
        Column(Text("price of the streams", "多流的代价")), Column(Text("one stream", "单流"), "right", True),
        Column(Text(f"{c.streams} streams", f"{c.streams} 条流"), "right", True),
        Column(Text("more", "增加"), "right", True), Column(Text("%"), "right", True),
    )  # fmt: skip
    return Table(Text("price of the streams", "多流的代价"), columns, rows)


def _bytes(n: int | None, origin: Origin) -> Part:
    return words("–") if n is None else Part(Text(size(n)), origin=origin)


def _planners(c: Comparison) -> Table:
    rows = []
    for r in c.rows:
        name = [Part(r.name, tone="muted" if r.candidate and not r.chosen else "", code=r.candidate)]
        if r.candidate:
            name.insert(0, words("↳", tone="muted"))
        if r.chosen:
            name.append(words("chosen", "选中", tone="strong"))
        if r.note.en:
            name.append(Part(r.note, tone="error", new_line=True))
        rows.append(
            Row((
                tuple(name), (_bytes(r.nbytes, r.origin),), (words(_percent(r.gap, 2, True)),), (words(_percent(r.reuse)),)
            ))
        )  # fmt: skip
    columns = (
        Column(Text("planner", "规划器")), Column(Text("bytes", "字节"), "right", True),
        Column(Text("above the bound", "高于下界"), "right", True), Column(Text("saved by reuse", "复用节省"), "right", True),
    )  # fmt: skip
    return Table(Text("planners", "规划器"), columns, tuple(rows))
