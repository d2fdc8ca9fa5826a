"""Put a plan into the graph as GE would see it: attributes for labels and cores, Identity nodes for manual syncs.

Sources: torchair scope attributes and ``npu_wait_tensor`` conversion (plan.md section 4.1, 4.3); GE reads
``_user_stream_label`` in compiler/graph/build/stream/stream_utils.cc TransUserStreamLabel.
"""

from __future__ import annotations

from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.plan.model import Plan

USER_LABEL, INNER_LABEL = "_user_stream_label", "_stream_label"
AIC_ATTR, AIV_ATTR = "_op_aicore_num", "_op_vectorcore_num"
SINGLE_STREAM = {"ge.enableSingleStream": "true"}
MANUAL_SYNC = "_gx_manual_sync"
"""Marks an Identity that a plan put in; its value is the reason."""


def without_plan(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """The baseline: labels, core limits removed, GE's single-stream mode on.

    GE refuses labels in single-stream mode (E10055), so they have to go.
    """
    gone = dict.fromkeys((USER_LABEL, INNER_LABEL, AIC_ATTR, AIV_ATTR))
    changes = {n.id: gone for n in graph if any(k in n.attrs for k in gone)}
    return (graph.with_attrs(changes) if changes else graph), dict(SINGLE_STREAM)


def apply(graph: Graph, plan: Plan, strength: str) -> tuple[Graph, dict[str, str]]:
    """Graph and extra GE options of ``plan`` at ``strength`` (single, C1, C2, C3, C1+sync).

    GraphError when the plan names an operator the graph does not have; OptionError for an unknown strength or for a sync
    that would make a cycle.
    """
    if strength == "single":
        return without_plan(graph)
    level = plan.level(strength)
    planned = {graph.node(o).id: s.tag for s in plan.streams for o in s.ops if s.role != "main"}
    changes: dict[int, dict[str, str | None]] = {}
    for n in graph:
        tag = planned.get(n.id)
        if tag is not None or USER_LABEL in n.attrs:
            changes[n.id] = {USER_LABEL: tag}
    if level.cores:
        for limit in plan.core_limits:
            for o in limit.ops:
                i = graph.node(o).id
                changes[i] = {**changes.get(i, {}), AIC_ATTR: str(limit.aic), AIV_ATTR: str(limit.aiv)}
    graph = graph.with_attrs(changes) if changes else graph
    if level.syncs and plan.syncs:
        graph = _with_syncs(graph, plan)
    return graph, {}


def _with_syncs(graph: Graph, plan: Plan) -> Graph:
    e = GraphEditor(graph)
    for k, sync in enumerate(plan.syncs):
        op, after = graph.node(sync.op), graph.node(sync.after)
        if op.id == after.id or op.id in _ancestors(graph, after.id):
            raise OptionError(
                f"sync point makes a cycle: {sync.after!r} already runs after {sync.op!r}", where=f"plan {plan.name}",
                todo="Remove this sync point or swap its ends.",
            )  # fmt: skip
        first = next((t for t in e.node(op.id).inputs if t is not None), None)
        if first is None:
            e.add_control(after.id, op.id)
            continue
        tensor = graph.tensor(first) if first < len(graph.tensors) else None
        spec = (tensor.shape, tensor.dtype) if tensor is not None else (None, None)
        keep = {a: op.attrs[a] for a in (USER_LABEL, AIC_ATTR, AIV_ATTR) if a in op.attrs}
        wait = e.add_node(
            f"{op.name}_wait_{after.name}_{k}", "Identity", inputs=[first], outputs=[spec], control=[after.id],
            attrs={**keep, MANUAL_SYNC: sync.reason or "manual sync point"}, scope=op.scope,
        )  # fmt: skip
        e.connect(e.output(wait), op.id, list(e.node(op.id).inputs).index(first))
    return e.freeze()


def _ancestors(graph: Graph, node: int) -> set[int]:
    seen: set[int] = set()
    todo = [node]
    while todo:
        for p in graph.pred[todo.pop()]:
            if p not in seen:
                seen.add(p)
                todo.append(p)
    return seen
