"""hccl-continuous-memcpy: a copy before a collective whose inputs must lie side by side."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import DATA_LIKE, Node
from ge_explorer.passes.optimize.base import run
from ge_explorer.passes.optimize.hccl_copies import VARIABLES, assign_back, copy_before, counted
from ge_explorer.passes.optimize.hccl_scope import KEYS, skip
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

CONTINUOUS_INPUT, MEMORY_TYPES, KEPT = "continuous_input", "_input_memory_type", "_cannot_be_deleted"
P2P_DDR = 17
"""RT_MEMORY_P2P_DDR: memory that other devices reach directly."""
_SOURCE = "compiler/graph/passes/memory_conflict/hccl_continuous_memcpy_pass.cc"
_OUTSIDE = DATA_LIKE | VARIABLES | {"Const", "Constant"}


@dataclass(frozen=True)
class HcclContinuousMemcpy(Pass):
    """Identity before inputs that cannot be placed where the operator needs them.

    Rule, for every input of an operator with ``continuous_input``: the producer is data, constant or variable (it has a place of
    its own already), or its output feeds more than one continuous input. The same for a producer outside the graph's memory whose
    reader wants P2P memory. A Broadcast of a variable gets an Assign back.

    GE source: HcclContinuousMemcpyPass, exact. Of two continuous readers of one output the first gets the copy; then only one is
    left and the second needs none.
    Example: ``x -> HcomAllReduce`` -> ``x_HcclContinuousMemcpyPass_Identity`` between them.
    """

    name: ClassVar[str] = "hccl-continuous-memcpy"
    title: ClassVar[Text] = Text("Continuous inputs", "连续输入拷贝")
    summary: ClassVar[Text] = Text("Copies inputs that must lie side by side.", "为必须连续放置的输入插入拷贝。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS
    ge_name: ClassVar[str] = "HcclContinuousMemcpyPass"
    source: ClassVar[str] = f"{_SOURCE}: HcclContinuousMemcpyPass::Run"
    rules = MappingProxyType(
        {
            "not-continuous": Rule(Text("The input has a place of its own and cannot lie beside the others.",
                                        "输入已有自己的位置，无法与其他输入连续放置。"),
                                   f"{_SOURCE}: ContinuousInputProcess"),
            "two-places": Rule(Text("Two operators want this output beside their other inputs.",
                                    "两个算子都要求该输出与各自的其他输入连续。"),
                               f"{_SOURCE}: HasMultiPeerNodeRequireInputContinuous"),
            "p2p": Rule(Text("The operator wants its input in P2P memory.", "算子要求输入位于 P2P 内存。"),
                        f"{_SOURCE}: P2pmemInputProcess"),
            "assign-back": Rule(Text("The broadcast value goes back to the variable.", "广播结果写回变量。"),
                                f"{_SOURCE}: InsertAssignAfterBroadcastIfNeed"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return skip(s, ctx, self.ge_name)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with one Identity an input that needs it."""

        def body(w: Work) -> None:
            for i in s.graph.walk():
                for k in range(len(w.node(i).inputs)):
                    _place(w, w.node(i), k)

        return run(s, ctx, body)


def _place(w: Work, n: Node, index: int) -> None:
    tensor = n.inputs[index]
    if tensor is None:
        return
    producer = w.node(w.e.tensor(tensor).producer)
    rule = _rule(w, n, index, tensor, producer)
    if rule:
        copy_before(w, n, index, counted(w, f"{producer.name}_HcclContinuousMemcpyPass_Identity"), rule, {KEPT: True})
        assign_back(w, w.node(n.id), index, producer, counted(w, f"{producer.name}_Assign"), "assign-back",
                    {"_node_need_compile": True})  # fmt: skip


def _rule(w: Work, n: Node, index: int, tensor: int, producer: Node) -> str:
    if n.attrs.get(CONTINUOUS_INPUT):
        if producer.op in _OUTSIDE:
            return "not-continuous"
        if sum(bool(w.node(e.dst).attrs.get(CONTINUOUS_INPUT)) for e in w.e.readers(tensor)) > 1:
            return "two-places"
    types = n.attrs.get(MEMORY_TYPES)
    wanted = types[index] if isinstance(types, list | tuple) and index < len(types) else None
    return "p2p" if wanted in (P2P_DDR, "P2P_DDR") and producer.op in _OUTSIDE else ""
