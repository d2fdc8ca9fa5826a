"""mark-cv-parallel: vector operators that may run beside cube operators move to the vector engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import Ref, node
from ge_explorer.passes.streams.dag.mode import KEY, mode_text
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Placement, Snapshot

CORE_TYPE, MIX_IS_AIV, CV_PARALLEL = "_cube_vector_core_type", "_mix_is_aiv", "_enable_cv_parallel"
_SOURCE = "compiler/graph/partition/engine_partitioner.cc: MarkCvParallelAivNodes"


@dataclass(frozen=True)
class MarkCvParallel(Pass):
    """In mode ``cv``, mark vector operators that are not in line with the cube operators around them.

    Rule:
    1. For each vector operator take the nearest cube operator before and after it in the order.
    2. In line with the one before and none after: left alone.
    3. Not reachable from the one before, or not reaching the one after: marked, its cluster gets ``VectorEngine``.

    GE source: engine_partitioner.cc, exact given the core types; for an imported model they come from the placement table.
    Option: ``ge.autoMultistreamParallelMode`` = ``cv``; a root graph attribute of the same name wins.
    Example: x → conv and x → relu, both into add: relu is marked, conv is not.
    """

    name: ClassVar[str] = "mark-cv-parallel"
    title: ClassVar[Text] = Text("Cube/vector", "Cube/Vector 标记")
    summary: ClassVar[Text] = Text(
        "Marks vector operators that can run beside cube operators.", "标记可与 Cube 算子并行的 Vector 算子。"
    )
    chapter = "partition"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "placement", "order"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = frozenset({KEY})
    ge_name: ClassVar[str] = "MarkCvParallelAivNodes"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "beside-cube": Rule(
                Text(
                    "Not in line with the nearest cube operators, so it can run beside them.",
                    "与前后最近的 Cube 算子不在同一条路径上，可以并行。",
                ),
                _SOURCE,
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only mode ``cv`` marks anything."""
        if mode_text(s.graph, ctx.option(KEY))[0] != "cv":
            return Text(f"{KEY} is not cv", f"{KEY} 不是 cv")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with ``_enable_cv_parallel`` set on the marked nodes."""
        changes: dict[int, dict[str, object]] = {}
        for scope in s.graph.scopes:
            for i, around in _beside(s.graph, scope.nodes, s.placement) if scope is not None else ():
                if s.graph.node(i).attrs.get(CV_PARALLEL) is not True:
                    changes[i] = {CV_PARALLEL: True}
                    ctx.decide(node(i), "engine", "", "VectorEngine", "beside-cube", around)
        ctx.status = "SUCCESS" if changes else "NOT_CHANGED"
        return s.evolve(graph=s.graph.with_attrs(changes)) if changes else s


def core_kind(n: Node, placement: Placement | None) -> str:
    """ "AIV", "AIC" or "" (neither): the compiled core type where there is one, else our placement."""
    given = n.attrs.get(CORE_TYPE)
    if given is None:
        core = placement.core[n.id] if placement is not None else ""
        return {"AIV": "AIV", "AIC": "AIC", "MIX": "AIC"}.get(core, "")
    if given in ("AIV", "MIX_AIV") or (given == "MIX" and n.attrs.get(MIX_IS_AIV) is True):
        return "AIV"
    return "AIC"


def _beside(graph: Graph, nodes: Sequence[int], placement: Placement | None) -> Iterator[tuple[int, tuple[Ref, ...]]]:
    """(vector node, its neighbouring cube nodes) of the nodes to mark, in order.

    The nodes between two cube nodes form a window; what the first reaches and what reaches the second is found in one sweep
    of the window each, so the whole walk is linear.
    """
    kinds = [core_kind(graph.node(i), placement) for i in nodes]
    cubes = [p for p, k in enumerate(kinds) if k == "AIC"]
    for left, right in zip([-1, *cubes], [*cubes, len(nodes)], strict=True):
        vectors = [p for p in range(left + 1, right) if kinds[p] == "AIV"]
        if not vectors:
            continue
        after = _reached(graph.succ, nodes, left, range(left + 1, right)) if left >= 0 else set()
        before = _reached(graph.pred, nodes, right, range(right - 1, left, -1)) if right < len(nodes) else set()
        around = tuple(node(nodes[p]) for p in (left, right) if 0 <= p < len(nodes))
        for p in vectors:
            from_left, to_right = nodes[p] in after, nodes[p] in before
            if from_left and right == len(nodes):
                continue
            if not from_left or not to_right:
                yield nodes[p], around


def _reached(edges: Sequence[Sequence[int]], nodes: Sequence[int], start: int, window: range) -> set[int]:
    """Nodes of ``window`` (positions) that can be reached from position ``start`` along ``edges``."""
    inside = {nodes[p] for p in window}
    found: set[int] = set()
    stack = [nodes[start]]
    while stack:
        for y in edges[stack.pop()]:
            if y in inside and y not in found:
                found.add(y)
                stack.append(y)
    return found
