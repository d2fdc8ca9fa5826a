"""minimal-events: only the events that no others imply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import OptionError
from ge_explorer.graph.reach import Reach
from ge_explorer.passes.sync.event_table import EventTable
from ge_explorer.passes.sync.minimum import Necessity, SyncArcs, necessity
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, Snapshot

MODE = "gx.eventMode"
MINIMAL = "minimal"


@dataclass(frozen=True)
class MinimalEvents(Pass):
    """Drop every event that streams, stream starts and the other events imply. The order of all tasks stays exactly the same.

    Rule: transitive reduction of program order, stream starts and events (passes/sync/minimum.py). GE stops earlier: it looks at
    one sender or one receiver at a time.

    Ours; GE has no such step. It comes after GE's own clean-up, so what is left is GE's plan minus what is provably useless.
    Options: ``gx.eventMode`` = minimal switches it on; ``ge`` (or nothing) is GE's own result.
    Example: A1, A2 on one stream and B1, B2 on another, A1 → B2 and A2 → B1: the first event goes.
    """

    name: ClassVar[str] = "minimal-events"
    title: ClassVar[Text] = Text("Fewest events", "最少事件")
    summary: ClassVar[Text] = Text(
        "Drops every event that the others imply; GE keeps those.", "删除其余事件已经蕴含的事件；GE 会保留它们。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "sequence", "sync"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    option_keys: ClassVar[frozenset[str]] = frozenset({MODE})
    source: ClassVar[str] = "ours"
    fidelity = "ours"
    rules = MappingProxyType(
        {
            "implied": Rule(
                Text("Other events and the streams already give this order.", "其他事件和流内顺序已经保证了这一顺序。"),
                "ours",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Off unless the option asks for it; OptionError for another value."""
        mode = ctx.option(MODE)
        if mode not in ("", "ge", MINIMAL):
            raise OptionError(f"{MODE} has no value {mode!r}", todo=f"Use ge or {MINIMAL}.")
        if mode != MINIMAL:
            return Text(f"{MODE} is not {MINIMAL}: GE's events stay", f"未设置 {MODE}={MINIMAL}，保留 GE 的事件")
        if s.sync is None:
            return Text("there are no events", "没有事件")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the needed events only. Status SUCCESS."""
        found = necessity(s)
        table = EventTable(self, s, ctx)
        if found.redundant:
            covers = _Covers(s, found)
            for e in found.redundant:
                table.remove(e, "implied", covers.of(e))
        ctx.status = "SUCCESS"
        return table.result()


class _Covers:
    """For a dropped event, the needed event through which its receiver's stream hears of its sender."""

    def __init__(self, s: Snapshot, found: Necessity) -> None:
        arcs = SyncArcs.of(s)
        self.rank = {v: k for k, v in enumerate(arcs.order)}
        self.reach = Reach.of(arcs.order, {v: row for v, row in arcs.pred.items() if v not in arcs.points})
        self.heard: dict[int, list[Event]] = {}
        for e in sorted((e for e in found.needed if e.uid not in arcs.outside), key=lambda e: self.rank[e.recv]):
            self.heard.setdefault(e.recv_stream, []).append(e)

    def of(self, gone: Event) -> Iterable[int]:
        """Uid of that event; nothing where the start of the stream is the reason."""
        for e in reversed(self.heard.get(gone.recv_stream, ())):
            if self.rank[e.recv] <= self.rank[gone.recv] and (
                e.send == gone.send or self.reach.reaches(gone.send, e.send)
            ):
                return (e.uid,)
        return ()
