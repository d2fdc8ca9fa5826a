"""Roofline cost: how long each node takes and how many cores it holds, in integer nanoseconds.

``t = launch(blocks) + max(cube, vector, memory)``, at least one microsecond (optimize.md section 6.2, runtime.md section
10.3). Efficiencies come from two public profiles of one chip generation; the result for *your* graph is a model and says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from ge_explorer.device.chips import CHIPS, DEFAULT_CHIP, Chip
from ge_explorer.device.cores import CoreLimits, read_limits, scale_with_cores
from ge_explorer.device.work import Operands, Work, family_of, work_of
from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph, Node
from ge_explorer.provenance import Origin

Bound = Literal["compute", "vector", "memory", "launch", "link", "given", "fixed", "none"]

GIVEN_NS = "_gx_duration_ns"
"""Our attribute: duration of a node in ns that replaces the model (a profile, or a figure of an example)."""
LONGEST_NS = 10**13
"""Longest duration of a node in ns (2.7 hours): timelines count in 64 bits, and no graph we read adds up past them."""
GIVEN_ORIGIN = "_gx_duration_origin"
"""Where the given duration comes from: measured (default), model or assumed."""
MANUAL_SYNC = "_gx_manual_sync"
"""Our attribute on an Identity that only carries a control edge (torchair's npu_wait_tensor): GE drops the copy."""
BLOCKS = "tvm_blockdim"
"""GE's attribute for the blocks of a compiled kernel; used instead of our count when present."""

_NO_TASK_ENGINES = frozenset({"DNN_VM_GE_LOCAL"})
_SYNC_OPS = frozenset(
    {
        "NetOutput",
        "Send",
        "Recv",
        "StreamActive",
        "StreamSwitch",
        "StreamMerge",
        "NoOp",
        "LabelSet",
        "LabelGotoEx",
        "LabelSwitchByIndex",
    }
)
_LOCAL_OPS = frozenset(
    {"Reshape", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "Flatten", "FlattenV2",
     "ExpandDims",
     "Bitcast", "Shape", "ShapeN", "Size", "Rank", "GatherShapes", "PhonyConcat", "PhonySplit", "If", "StatelessIf", "Case",
     "While", "StatelessWhile", "For", "PartitionedCall", "StatefulPartitionedCall", "StopGradient"}
)  # fmt: skip
_COLLECTIVES: Mapping[str, str] = {
    "HcomAllReduce": "all_reduce", "HorovodAllreduce": "all_reduce", "HcomAllGather": "all_gather",
    "HcomReduceScatter": "reduce_scatter", "HcomAllToAll": "all_to_all", "HcomAllToAllV": "all_to_all",
    "HcomAllToAllVC": "all_to_all", "HcomBroadcast": "broadcast", "HorovodBroadcast": "broadcast", "HcomReduce": "reduce",
    "HcomSend": "send", "HcomReceive": "send", "HcomRemoteRead": "send", "HcomRemoteWrite": "send",
    "MoeDistributeDispatch": "all_to_all", "MoeDistributeDispatchV2": "all_to_all", "MoeDistributeCombine": "all_to_all",
    "MoeDistributeCombineV2": "all_to_all",
}  # fmt: skip


class PlacementLike(Protocol):
    """What the cost model needs to know about placement: engine id and core kind of each node id."""

    @property
    def engine(self) -> tuple[str, ...]:
        """GE engine id per node id."""

    @property
    def core(self) -> tuple[str, ...]:
        """AIC, AIV, MIX, AICPU, HCCL, DSA or NONE per node id."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Parameters of the model; all editable. Times in ns, bandwidths in bytes/s.

    A group of more than ``ranks_per_node`` ranks crosses nodes: its links run at ``node_link_bandwidth``.

    ``scale`` is the sensitivity slider (0.5 to 2) applied to every modelled duration, not to given ones.
    """

    cube_efficiency: float = 0.85
    vector_efficiency: float = 0.6
    memory_efficiency: float = 0.9
    launch_base_ns: float = 450.0
    launch_block_ns: float = 55.0
    launch_most_ns: float = 2200.0
    least_ns: float = 1000.0
    aicpu_ns: float = 100_000.0
    aicpu_elements_per_s: float = 0.5e9
    link_latency_ns: float = 10_000.0
    link_bandwidth: float = 56e9
    node_link_bandwidth: float = 25e9
    ranks_per_node: int = 8
    ranks: int = 8
    serial_share: float = 0.5
    scale: float = 1.0

    def launch_ns(self, blocks: int) -> float:
        """Fixed cost inside a kernel's duration, by block count (fit over public samples, rough)."""
        return min(self.launch_base_ns + self.launch_block_ns * blocks, self.launch_most_ns)


@dataclass(frozen=True, slots=True)
class NodeCost:
    """Cost of one node. ``ns`` 0 and ``task`` False: the node runs no task. ``bound`` is the term that decided.

    ``terms`` are the competing times in ns; ``aic``/``aiv`` the cores held; ``why`` a key: model, dims, family, given, ...
    """

    ns: int
    origin: Origin
    bound: Bound
    aic: int = 0
    aiv: int = 0
    task: bool = True
    family: str = ""
    work: Work | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    why: str = "model"


NO_TASK = NodeCost(0, Origin.GE_RULE, "none", task=False, family="no task", why="no task")


@dataclass(frozen=True, slots=True, eq=False)
class CostTable:
    """Cost of every node id (None where the id does not exist) for one chip."""

    chip: Chip
    model: CostModel
    nodes: tuple[NodeCost | None, ...]

    def of(self, node: int) -> NodeCost:
        """Cost of a node; a node that does not exist costs nothing."""
        found = self.nodes[node] if 0 <= node < len(self.nodes) else None
        return found or NO_TASK


def cost_table(
    graph: Graph,
    placement: PlacementLike | None = None,
    chip: Chip | None = None,
    model: CostModel | None = None,
    *,
    measured: Mapping[int, int] | None = None,
) -> CostTable:
    """Cost of all nodes. Without ``placement`` the core kind follows from the operator's family (marked assumed).

    ``measured``: duration in ns of node ids, from a profile (see profile.py); these nodes are not modelled.
    """
    if measured:
        graph = graph.with_attrs({i: {GIVEN_NS: ns, GIVEN_ORIGIN: Origin.MEASURED.value} for i, ns in measured.items()})
    chip, model = chip or CHIPS[DEFAULT_CHIP], model or CostModel()
    operands = Operands(graph)
    alike: dict[tuple[object, ...], NodeCost] = {}  # nodes without attributes whose operands are equal cost the same
    rows: list[NodeCost | None] = []
    for n in graph.nodes:
        if n is None:
            rows.append(None)
            continue
        key: tuple[object, ...] | None = None
        if not n.attrs:
            ids = [id(o) for o in (*operands.inputs(n), None, *operands.outputs(n))]
            key = (n.op, *_placed(n, placement), *ids)
        cost = alike.get(key) if key is not None else None
        if cost is None:
            cost = _node_cost(n, operands, placement, chip, model)
            if cost.ns > LONGEST_NS:
                cost = replace(cost, ns=LONGEST_NS)
            if key is not None:
                alike[key] = cost
        rows.append(cost)
    return CostTable(chip, model, tuple(rows))


def _node_cost(
    node: Node, operands: Operands, placement: PlacementLike | None, chip: Chip, model: CostModel
) -> NodeCost:
    engine, core = _placed(node, placement)
    limits = read_limits(node.attrs, total_aic=chip.aic, total_aiv=chip.aiv or chip.aic, where=f"node {node.name}")
    given = node.attrs.get(GIVEN_NS)
    if given is not None:
        return _given_cost(node, given, core, operands, chip, model, limits)
    if _runs_nothing(node, engine):
        return NO_TASK
    if node.op in _COLLECTIVES or engine == "DNN_HCCL":
        return _collective_cost(node, operands, model)
    work = work_of(node, operands)
    why = "family" if work.family == "unknown" else "dims" if work.assumed else "model"
    origin = Origin.ASSUMED if work.assumed or placement is None else Origin.MODEL
    if core == "AICPU":
        elements = sum(o.elements for o in operands.outputs(node))
        ns = model.aicpu_ns + elements / model.aicpu_elements_per_s * 1e9
        return NodeCost(
            round(ns * model.scale), origin, "fixed", family=work.family, work=work, terms={"aicpu": ns}, why=why
        )
    return _kernel_cost(node, work, core, chip, model, limits, origin, why)


def _placed(node: Node, placement: PlacementLike | None) -> tuple[str, str]:
    if placement is not None and node.id < len(placement.core) and placement.core[node.id]:
        return placement.engine[node.id], placement.core[node.id]
    family = family_of(node.op)
    core = {"conv": "AIC", "deconv": "AIC", "matmul": "AIC", "attention": "MIX", "rnn": "MIX"}.get(family, "AIV")
    return "", core


def _runs_nothing(node: Node, engine: str) -> bool:
    if node.is_source or node.op in _SYNC_OPS or node.attrs.get(MANUAL_SYNC):
        return True
    if node.attrs.get("_no_task") or node.attrs.get("_notask"):
        return True
    return engine in _NO_TASK_ENGINES or (not engine and node.op in _LOCAL_OPS)


def _cores(node: Node, work: Work, core: str, chip: Chip, limits: CoreLimits) -> tuple[int, int, int, int]:
    """(aic, aiv) wanted without limits, then granted under the limits."""
    stated = node.attrs.get(BLOCKS)
    blocks = stated if isinstance(stated, int) and stated > 0 else None
    aic = aiv = 0
    if core in ("AIC", "MIX"):
        aic = min(blocks or work.cube_blocks, chip.aic)
    if core == "AIV":
        aiv = min(blocks or work.vector_blocks, chip.vector_units)
    if core == "MIX":
        aiv = min(2 * aic, chip.vector_units)
    if not (chip.split and chip.aiv):  # one pool: vector work takes AI Cores
        aic, aiv = max(aic, aiv), 0
    got_aic = min(aic, limits.aic or aic)
    got_aiv = min(aiv, limits.aiv or aiv)
    return aic, aiv, got_aic, got_aiv


def _under_limits(ns: float, cores: tuple[int, int, int, int], model: CostModel) -> float:
    aic, aiv, got_aic, got_aiv = cores
    slower = max(
        scale_with_cores(1.0, aic, got_aic, model.serial_share), scale_with_cores(1.0, aiv, got_aiv, model.serial_share)
    )
    return ns * slower


def _kernel_cost(
    node: Node, work: Work, core: str, chip: Chip, model: CostModel, limits: CoreLimits, origin: Origin, why: str
) -> NodeCost:
    cores = _cores(node, work, core, chip, limits)
    aic, aiv = cores[0], cores[1]
    held = max(1, aic, aiv)
    peak, ddr, l2 = (float(q.value or 0) for q in (chip.fp16_flops, chip.ddr_bandwidth, chip.l2_bandwidth))
    cube = vector = 0.0
    if work.flops:
        cube = work.flops / (peak * work.cube_speed * (aic or held) / chip.aic * model.cube_efficiency) * 1e9
    if work.vops:
        units = aiv or held
        vector = (
            work.vops
            / (chip.vector_rate(work.element_bytes) * min(1.0, units / chip.vector_units) * model.vector_efficiency)
            * 1e9
        )
    share = min(1.0, held / chip.aic) if core != "DSA" and core != "NONE" else 1.0
    fits = work.nbytes < 0.5 * chip.l2_mib * 2**20
    hot_rate = l2 if fits else ddr * model.memory_efficiency
    memory = (
        (work.hot_bytes / (hot_rate * share) + work.cold_bytes / (ddr * model.memory_efficiency * share))
        / work.efficiency
        * 1e9
    )
    launch = model.launch_ns(max(aic, aiv, 1))
    terms = {"compute": cube, "vector": vector, "memory": memory, "launch": launch}
    body = _under_limits(max(cube, vector, memory), cores, model)
    total = max(launch + body, model.least_ns)
    bound: Bound = "launch"
    if body >= launch:
        bound = "compute" if cube >= max(vector, memory) else "vector" if vector >= memory else "memory"
    if core in ("DSA", "NONE") and work.family not in ("copy", "random"):
        origin, why = Origin.ASSUMED, "family"
    return NodeCost(
        math.ceil(total * model.scale), origin, bound, cores[2], cores[3], True, work.family, work, terms, why
    )


def kernel_ns(work: Work, core: str, chip: Chip | None = None, model: CostModel | None = None) -> float:
    """Modelled duration in ns of a kernel that does ``work`` on cores of kind ``core``, without limits."""
    nobody = Node(-1, "", "")
    chip, model = chip or CHIPS[DEFAULT_CHIP], model or CostModel()
    return float(_kernel_cost(nobody, work, core, chip, model, CoreLimits(), Origin.MODEL, "model").ns)


def _given_cost(
    node: Node, given: Any, core: str, operands: Operands, chip: Chip, model: CostModel, limits: CoreLimits
) -> NodeCost:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= LONGEST_NS:
        raise OptionError(
            f"{GIVEN_NS} is a whole number of nanoseconds, 0 to {LONGEST_NS}", where=f"node {node.name}", got=given
        )
    word = str(node.attrs.get(GIVEN_ORIGIN, Origin.MEASURED.value))
    if word not in set(Origin):
        raise OptionError(f"{GIVEN_ORIGIN} is one of {', '.join(Origin)}", where=f"node {node.name}", got=word)
    work = work_of(node, operands)
    if core not in ("AIC", "AIV", "MIX"):
        return NodeCost(
            given, Origin(word), "given", family=work.family, work=work, terms={"given": given}, why="given"
        )
    cores = _cores(node, work, core, chip, limits)
    ns = round(_under_limits(given, cores, model))
    # A measured time under another core limit is no longer a measurement.
    origin = Origin(word) if ns == given else Origin.MODEL
    return NodeCost(
        ns,
        origin,
        "given",
        cores[2],
        cores[3],
        True,
        work.family,
        work,
        {"given": given},
        "given" if ns == given else "limit",
    )


def collective_ns(kind: str, nbytes: float, ranks: int, model: CostModel | None = None) -> float:
    """Alpha-beta time of a collective in ns. ``nbytes`` is the full buffer, ``ranks`` the group size.

    >>> round(collective_ns("all_reduce", 56e6, 2) / 1000)
    1020
    """
    model = model or CostModel()
    p = max(1, ranks)
    bandwidth = model.link_bandwidth if p <= model.ranks_per_node else model.node_link_bandwidth
    alpha, per_byte = model.link_latency_ns, 1e9 / bandwidth
    if p == 1:
        return 0.0
    steps = math.ceil(math.log2(p))
    if kind == "all_reduce":
        ring = 2 * (p - 1) * alpha + 2 * nbytes * (p - 1) / p * per_byte
        return min(ring, 2 * steps * (alpha + nbytes * per_byte))
    if kind in ("reduce_scatter", "all_gather", "all_to_all"):
        return (p - 1) * alpha + nbytes * (p - 1) / p * per_byte
    if kind in ("broadcast", "reduce"):
        return steps * alpha + nbytes * per_byte
    return alpha + nbytes * per_byte


def _collective_cost(node: Node, operands: Operands, model: CostModel) -> NodeCost:
    kind = _COLLECTIVES.get(node.op)
    ins, outs = operands.inputs(node), operands.outputs(node)
    read, written = _bytes(ins), _bytes(outs)
    size = max(read, written)
    stated = node.attrs.get("rank_size", node.attrs.get("ep_world_size"))
    known = isinstance(stated, int) and stated > 0
    ranks = int(stated) if known and stated is not None else model.ranks
    assumed = not known or kind is None or any(o.assumed for o in ins + outs)
    why = "family" if kind is None else "ranks" if not known else "dims" if assumed else "model"
    ns = max(collective_ns(kind or "send", size, ranks, model), model.least_ns)
    origin = Origin.ASSUMED if assumed else Origin.MODEL
    return NodeCost(math.ceil(ns * model.scale), origin, "link", family=kind or "link", terms={"link": ns}, why=why)


def _bytes(operands: Sequence[Any]) -> float:
    return float(sum(o.nbytes for o in operands))
