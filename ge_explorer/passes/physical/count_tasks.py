"""count-tasks: how many tasks each node puts on its streams. A model of ours: the real numbers come from the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.device.chips import chip_named
from ge_explorer.errors import GxError, OptionError
from ge_explorer.graph.model import Node
from ge_explorer.ids import node
from ge_explorer.passes.physical.accounting import SA, assigned, is_hccl
from ge_explorer.passes.physical.limits import LIMIT_OPTIONS, SOC, limits
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, SYNC_OPS, Snapshot, TaskGroup, TaskTable

PER_NODE = "gx.tasksPerNode"
_DEFAULT = 3
_HCCL_DEFAULT = 245
_SOURCE = f"{SA}: StreamAllocator::CollectTaskSize"


@dataclass(frozen=True)
class CountTasks(Pass):
    """Assume task numbers where the graph states none, and look up how many fit on a stream of this chip.

    Rule: ``_node_sqe_num``, ``_hccl_task_num`` and ``_hccl_attached_task_num`` are taken as they stand. Otherwise [assumed]: a
    node that runs something makes 3 tasks per stream, a collective 245, a Send or Recv 1, of which a wait takes two entries.

    GE source: GenTask of every engine decides (not in GE itself); 3 a node is what GE's own tests use.
    Options: ``gx.tasksPerNode``, ``gx.maxTasksPerStream``, ``gx.maxTasksPerHugeStream``, ``gx.unlimitedStreamDepth``,
    ``ge.socVersion``.
    """

    name = "count-tasks"
    title = Text("Count tasks", "统计任务")
    summary = Text("Counts the tasks that every node puts on its streams.", "统计每个节点在各流上的任务数。")
    chapter = "physical"
    reads = frozenset({"graph", "streams", "sequence", "placement"})
    writes = frozenset({"tasks"})
    option_keys = LIMIT_OPTIONS | {PER_NODE}
    ge_name = "GenTask"
    source = _SOURCE
    fidelity = "ours"
    rules = MappingProxyType(
        {
            "declared": Rule(Text("The node declares its number.", "节点自行声明任务数。"), _SOURCE),
            "assumed": Rule(
                Text("Assumed: real numbers come from the kernels.", "假设值：真实数量由算子决定。"), "ours"
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with a task table. Sources and nodes without a kernel make none."""
        assert s.streams is not None
        per_node = _per_node(ctx)
        known = limits({k: ctx.option(k) for k in LIMIT_OPTIONS}, _family(ctx.option(SOC)))
        of: dict[int, tuple[TaskGroup, ...]] = {}
        graph, streams, attached = s.graph, s.streams.node.tolist(), s.streams.attached
        engine = s.placement.engine if s.placement is not None else ("",) * graph.id_bound
        for i in s.sequence or ():
            n, main = graph.node(i), streams[i]
            if main == NO_STREAM or n.is_source or _free(n, engine[i]):
                continue
            beside = [x for x in attached.get(i, ()) if x != NO_STREAM]
            of[i] = _groups(n, main, beside, per_node)
            rule = "declared" if assigned(n, attached=False) else "assumed"
            ctx.decide(node(i), "tasks", None, sum(g.count for g in of[i]), rule, decisive=False)
        table = TaskTable(MappingProxyType(of), known.tasks, known.huge, known.unlimited, "assumed")
        return s.evolve(tasks=table)


def _free(n: Node, engine: str) -> bool:
    """True for nodes that run nothing (DNNEngineManager::IsNoTask)."""
    return n.attrs.get("_no_task") is True or (engine in ("DNN_VM_GE_LOCAL", "DNN_VM_HOST_CPU") and not n.subgraphs)


def _groups(n: Node, main: int, beside: list[int], per_node: int) -> tuple[TaskGroup, ...]:
    if n.op in SYNC_OPS:
        return (TaskGroup(main, 1, wait=n.op.startswith("Recv")),)
    if n.op == "StreamActive":
        return (TaskGroup(main, 1),)
    count = _HCCL_DEFAULT if is_hccl(n) else per_node
    return (TaskGroup(main, count), *(TaskGroup(x, count) for x in beside))


def _per_node(ctx: PassContext) -> int:
    text = ctx.option(PER_NODE)
    if not text:
        return _DEFAULT
    if not text.isdecimal() or not 0 < int(text) < 10**6:
        raise OptionError("not a number of tasks", where=PER_NODE, got=text, todo="Write a positive whole number.")
    return int(text)


def _family(soc: str) -> str | None:
    if not soc:
        return None
    try:
        return chip_named(soc).family
    except GxError:
        return None
