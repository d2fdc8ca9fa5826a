"""Step and Trace: the history of a compilation, with ``why``, ``diff`` and ``forward``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.display import DISPLAYS
from ge_explorer.trace.passes import Decision, Pass
from ge_explorer.trace.pipeline import Pipeline
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.why import WhyEntry, WhyTrail

if TYPE_CHECKING:
    from ge_explorer.trace.diff import Diff

StepStatus = Literal["changed", "unchanged", "skipped", "disabled", "failed", "not_run"]


@dataclass(frozen=True, eq=False)
class Step:
    """One pass applied (or not) to one snapshot.

    ``changed`` lists the facets whose content differs, computed by the runner. ``error`` is set when the step failed;
    later steps are then ``not_run`` and keep the last good snapshot.
    """

    index: int
    pass_: Pass
    status: StepStatus
    before: Snapshot
    after: Snapshot
    scope: int = 0
    ge_status: str = ""
    changed: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()
    issues: tuple[Issue, ...] = ()
    reason: Text | None = None
    error: Exception | None = None
    seconds: float = 0.0
    name: str = ""
    """Pipeline name, suffixed ``@scope`` for a subgraph; unique in the trace."""

    @property
    def title(self) -> Text:
        """Short name for the strip."""
        return self.pass_.title


@dataclass(frozen=True, eq=False)
class Trace:
    """All steps of one compilation. ``initial`` is the state before the first step; ``failed`` the failed step or None."""

    initial: Snapshot
    steps: tuple[Step, ...]
    issues: tuple[Issue, ...] = ()
    pipeline: Pipeline = field(default_factory=lambda: Pipeline(()))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def final(self) -> Snapshot:
        """State after the last step that ran."""
        return self.steps[-1].after if self.steps else self.initial

    @property
    def failed(self) -> Step | None:
        """The step that failed, if any."""
        return next((s for s in self.steps if s.status == "failed"), None)

    def snapshot(self, step: int) -> Snapshot:
        """State after step ``step``; -1 is the state before the first one."""
        return self.initial if step < 0 else self.steps[step].after

    def step(self, ref: int | str) -> Step:
        """Step by index or by name (``assign-by-label`` or ``assign-by-label@body``)."""
        if isinstance(ref, int):
            return self.steps[ref]
        for s in self.steps:
            if s.name == ref:
                return s
        raise OptionError(f"no step named {ref!r}", todo=did_you_mean(ref, [s.name for s in self.steps]))

    def why(self, ref: Ref | str, facet: str | None = None, upto: int | None = None) -> WhyTrail:
        """Decisions about ``ref`` (a Ref or a node name) in order; ``facet`` narrows, ``upto`` is the last step looked at.

        The last decisive entry of each facet is ``final``.
        """
        if isinstance(ref, str):
            ref = (
                Ref.parse(ref)
                if ref.split(":")[0] in ("event", "stream", "buffer", "cluster")
                else Ref("node", self._node_named(ref))
            )
        found = [
            (s, d)
            for s in self.steps[: None if upto is None else upto + 1]
            for d in s.decisions
            if d.subject == ref and (facet is None or d.facet == facet)
        ]
        last = {d.facet: i for i, (_, d) in enumerate(found) if d.decisive}
        return WhyTrail(WhyEntry(s, d, last.get(d.facet) == i) for i, (s, d) in enumerate(found))

    def _node_named(self, name: str) -> int:
        for snapshot in (self.final, self.initial):
            if name in snapshot.graph.by_name:
                return snapshot.graph.by_name[name]
        return self.final.graph.node(name).id

    def diff(self, i: int, j: int) -> Diff:
        """Exact difference of the states after steps i and j (-1: before the first step)."""
        from ge_explorer.trace.diff import diff_snapshots

        return diff_snapshots(self.snapshot(i), self.snapshot(j))

    def forward(self, ref: Ref, i: int, j: int) -> tuple[Ref, ...]:
        """What a reference at step i became at step j: itself, the nodes made from it, or nothing.

        Events are followed by identity (``Event.uid``), nodes through ``Node.origin``.
        """
        if ref.kind == "node":
            g = self.snapshot(j).graph
            if ref.id < g.id_bound and g.nodes[ref.id] is not None:
                return (ref,)
            heirs = [n.id for n in g if ref.id in n.origin]
            return tuple(Ref("node", h) for h in heirs)
        if ref.kind == "event":
            sync = self.snapshot(j).sync
            alive = sync is not None and any(e.uid == ref.id for e in sync.events)
            return (ref,) if alive else ()
        return (ref,)

    # ---------------------------------------------------------------- pictures, each alone in a notebook cell
    def graph(self, **settings: Any) -> Any:
        """The graph canvas: nodes coloured by stream, event edges."""
        return DISPLAYS.get("graph")(self, **settings)

    def timeline(self, **settings: Any) -> Any:
        """Simulated Gantt chart per stream."""
        return DISPLAYS.get("timeline")(self, **settings)

    def memory_map(self, **settings: Any) -> Any:
        """Lifetime x address map of all buffers."""
        return DISPLAYS.get("memory_map")(self, **settings)

    def mermaid(self, **settings: Any) -> Any:
        """Mermaid diagram, drawn by JupyterLab itself."""
        return DISPLAYS.get("mermaid")(self, **settings)
