"""hccl-prepare: collectives of one communicator get one parallel group, and the flags memory planning needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.optimize.hccl_scope import KEYS, collectives, skip
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

GROUP, PARALLEL_GROUP, MUTABLE = "group", "_parallel_group", "_input_mutable"
CONTINUOUS = ("continuous_input", "continuous_output")
WORLD = "hccl_world_group"
_SOURCE = "compiler/engines/hccl_engine/hcom_graph_adaptor/ge_plugin/hcom/hcom_graph_optimizer.cc: OptimizeGraphPrepare"
_CONTIGUOUS = frozenset({"HcomAllReduce", "HcomBroadcast", "HcomReduce"})
_MUTABLE = frozenset({"HcomAllReduce", "HcomReduceScatter", "HcomReduce"})


@dataclass(frozen=True)
class HcclPrepare(Pass):
    """Attributes of collectives.

    Rule: ``_parallel_group`` = ``hcom_op_<k>``, k counts communication groups from 1 in first-seen order, unless the node has
    one; AllReduce, Broadcast and Reduce take and give one continuous block; AllReduce, ReduceScatter and Reduce may overwrite
    their input.

    GE source: hcom_graph_optimizer.cc, exact for the attributes named here.
    Example: two AllReduce of ``hccl_world_group`` -> both ``hcom_op_1``: they will run one after the other.
    """

    name: ClassVar[str] = "hccl-prepare"
    title: ClassVar[Text] = Text("Collectives", "集合通信准备")
    summary: ClassVar[Text] = Text("Groups collectives by communicator.", "按通信域给集合通信算子分组。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS
    ge_name: ClassVar[str] = "HcomGraphOptimizer::OptimizeGraphPrepare"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "group": Rule(Text("One parallel group a communicator.", "每个通信域一个并行组。"), _SOURCE),
            "flags": Rule(Text("What this collective needs of its buffers.", "该集合通信对缓冲区的要求。"), _SOURCE),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return skip(s, ctx, self.ge_name)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Same nodes with attributes; NOT_CHANGED when all had them."""
        changes: dict[int, Mapping[str, Any]] = {}
        numbers: dict[str, str] = {}
        for n in collectives(s.graph):
            group = str(n.attrs.get(GROUP, WORLD))
            name = numbers.setdefault(group, f"hcom_op_{len(numbers) + 1}")
            wanted: dict[str, Any] = {PARALLEL_GROUP: name}
            if n.op in _CONTIGUOUS:
                wanted |= dict.fromkeys(CONTINUOUS, True)
            if n.op in _MUTABLE:
                wanted[MUTABLE] = True
            new = {k: v for k, v in wanted.items() if k not in n.attrs}
            if not new:
                continue
            changes[n.id] = new
            if PARALLEL_GROUP in new:
                ctx.decide(node(n.id), "parallel group", None, name, "group", note=Text(group, group))
            if len(new) > (PARALLEL_GROUP in new):
                flags = [k for k in new if k != PARALLEL_GROUP]
                ctx.decide(node(n.id), "attributes", None, ", ".join(flags), "flags", decisive=False)
        ctx.status = "SUCCESS" if changes else "NOT_CHANGED"
        return s.evolve(graph=s.graph.with_attrs(changes)) if changes else s
