"""GE's plan for a ``MemoryProblem``: the same buffers, GE's offsets.

A real build prepares the graph before GE plans (memory.md A21): the GE-local engine declares views as references, and a loop gets
a copy of a start value that it must not write. Both are stated here, so that GE's symbols and our alias classes agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.memory.aliases import REUSE_FLAG, VIEW_LIKE, WHILE_LIKE, alias_classes
from ge_explorer.memory.ge.planner import plan_ge
from ge_explorer.memory.ge.result import GeMemoryResult
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.problem import WORKSPACE


def declared_references(graph: Graph) -> dict[int, int]:
    """Output tensor -> input index, where the type or the attribute ``reference`` says so but no descriptor does."""
    out: dict[int, int] = {}
    for n in graph:
        if any(graph.tensor(t).attrs.get(REUSE_FLAG) for t in n.outputs):
            continue
        if n.op in VIEW_LIKE and n.outputs and n.inputs and n.inputs[0] is not None:
            out[n.outputs[0]] = 0
        elif n.attrs.get("reference"):
            for o, (a, b) in enumerate(zip(n.inputs, n.outputs, strict=False)):
                if a is not None and graph.tensor(a).shape == graph.tensor(b).shape:
                    out[b] = o
    return out


def loop_copies(graph: Graph, order: IntArray, stream: IntArray) -> frozenset[int]:
    """Results of loops whose start value is an input, weight or variable: the loop works on a copy."""
    loops = [n for n in graph if n.op in WHILE_LIKE]
    if not loops:
        return frozenset()
    classes = alias_classes(graph, order, stream)
    return frozenset(
        b
        for n in loops
        for a, b in zip(n.inputs, n.outputs, strict=False)
        if a is not None and classes.find(a) != classes.find(b)
    )


def plan_problem(
    problem: MemoryProblem,
    graph: Graph,
    sequence: Sequence[int],
    stream: IntArray,
    order: IntArray,
    options: Mapping[str, str],
    local: Collection[int] = (),
) -> tuple[MemoryPlan, GeMemoryResult]:
    """GE's offsets for the buffers of ``problem``, and everything GE decided.

    ``peak`` is the end of the range that GE plans, without the user's buffers. PassFailed when GE stops, when its own check
    refuses the plan, or when its symbols are not our buffers.
    """
    result = plan_ge(
        graph, stream.tolist(), order.tolist(), options, sequence=sequence, local=local,
        references=declared_references(graph), copied=loop_copies(graph, order, stream),
    )  # fmt: skip
    if result.failure:
        raise PassFailed(
            "GE refuses its own memory plan", code="E19999", where="plan-memory", got=result.failure,
            todo="Plan with gx.memoryPlanner=hb, or separate a written weight from its reader by an Identity.",
        )  # fmt: skip
    offsets = []
    work: dict[int, int] = {}
    for b in problem.buffers:
        if b.kind == "workspace":
            node = b.producers[0]
            used = [w for w, size in enumerate(graph.node(node).attrs[WORKSPACE]) if size > 0]
            k = work.get(node, 0)
            work[node] = k + 1
            offsets.append(result.workspaces[node][used[k]])
            continue
        at = {t: result.offsets[graph.tensor(t).producer][graph.tensor(t).index] for t in b.tensors}
        found = {k - b.inside.get(t, 0) for t, k in at.items()}
        if len(found) > 1:
            raise PassFailed(
                "GE gives several addresses to tensors that are one piece of memory", where=b.name, got=sorted(found),
                todo="Plan with gx.memoryPlanner=hb.",
            )  # fmt: skip
        offsets.append(found.pop())
    peak = result.best.ends.get(2, 0)
    peak = max([peak, *(at + b.size for at, b in zip(offsets, problem.buffers, strict=True))])
    sizes = MappingProxyType({c.name: c.size for c in result.candidates})
    return MemoryPlan(tuple(offsets), peak, "ge", "model", sizes), result
