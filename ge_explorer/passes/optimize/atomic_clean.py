"""atomic-clean: buffers that kernels add to are filled with zeros first."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.rare import InsertingPass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

POLICY = "ge.exec.atomicCleanPolicy"
ATOMIC = ("is_atomic_node", "atomic_output_index", "atomic_workspace_info")
CENTRAL = "atomic_addr_clean"
_SOURCE = "compiler/graph/passes/memory_conflict/atomic_addr_clean_pass.cc"


@dataclass(frozen=True)
class AtomicClean(InsertingPass):
    """MemSet operators with a control edge to every operator that accumulates into its output or workspace.

    Rule: operators with ``atomic_output_index`` or atomic workspace, unless they clean for themselves
    (``need_gentask_atomic``); they are marked ``is_atomic_node``. One MemSet a graph; with ``ge.exec.atomicCleanPolicy`` = 1 one
    per operator.

    GE source: atomic_addr_clean_pass.cc. Not modelled: one node per group of a TensorFlow-1 loop. Which kernels accumulate is in
    the operator package: without the attributes (an imported model) nothing is inserted.
    Example: ``UnsortedSegmentSum`` with ``atomic_output_index`` (0,).
    """

    name: ClassVar[str] = "atomic-clean"
    title: ClassVar[Text] = Text("Zero fill", "原子清零")
    summary: ClassVar[Text] = Text("Zeroes buffers that kernels add to.", "先清零被累加的缓冲区。")
    option_keys: ClassVar[frozenset[str]] = InsertingPass.option_keys | {POLICY}
    ge_name: ClassVar[str] = "AtomicAddrCleanPass"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 1
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "zero-first": Rule(Text("Its memory must be zero before it starts.", "执行前其内存必须为零。"), _SOURCE),
            "cleans-itself": Rule(Text("Its own task fills it with zeros.", "由其自身任务清零。"), _SOURCE),
        }
    )

    def concerns(self, n: Node) -> bool:
        """Accumulating kernels."""
        return any(n.attrs.get(a) for a in ATOMIC)

    def absent(self) -> Text:
        """In words."""
        return Text("no operator accumulates into its output", "没有累加输出的算子")

    def apply(self, w: Work, scope: int) -> None:
        """Insert in one graph."""
        central: Node | None = None
        for i in w.e.members(scope):
            n = w.node(i)
            if not self.concerns(n) or any(w.node(c).op == "MemSet" for c in n.control_in):
                continue
            if n.attrs.get("need_gentask_atomic"):
                w.keep(n, "cleans-itself")
                continue
            separate = w.option(POLICY) == "1"
            clean = None if separate else central
            if clean is None:
                name = w.unique(f"{n.name}_{CENTRAL}" if separate else CENTRAL)
                made = w.e.add_node(name, "MemSet", scope=scope, origin=(i,), front=True)
                w.changed = True
                clean = w.node(made)
                w.say(clean, None, "MemSet", "zero-first", [Ref("node", i)])
            central = central if separate else clean
            w.order(clean.id, i)
            w.e.update_attrs(i, {"is_atomic_node": True})
            w.say(n, None, clean.name, "zero-first", [Ref("node", clean.id)])
