"""19.10: exclusive branches. GE drops an event when another one on the same stream covers it, without asking whether that one
sits in a branch that may not run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.checks.ordering import activation_orders, event_orders
from ge_explorer.graph.happens_before import DeadlockError, HappensBefore, Order, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS

IN_BRANCH = "GX142"
CHOOSERS = frozenset({"If", "_If", "StatelessIf", "Case", "StatelessCase"})
LIMIT = 50
Choice = tuple[int, int]
"""(holder, branch scope)."""


def is_exclusive(g: Graph) -> bool:
    """True if the graph has a node that runs one of several bodies."""
    return any(n.op in CHOOSERS and len(n.subgraphs) > 1 for n in g)


def choices(g: Graph, node: int) -> frozenset[Choice]:
    """Branches that must be taken for a node to run."""
    return frozenset(path(g, node))


def path(g: Graph, node: int) -> tuple[Choice, ...]:
    """The same from the outermost branch to the innermost."""
    out: list[Choice] = []
    scope = g.node(node).scope
    while scope:
        holder = g.scope(scope).parent
        if g.node(holder).op in CHOOSERS and len(g.node(holder).subgraphs) > 1:
            out.append((holder, scope))
        scope = g.node(holder).scope
    return tuple(reversed(out))


def branch_cover(c: Context) -> Iterator[Issue]:
    """GX142 for a dependency that only an event inside a branch orders, though its nodes also run when another branch is taken."""
    g, hb = c.s.graph, c.hb
    if hb is None or not is_exclusive(g):
        return
    sure = order_of_any_choice(c)
    if sure is None:
        return
    count = 0
    for u, v in dict.fromkeys(g.dependencies):
        if u not in hb or v not in hb or not hb.ordered(u, v) or sure.ordered(u, v):
            continue
        if g.node(u).op in SYNC_OPS or g.node(v).op in SYNC_OPS or choices(g, u) - choices(g, v):
            continue
        count += 1
        if count > LIMIT:
            continue
        a, b = c.name(u), c.name(v)
        by = _cover(c, hb, u, v)
        where = f" (event to {c.name(by)})" if by >= 0 else ""
        where_zh = f"（到 {c.name(by)} 的事件）" if by >= 0 else ""
        yield Issue(
            IN_BRANCH, "warning",
            Text(
                f"{b} is ordered after {a} only through a branch{where} that may not run; GE dropped the direct event without "
                f"looking at branches",
                f"{b} 仅通过一个可能不执行的分支{where_zh}排在 {a} 之后；GE 去掉直接事件时不考虑分支",
            ),
            (Ref("node", u), Ref("node", v), *((Ref("node", by),) if by >= 0 else ())),
            Text(f"Add a control edge from {a} to the node that owns the branches, or keep the branches on streams of their own.",
                 f"从 {a} 到分支所属的节点加一条控制边，或让各分支使用各自的流。"), "sync.md 19.10",
        )  # fmt: skip


def _cover(c: Context, hb: HappensBefore, u: int, v: int) -> int:
    """A receiver inside a branch, before ``v`` on its stream, that waits for ``u`` or something after it."""
    tasks, mine = c.plan.tasks, choices(c.s.graph, v)
    for e in c.plan.events:
        end = tasks.ends.get(e.uid)
        if end is None or end[1] < 0 or not choices(c.s.graph, end[1]) - mine:
            continue
        if tasks.stream[end[1]] == tasks.stream[v] and (end[0] == u or hb.ordered(u, end[0])):
            return end[1]
    return -1


def order_of_any_choice(c: Context) -> HappensBefore | None:
    """Happens-before that holds whichever branches are taken; None in a deadlock.

    On every stream a branch goes on from what stood before its holder, and what follows goes on from whichever branch ran.
    """
    plan = c.plan
    orders, points = activation_orders(plan)
    orders += event_orders(plan)
    chains, joins = _Chains(c).result()
    try:
        return happens_before(
            plan.tasks.sequence, plan.tasks.stream, [*orders, *chains], any_of=[*points, *joins], chained=False
        )
    except DeadlockError:  # reported by the check of the plain order
        return None


class _Chains:
    """Orders inside every stream, with a join after the branches of a holder."""

    def __init__(self, c: Context) -> None:
        self.c, self.g = c, c.s.graph
        self.next_point = 4 * self.g.id_bound + c.plan.count
        self.orders: list[Order] = []
        self.joins: list[int] = []
        self.paths: dict[int, tuple[Choice, ...]] = {}

    def result(self) -> tuple[list[Order], list[int]]:
        by_column: dict[int, list[int]] = {}
        tasks = self.c.plan.tasks
        for t in tasks.sequence:
            by_column.setdefault(tasks.stream[t], []).append(t)
        for row in by_column.values():
            self._stream(row)
        return self.orders, self.joins

    def _path(self, task: int) -> tuple[Choice, ...]:
        scope = self.g.node(self.c.plan.tasks.node(task)).scope
        if scope not in self.paths:
            self.paths[scope] = path(self.g, self.c.plan.tasks.node(task))
        return self.paths[scope]

    def _stream(self, row: list[int]) -> None:
        # One frame an open holder: (holder, current branch, task before it, last tasks of branches already left).
        frames: list[tuple[Choice, int, list[int]]] = []
        last = -1
        for t in row:
            want = self._path(t)
            depth = 0
            while depth < min(len(frames), len(want)) and frames[depth][0] == want[depth]:
                depth += 1
            while len(frames) > depth:
                (holder, _), entry, exits = frames[-1]
                exits.append(last)
                if len(frames) == depth + 1 and len(want) > depth and want[depth][0] == holder:
                    frames[-1] = (want[depth], entry, exits)
                    last = entry
                    depth += 1
                    continue
                frames.pop()
                last = self._join(holder, entry, exits)
            for choice in want[len(frames) :]:
                frames.append((choice, last, []))
            if last != -1:
                self.orders.append(Order(last, t, "stream"))
            last = t

    def _join(self, holder: int, entry: int, exits: list[int]) -> int:
        """Point after a holder; a branch without a task on this stream passes straight through."""
        ways = [*exits, *([entry] if len(exits) < len(self.g.node(holder).subgraphs) else [])]
        if -1 in ways:
            return -1
        point = self.next_point
        self.next_point += 1
        self.joins.append(point)
        self.orders += [Order(x, point, "stream") for x in dict.fromkeys(ways)]
        return point
