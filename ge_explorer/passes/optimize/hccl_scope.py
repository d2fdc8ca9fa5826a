"""When the passes of the collective engine run, and what they share."""

from __future__ import annotations

from collections.abc import Iterable

from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize import switches
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot

HCCL = "gx.hccl"
"""Our option for all passes of the collective engine: auto (imported models), on, off."""
KEYS = frozenset({HCCL}) | switches.KEYS
NO_COLLECTIVE = Text("the graph has no collective", "图中没有集合通信算子")
ALL_REDUCE, BROADCAST = "HcomAllReduce", "HcomBroadcast"


def collectives(g: Graph) -> list[Node]:
    """Nodes of the collective engine in walk order."""
    found = frozenset(op for op in g.ops if op.startswith("Hcom"))
    return [n for n in map(g.node, g.walk()) if n.op in found] if found else []


def skip(s: Snapshot, ctx: PassContext, ge_name: str, level: int = 0) -> Text | None:
    """Reason not to run: the graph was not imported, the pass is switched off or belongs to another level, no collective."""
    reason = asked(ctx.option, HCCL, s.graph) or (None if collectives(s.graph) else NO_COLLECTIVE)
    return reason or switches.off_reason(ctx, ge_name, level)


def has_path(g: Graph, source: int, target: int) -> bool:
    """True if ``target`` comes after ``source`` along data and control edges (or is it)."""
    return target in reachable(g, [source])


def reachable(g: Graph, sources: Iterable[int]) -> set[int]:
    """Everything after ``sources``, themselves included."""
    seen, todo = set(sources), list(sources)
    while todo:
        for j in g.succ[todo.pop()]:
            if j not in seen:
                seen.add(j)
                todo.append(j)
    return seen
