"""Two compiled or recorded states side by side: what is compared, who is who, and everything that differs.

Node references of a comparison are *common* ids: those of B for nodes that B has, and ids from ``bound`` on for nodes that only A
has. So one selection serves both sides, the table, the timelines and the export.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ge_explorer.ids import Ref
from ge_explorer.plan.compare import StrengthResult
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.agreement import Agreement
from ge_explorer.trace.compare_files import FilesDiff
from ge_explorer.trace.compare_states import diff_states
from ge_explorer.trace.display import DISPLAYS
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.palette import Identities, StreamIdentity, identify
from ge_explorer.views.session_like import SessionLike

Versions = tuple[tuple[str, str], ...]
_AS_IS = Text("as it is", "原图")
_SINGLE = Text("single stream", "单流")
_DEFAULT = Text("GE's defaults", "GE 默认")


@dataclass(frozen=True, eq=False)
class CompareSide:
    """One of two states. ``identities`` are those of the state alone (``by_step[0]``); ``origin`` says where streams come from.

    ``overlap`` is the recipe's value with its verdict, where a plan gives one. ``versions`` are those the source states.
    """

    title: Text
    state: Snapshot
    timeline: Timeline | None = None
    identities: Identities | None = None
    origin: Origin = Origin.GE_RULE
    overlap: tuple[float, str] | None = None
    versions: Versions = ()
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    chip: str = ""


def side_of(
    session: SessionLike, title: Text, options: Mapping[str, str] | None = None, result: StrengthResult | None = None
) -> CompareSide:
    """The final state of a session under its present settings; ``result`` adds the overlap.

    A failed trace stands with its last good state.
    """
    trace, known = session.trace, session.identities
    pct = None if result is None else result.overlap_pct
    return CompareSide(
        title, trace.final, session.timeline if trace.failed is None else None,
        Identities(known.items, (known.by_step[-1],), known.members), Origin.GE_RULE,
        None if pct is None or result is None else (pct, result.verdict), (), dict(options or {}), session.chip,
    )  # fmt: skip


def settings_title(strength: str, options: Mapping[str, str], disabled: frozenset[str], chip: str) -> Text:
    """Short name of settings: strength, mode or options, passes off.

    >>> settings_title("C1", {}, frozenset(), "Ascend910B1").en
    'C1'
    """
    first = {"": _AS_IS, "single": _SINGLE}.get(strength, Text(strength))
    if not strength and not options and not disabled:
        first = _DEFAULT
    more = [f"{k.rsplit('.', 1)[-1]}={v}" for k, v in sorted(options.items())][:3]
    off = [f"{MINUS_SIGN}{k}" for k in sorted(disabled)][:3]
    tail = "".join(f", {x}" for x in (*more, *off))
    return Text(first.en + tail, first.get("zh") + tail.replace(", ", "，"))


MINUS_SIGN = "−"


class Comparison:
    """A and B. Everything is worked out once, when it is first asked for. Shows itself in a notebook cell."""

    def __init__(self, a: CompareSide, b: CompareSide, agreement: Callable[[], Agreement | None] | None = None) -> None:
        self._given = (a, b)
        self._agree = agreement

    @cached_property
    def diff(self) -> FilesDiff:
        """Exact difference from A to B."""
        a, b = self._given
        return diff_states(
            a.state, b.state, (a.title.en, b.title.en), (a.versions, b.versions),
            (a.options, b.options) if a.options or b.options else None,
        )  # fmt: skip

    @cached_property
    def bound(self) -> int:
        """First common id of nodes that only A has."""
        return self._given[1].state.graph.id_bound

    @cached_property
    def to_common(self) -> dict[int, int]:
        """Node id of A -> common id. A node that B fused away keeps an id of its own."""
        out = {i: self.bound + i for i in self._given[0].state.graph.node_ids}
        out.update(self.diff.match.pairs)
        return out

    @cached_property
    def a(self) -> CompareSide:
        """Side A with letters that agree with B's."""
        return self._sides[0]

    @cached_property
    def b(self) -> CompareSide:
        """Side B."""
        return self._sides[1]

    @cached_property
    def _sides(self) -> tuple[CompareSide, CompareSide]:
        a, b = self._given
        if a.identities is None:
            known = None if b.identities is None else self._as_seen_by_a(b.identities)
            a = replace(a, identities=identify(Trace(a.state, ()), known, _busy(a.timeline)))
        assert a.identities is not None
        if b.identities is None or not _one_family(a.identities, b.identities):
            b = replace(b, identities=identify(Trace(b.state, ()), self._as_seen_by_b(a.identities), _busy(b.timeline)))
        assert b.identities is not None
        longest = max(a.identities.items, b.identities.items, key=len)
        return replace(a, identities=replace(a.identities, items=longest)), replace(
            b, identities=replace(b.identities, items=longest)
        )

    def _as_seen_by_b(self, ids: Identities) -> Identities:
        return replace(
            ids, members=tuple(frozenset(self.to_common[i] for i in m if i in self.to_common) for m in ids.members)
        )

    def _as_seen_by_a(self, ids: Identities) -> Identities:
        back = {j: i for i, j in self.diff.match.pairs}
        return replace(ids, members=tuple(frozenset(back[j] for j in m if j in back) for m in ids.members))

    @cached_property
    def agreement(self) -> Agreement | None:
        """Node-by-node agreement with a dump's own record; None when no side is a record of the other's graph."""
        return self._agree() if self._agree is not None else None

    def identities(self, side: int) -> dict[int, StreamIdentity]:
        """GE stream number -> identity of side 0 (A) or 1 (B)."""
        held = (self.a, self.b)[side].identities
        assert held is not None
        return {s: held.items[i] for s, i in held.by_step[-1].items()}

    def common(self, side: int, ref: Ref) -> Ref:
        """A reference of one side in common ids; streams become their identity."""
        if ref.kind == "node" and side == 0:
            return Ref("node", self.to_common.get(ref.id, self.bound + ref.id))
        return ref

    @cached_property
    def signs(self) -> dict[int, str]:
        """Common id -> sign of what differs: ``−`` only A, ``+`` only B, ``→`` other stream, ``~`` other content."""
        d = self.diff
        out = {c.b: "~" for c in d.changed}
        out.update({j: "~" for _, j in d.match.renamed})
        out.update({m.id: "→" for m in d.moved or ()})
        out.update({self.bound + i: MINUS_SIGN for i in d.match.only_a})
        out.update({self.bound + i: MINUS_SIGN for group in d.match.merged.values() for i in group})
        out.update(dict.fromkeys((*d.match.only_b, *d.match.merged), "+"))
        return out

    # ---------------------------------------------------------------- showing
    def show(self, **settings: Any) -> Any:
        """Widget with both graphs, figures, differences, timelines and memory. ``settings``: lang."""
        return DISPLAYS.get("compare")(self, **settings)

    def to_html(self, path: Any) -> Any:
        """Write the comparison as one HTML page that needs no kernel and no network; returns the path."""
        from ge_explorer.views.export_compare import export_html

        return export_html(self, path)

    def __repr__(self) -> str:
        from ge_explorer.views.compare_tables import sentence

        return sentence(self).en

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.show()._repr_mimebundle_(**kwargs)


def _busy(t: Timeline | None) -> dict[int, float] | None:
    return None if t is None else {int(s): float(t.busy_ns(int(s))) for s in set(t.stream.tolist())}


def _one_family(a: Identities, b: Identities) -> bool:
    """Letters of one session: the shorter list is the beginning of the longer."""
    n = min(len(a.items), len(b.items))
    return a.items[:n] == b.items[:n]
