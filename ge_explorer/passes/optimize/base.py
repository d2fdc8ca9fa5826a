"""Kinds of optimisation pass: over a whole graph, over single nodes, and groups of node passes on one work-list."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize import switches
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

MAX_DEPTH = 25
"""Subgraphs nested deeper are not visited (base_pass.cc)."""
MAX_ROUNDS = 10
"""A walk stops after this many visits per node (base_pass.cc)."""
ON_DUMPS = "gx.optimiseDumps"
"""Our option: "1" runs the optimisation on graphs that GE dumped, too."""
_STANDARD = "compiler/graph/passes"
LATER = frozenset({
    "StreamSwitch", "StreamSwitchN", "StreamActive", "StreamMerge", "LabelSet", "LabelGoto", "LabelGotoEx", "LabelSwitch",
    "LabelSwitchByIndex", "Send", "Recv", "SendNotify", "RecvNotify",
})  # fmt: skip
"""Types GE makes after these passes ran; a graph that has one was optimised before (NextIterationPass and later)."""
MADE_HERE = "_gx_stream_control"
"""Our graph attribute: the stream control in the graph was made by our own passes, so the optimisation goes on."""

SHARED_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "unread": Rule(
            Text("Nothing reads it any more.", "不再有读者。"), f"{_STANDARD}: FoldingPass, DeleteUselessConstAxisNode"
        )
    }
)


@dataclass(frozen=True)
class OptimizePass(Pass):
    """Base: knows at which level it runs and by which option it is switched off."""

    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = switches.KEYS | {ON_DUMPS}
    level: ClassVar[int] = 3
    """Lowest level at which GE runs it (0 and 1: at both user levels)."""
    bound: ClassVar[str] = ""
    """Option GE ties it to (``ge.oo.…``), or ""."""

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Already in a dump, switched off, or not at this level."""
        return already_done(s, ctx) or self.off(ctx)

    def off(self, ctx: PassContext) -> Text | None:
        """Why GE does not run it, None if it does."""
        return switches.off_reason(ctx, self.ge_name, self.level, self.bound) if self.ge_name else None

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """A reader never loses an input it had."""
        if after.graph is before.graph:
            return
        old_bound = before.graph.id_bound
        for n in after.graph:
            old = before.graph.nodes[n.id] if n.id < old_bound else None
            if old is None or old is n or old.inputs == n.inputs:
                continue
            for k, t in enumerate(old.inputs[: len(n.inputs)]):
                if t is not None and n.inputs[k] is None:
                    raise ContractError("a node lost an input", where=n.name, got=k)


def already_done(s: Snapshot, ctx: PassContext) -> Text | None:
    """GE optimised a graph before it dumped it, and before it inserted stream control."""
    if MADE_HERE not in s.graph.attrs and not LATER.isdisjoint(s.graph.ops):
        return Text("stream control is in the graph already, so GE is past this", "图中已有流控制节点，GE 已过此阶段")
    if str(s.graph.attrs.get("_gx_format", "")).startswith("GE ") and ctx.option(ON_DUMPS) != "1":
        return Text("GE dumped this graph after optimising it", "该图由 GE 优化后转储")
    return None


def run(s: Snapshot, ctx: PassContext, body: Callable[[Work], None]) -> Snapshot:
    """Let ``body`` edit the graph; GE's status says whether anything happened."""
    w = Work(s.graph, ctx)
    body(w)
    ctx.status = "SUCCESS" if w.changed else "NOT_CHANGED"
    return s.evolve(graph=w.finish()) if w.changed else s


@dataclass(frozen=True)
class GraphPass(OptimizePass):
    """GE's PassManager kind: once over the root graph, then over every subgraph."""

    def apply(self, w: Work, scope: int) -> None:
        """Change one graph."""
        raise ContractError(f"pass {self.name!r} has no apply()")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Root first."""

        def body(w: Work) -> None:
            for scope in w.e.scopes():
                if w.e.has_scope(scope):
                    self.apply(w, scope)

        return run(s, ctx, body)


@dataclass(frozen=True)
class NodePass(OptimizePass):
    """GE's BaseNodePass kind: looks at one node at a time. Alone it runs as a group of one."""

    types: ClassVar[frozenset[str] | None] = None
    """Operator types it looks at (None: all)."""

    def wants(self, g: Graph) -> bool:
        """False when nothing in the graph can concern it (asked before a walk, so that most walks need not happen)."""
        return self.types is None or not self.types.isdisjoint(g.ops)

    def visit(self, w: Work, n: Node) -> None:
        """Look at one node; may delete it."""
        raise ContractError(f"pass {self.name!r} has no visit()")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """A work-list with this pass only."""
        return run(s, ctx, lambda w: walk_all(w, [self]))


@dataclass(frozen=True)
class NodeGroup(OptimizePass):
    """Node passes of one GE stage on a common work-list: a node is offered to each of them before the next node comes.

    ``without``: names of members to leave out, joined by ``+``. Members are also left out by GE's own options.
    """

    without: str = ""
    members: ClassVar[tuple[NodePass, ...]] = ()

    def active(self, ctx: PassContext) -> list[NodePass]:
        """Members that run."""
        off = set(filter(None, self.without.split("+")))
        return [m for m in self.members if m.name not in off and m.off(ctx) is None]

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Skipped when no member is left."""
        reason = already_done(s, ctx)
        if reason is None and not self.active(ctx):
            return Text("all its passes are off", "其中的 pass 全部关闭")
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """One work-list for all."""
        return run(s, ctx, lambda w: walk_all(w, self.active(ctx)))


def group_rules(members: Sequence[Pass]) -> Mapping[str, Rule]:
    """Rules of all members."""
    merged: dict[str, Rule] = {}
    for m in members:
        merged.update(m.rules)
    return MappingProxyType(merged)


def group_options(members: Sequence[Pass]) -> frozenset[str]:
    """Options of all members."""
    return switches.KEYS.union(*(m.option_keys for m in members))


def walk_all(w: Work, passes: Sequence[NodePass]) -> None:
    """GEPass::Run: walk the root graph; what was only marked as constant takes effect after a walk; then again."""
    from ge_explorer.passes.optimize.folding import take_effect

    if not any(p.wants(w.before) for p in passes):
        return
    walk = _Walk(w, passes)
    start: list[int] | None = None
    for _ in range(MAX_ROUNDS):
        walk.scope(0, 0, start)
        if not w.potential:
            return
        w.fresh.clear()
        take_effect(w)
        start = [i for i in dict.fromkeys(walk.owner(i) for i in w.fresh if w.e.has(i)) if i >= 0]


class _Walk:
    """The work-list: a node comes after its producers; what a pass touched comes again (compiler/graph/passes/base_pass.cc)."""

    def __init__(self, w: Work, passes: Sequence[NodePass]) -> None:
        self.w, self.passes = w, passes
        self.by_type: dict[str, list[NodePass]] = {}
        self.visits, self.limit = 0, MAX_ROUNDS * len(w.before) + MAX_ROUNDS

    def interested(self, op: str) -> list[NodePass]:
        """Passes that look at a type, in list order."""
        found = self.by_type.get(op)
        if found is None:
            found = self.by_type[op] = [p for p in self.passes if p.types is None or op in p.types]
        return found

    def owner(self, i: int) -> int:
        """Node of the root graph a node is in, itself or by nesting; -1 when its owner is gone."""
        n = self.w.node(i)
        while n.scope != 0:
            parent = self.w.e.scope(n.scope).parent
            if not self.w.e.has(parent):
                return -1
            n = self.w.node(parent)
        return n.id

    def scope(self, scope: int, depth: int, start: list[int] | None = None) -> None:
        """Walk one graph from its sources (or from ``start``, everything else counting as seen)."""
        w = self.w
        if depth > MAX_DEPTH or not w.e.has_scope(scope):
            return
        members = w.e.members(scope)
        seen = set(members) if start is not None else set()
        todo = deque(start if start is not None else [i for i in members if not self.preds(i)])
        waiting = set(todo)
        again: dict[int, None] = {}
        while (todo or again) and self.visits < self.limit:
            if not todo:
                todo.extend(i for i in again if w.e.has(i))
                waiting = set(todo)
                again = {}
                continue
            i = todo.popleft()
            waiting.discard(i)
            if not w.e.has(i):
                continue
            self.visits += 1
            after = self.succs(i)
            w.fresh.clear()
            self.offer(i, depth)
            seen.add(i)
            touched = dict.fromkeys(w.fresh)
            for j in (*after, *touched, *(self.succs(i) if w.e.has(i) else ())):
                if not w.e.has(j) or w.node(j).scope != scope or j in waiting:
                    continue
                if j in seen:
                    if j in touched and j != i:
                        again[j] = None
                elif all(p in seen for p in self.preds(j)):
                    waiting.add(j)
                    todo.append(j)

    def offer(self, i: int, depth: int) -> None:
        """Every pass on one node, then its subgraphs, then every pass again if it has any."""
        self.each(i)
        if self.w.e.has(i) and self.w.node(i).subgraphs:
            kept = list(self.w.fresh)
            for s in self.w.node(i).subgraphs:
                self.scope(s, depth + 1)
            self.w.fresh[:0] = kept
            if self.w.e.has(i):
                self.each(i)

    def each(self, i: int) -> None:
        """Offer a node to the passes that look at its type."""
        for p in self.interested(self.w.node(i).op):
            if not self.w.e.has(i):
                return
            n = self.w.node(i)
            if p.types is None or n.op in p.types:
                p.visit(self.w, n)

    def preds(self, i: int) -> list[int]:
        """Producers that must be seen before (loop edges do not count)."""
        n = self.w.node(i)
        found = [*(self.w.e.tensor(t).producer for t in n.inputs if t is not None), *n.control_in]
        return [p for p in found if self.w.node(p).op not in ("NextIteration", "RefNextIteration")]

    def succs(self, i: int) -> list[int]:
        """Readers and control successors."""
        n = self.w.node(i)
        return [e.dst for e in self.w.readers(n)] + self.w.e.control_targets(i)


def describe(*, name: str, title: tuple[str, str], summary: tuple[str, str], ge_name: str, source: str, level: int = 3,
             bound: str = "") -> dict[str, Any]:  # fmt: skip
    """Class attributes of small passes made in a table."""
    return {
        "name": name, "title": Text(*title), "summary": Text(*summary), "ge_name": ge_name, "source": source, "level": level,
        "bound": bound,
    }  # fmt: skip


def ranks(w: Work, scope: int) -> dict[int, int]:
    """Topological rank of the nodes of one graph: producers first, ties by list order."""
    members = w.e.members(scope)
    missing: dict[int, int] = {}
    after: dict[int, list[int]] = {}
    for i in members:
        n = w.node(i)
        before = [*(w.e.tensor(t).producer for t in n.inputs if t is not None), *n.control_in]
        missing[i] = len(before)
        for p in before:
            after.setdefault(p, []).append(i)
    ready = [i for i in members if not missing[i]]
    for i in ready:  # grows while it is walked
        for j in after.get(i, ()):
            missing[j] -= 1
            if not missing[j]:
                ready.append(j)
    return {i: k for k, i in enumerate(ready)}
