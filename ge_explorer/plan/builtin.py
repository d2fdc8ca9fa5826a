"""Plans of the built-in examples, and the plan that labels in a graph already describe."""

from __future__ import annotations

from ge_explorer.graph.model import Graph
from ge_explorer.plan.apply import USER_LABEL
from ge_explorer.plan.model import CoreLimit, Plan, StreamSpec, SyncPoint

_MOE_SIDE = ("sh.quant", "sh.gate_up", "sh.swiglu", "sh.down")
_MOE_ROUTING = ("gate", "topk", "memset")
"""Main operators that want cores while the side runs. The grouped matmuls come later and keep every core."""

MOE = Plan(
    "moe shared expert beside routing and dispatch",
    "moe_shared_expert",
    (StreamSpec("side", "22", _MOE_SIDE),),
    core_limits=(CoreLimit(_MOE_SIDE, 8, 16), CoreLimit(_MOE_ROUTING, 16, 32)),
    syncs=(SyncPoint("sh.gate_up", "topk", "gate_up starts when routing is known"),),
    join=("add",),
    source="built in; labels and the wait follow the DeepSeek-V3.2 decode plan, core split 8/16 of 24/48 is ours",
    dominator=("dispatch",),
)


def _silu(variant: str) -> Plan:
    side = ("z",) if variant == "A" else ("z", "cast", "swish")
    return Plan(
        f"silu barrier {variant}", f"silu_barrier_{variant}", (StreamSpec("side", "z", side),), join=("mulz",),
        source="built in; windows and operator names follow the overlap check of the plan skill",
        dominator=("qkv",),
    )  # fmt: skip


def plans() -> dict[str, Plan]:
    """Built-in plans by the name of the graph they belong to."""
    return {p.model: p for p in (MOE, _silu("A"), _silu("B"))}


def plan_for(graph: Graph, *, from_file: bool = False) -> Plan | None:
    """Built-in plan of ``graph``, else the plan its ``_user_stream_label`` attributes describe, else None.

    ``from_file``: a file speaks for itself; a dump of a built-in example was compiled with the labels it has, or without any.
    """
    built = None if from_file else plans().get(graph.name)
    if built is not None and all(o in graph.by_name for o in built.side_ops):
        return built
    tags: dict[str, list[str]] = {}
    for n in graph:
        tag = n.attrs.get(USER_LABEL)
        if isinstance(tag, str) and tag:
            tags.setdefault(tag, []).append(graph.unique_names[n.id])
    if not tags:
        return None
    streams = tuple(StreamSpec(t, t, tuple(ops)) for t, ops in tags.items())
    return Plan(f"labels of {graph.name}", graph.name, streams, source="user stream labels found in the graph")
