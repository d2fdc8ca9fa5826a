"""All memory views of one state: models are built when a view asks, and kept while the state is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ge_explorer.memory.ge.decisions import Decision
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState, Snapshot
from ge_explorer.views import (
    memory_ab,
    memory_curve,
    memory_heatmap,
    memory_hints,
    memory_map,
    memory_planners,
    memory_reuse,
    memory_reuse_table,
    memory_steps,
    memory_steps_table,
    svg_memory_ab,
)
from ge_explorer.views.memory_filter import MemoryFilter
from ge_explorer.views.memory_life import Lives, lives
from ge_explorer.views.memory_peak import PeakExplained, explain
from ge_explorer.views.memory_plans import PlanBook
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.table import TablePicture

VIEWS: Mapping[str, Text] = {
    "map": Text("Map", "内存图"),
    "lifetimes": Text("Lifetimes", "生命期"),
    "curve": Text("Live bytes", "存活字节"),
    "reuse": Text("Reuse", "复用"),
    "ab": Text("A/B", "A/B"),
    "planners": Text("Planners", "规划器"),
    "steps": Text("GE steps", "GE 步骤"),
    "hints": Text("Hints, health", "提示与健康"),
}
CHARTS = ("map", "lifetimes", "curve")
NO_ORDER = Text(
    "This state has no streams and order, so nothing can be planned or proved here.",
    "此状态没有流与次序，无法规划或证明。",
)


@dataclass(frozen=True, slots=True)
class MemoryChoice:
    """What the user chose inside the memory views.

    ``awaited``: stream id whose waiting is shown (None: each buffer's own); ``pinned``: first buffer of a pair; ``a``/``b``: plan
    keys; ``ge``: whose steps, at ``ge_step``; ``at``: position explained (None: the peak); ``everything``: run slow planners too.
    """

    filter: MemoryFilter = field(default_factory=MemoryFilter)
    awaited: int | None = None
    pinned: int | None = None
    a: str = "ge"
    b: str = "current"
    ge: str = "ge"
    ge_step: int = 0
    at: int | None = None
    everything: bool = False

    def but(self, **changes: object) -> MemoryChoice:
        """Copy with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]  # names and values come from the panel's own table


@dataclass(eq=False)
class MemoryPage:
    """Views of ``s.memory`` on a timeline. ``book`` is None where the state cannot be planned again (no order, no streams)."""

    s: Snapshot
    identities: Mapping[int, StreamIdentity]
    timeline: Timeline | None = None
    book: PlanBook | None = None
    final: Snapshot | None = None
    single_peak: int | None = None
    built: list[str] = field(default_factory=list)
    _kept: dict[str, tuple[object, object]] = field(default_factory=dict)
    _pair: tuple[tuple[str, str], tuple[Lives, Lives], tuple[Text, Text]] | None = None

    @property
    def memory(self) -> MemoryState:
        """The plan shown."""
        assert self.s.memory is not None
        return self.s.memory

    @cached_property
    def lives(self) -> Lives:
        """Lifetimes, computed once."""
        self.built.append("lives")
        found = lives(self.s, self.identities, self.timeline)
        assert found is not None
        return found

    # ---------------------------------------------------------------- charts
    def map(self, c: MemoryChoice) -> memory_map.MemoryPicture:
        """Map with the filters; the same one while they stay."""
        key = ("map", c.filter, self.single_peak)
        held = self._kept.get("map")
        if held is not None and held[0] == key and isinstance(held[1], memory_map.MemoryPicture):
            return held[1]
        self.built.append("map")
        limit = c.filter.top or memory_map.DRAWN
        keep = c.filter.but(top=0).apply(self.lives) if c.filter.narrows else None
        made = memory_map.picture(self.lives, self.memory, single_peak=self.single_peak, limit=limit, keep=keep)
        self._kept["map"] = (key, made)
        return made

    @property
    def map_figures(self) -> tuple[int, int | None]:
        """(peak, peak on one stream)."""
        return self.memory.plan.peak, self.single_peak

    def heatmap(self, c: MemoryChoice, unfolded: tuple[int, ...] = ()) -> memory_heatmap.Heatmap:
        """Lifetimes with the filters; a raster shows no unfolded line, so a selection does not build it again."""
        held = self._kept.get("lifetimes")
        if held is not None and isinstance(held[1], memory_heatmap.Heatmap):
            same = unfolded if held[1].raster is None else ()
            if held[0] == (c.filter, c.awaited, same):
                return held[1]
        self.built.append("lifetimes")
        made = memory_heatmap.build(self.lives, c.filter, awaited=c.awaited, unfolded=unfolded)
        self._kept["lifetimes"] = ((c.filter, c.awaited, unfolded if made.raster is None else ()), made)
        return made

    @cached_property
    def curve(self) -> memory_curve.Curve:
        """Live bytes, bounds and fragmentation."""
        self.built.append("curve")
        return memory_curve.build(self.lives, self.memory)

    def explained(self, c: MemoryChoice) -> PeakExplained:
        """Who holds the bytes at the chosen position, or at the peak."""
        return explain(self.lives, memory_curve.curve_top(self.lives)[0] if c.at is None else c.at)

    # ---------------------------------------------------------------- tables
    def table(self, view: str, c: MemoryChoice, picked: tuple[int, ...] = ()) -> TablePicture:
        """Model of a view made of tables; ``picked``: selected buffers, the last one counts."""
        self.built.append(view)
        if self.book is None:
            return TablePicture(f"memory-{view}", (), (), NO_ORDER, (NO_ORDER,))
        if view == "planners":
            return memory_planners.table(memory_planners.compare(self.book, everything=c.everything))
        if view in ("ab", "steps") and self.waits(c, *((c.a, c.b) if view == "ab" else (c.ge,))):
            note = memory_planners.SLOW_NOTE
            return TablePicture(f"memory-{view}", (), (), note, (note,))
        if view == "hints":
            return self._hints(self.book, c)
        if view == "ab":
            return self._ab(self.book, c)
        if view == "steps":
            return self._steps(self.book, c)
        return self._reuse(self.book, c, picked)

    def waits(self, c: MemoryChoice, *plans: str) -> bool:
        """True where one of these plans is slow to make on this graph and nobody has asked for it."""
        quick = ("current", "hb", "none")
        return (
            self.book is not None
            and self.book.large
            and not c.everything
            and any(k not in quick and not self.book.has(k) for k in plans)
        )

    def _hints(self, book: PlanBook, c: MemoryChoice) -> TablePicture:
        if book.large and not c.everything:
            note = memory_planners.SLOW_NOTE
            return TablePicture("memory-hints", (), (), note, (note,))
        held = self._kept.get("hints")
        if held is not None and isinstance(held[1], TablePicture):
            return held[1]
        made = memory_hints.build(book, self.curve)
        self._kept["hints"] = ((), made)
        return made

    def _ab(self, book: PlanBook, c: MemoryChoice) -> TablePicture:
        held = self._kept.get("ab")
        if held is not None and held[0] == (c.a, c.b) and isinstance(held[1], TablePicture):
            return held[1]
        cases = [book.get(c.a), book.get(c.b)]
        for x in cases:
            if x.memory is None:
                return TablePicture("memory-ab", (), (), Text(x.failure), (Text(f"{x.title.en}: {x.failure}"),))
        views = [lives(self.s, self.identities, self.timeline, x.memory) for x in cases]
        a, b = views
        assert a is not None
        assert b is not None
        self._pair = ((c.a, c.b), (a, b), (cases[0].title, cases[1].title))
        marks = (cases[0].origin, cases[1].origin)
        made = memory_ab.table(memory_ab.compare(a, b, cases[0].title, cases[1].title), marks)
        self._kept["ab"] = ((c.a, c.b), made)
        return made

    def ab_curves(self, c: MemoryChoice, lang: str, px: int) -> str:
        """Taken bytes of both plans of the A/B view on one axis as SVG; "" where one of them does not exist. After ``table``."""
        if self._pair is None or self._pair[0] != (c.a, c.b):
            return ""
        return svg_memory_ab.svg(*self._pair[1], self._pair[2], lang, px)

    def _steps(self, book: PlanBook, c: MemoryChoice) -> TablePicture:
        case = book.get(c.ge)
        if case.ge is None:
            return TablePicture("memory-steps", (), (), Text(case.failure), (Text(case.failure),))
        step = memory_steps.build(book.planned, case.ge, c.ge_step, self.buffer_ids)
        return memory_steps_table.picture(step, dict(self.lives.marks))

    @cached_property
    def buffer_ids(self) -> dict[tuple[int, str, int], int]:
        """(node, output|workspace, index) -> buffer id of the planned state."""
        assert self.book is not None
        return memory_steps.buffers_of(self.book.memory.problem, self.book.planned)

    def _reuse(self, book: PlanBook, c: MemoryChoice, picked: tuple[int, ...]) -> TablePicture:
        m, n = self.memory, self.lives.count
        chosen = [i for i in picked if 0 <= i < n]
        if c.pinned is not None and chosen and chosen[-1] != c.pinned and c.pinned < n:
            found = memory_reuse.pair(m.problem, m.plan, book.hb, c.pinned, chosen[-1], self.final)
            return memory_reuse_table.pair_picture(self.lives, found)
        one = chosen[-1] if chosen else c.pinned
        if one is None or one >= n:
            return TablePicture("memory-reuse", (), (), memory_reuse_table.HELP, (memory_reuse_table.HELP,))
        report = memory_reuse.report(m.problem, m.plan, one)
        return memory_reuse_table.buffer_picture(self.lives, report, self._ge_story(book, one))

    def _ge_story(self, book: PlanBook, i: int) -> tuple[tuple[int, Decision], ...] | None:
        """GE's decisions about a buffer; on large graphs only when GE's planner has run already."""
        if book.large and not book.has("ge"):
            return None
        ge = book.get("ge").ge
        if ge is None:
            return None
        return tuple((k, ge.decisions[k]) for k in memory_steps.find(ge, self.buffer_ids, i))

    def steps_of(self, c: MemoryChoice) -> int:
        """Number of GE's steps (0: GE planned nothing)."""
        ge = self.book.get(c.ge).ge if self.book is not None else None
        return len(ge.decisions) if ge is not None else 0

    @property
    def origin(self) -> Origin:
        """Origin of the plan's offsets."""
        return Origin.GE_RULE if self.memory.plan.planner == "ge" else memory_map.origin_of(self.memory.plan.origin)
