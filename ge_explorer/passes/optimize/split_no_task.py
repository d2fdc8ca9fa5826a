"""split-no-task: a split whose results can stay where they are needs no kernel."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import DATA_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.facts import CONST, layout, sizes
from ge_explorer.passes.optimize.no_task import ALIGNMENT, BUSY, VIRTUAL, is_virtual, plain_layout
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/engines/nn_engine (FE): SplitNOptimizer, SplitCToNOptimizer"
NO_PADDING_OUTPUT = "_no_padding_continuous_output"


@dataclass(frozen=True)
class SplitNoTask(GraphPass):
    """Mark SplitD and SplitVD as no-task where every result is a slice of the input's memory.

    Rule: static shapes; dimension 0, or dimension 1 when dimension 0 of the result is 1 and the layout is plain on both sides;
    every result a multiple of 32 bytes, none of them a result of the model; the input comes from an operator whose outputs are
    laid out freely; nobody else who reads the input or a result is virtual.

    GE source: FE's split optimisers in OptimizeGraphBeforeBuild (switch ``FusionVirtualOpSetSwitch``, level O2). The aligned C0
    cases of other layouts are not modelled. ONNX Split imports as SplitV, which is not eligible.
    Example: ``[4,64]`` float on dimension 0.
    """

    name: ClassVar[str] = "split-no-task"
    title: ClassVar[Text] = Text("Split no-task", "切分免任务")
    summary: ClassVar[Text] = Text(
        "Splits that memory layout can do lose their kernel.", "可由内存布局完成的切分不再需要核函数。"
    )
    ge_name: ClassVar[str] = "FusionVirtualOpSetSwitch"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 2
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "split-no-task": Rule(
                Text("Its results are slices of its input's memory.", "其结果就是输入内存的切片。"), _SOURCE
            ),
            "split-kernel": Rule(
                Text(
                    "A result would not start on its own 32 bytes, or must lie elsewhere.",
                    "有结果无法按 32 字节起始，或必须放在别处。",
                ),
                _SOURCE,
            ),
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Mark in one graph."""
        if w.e.scope(scope).dynamic:
            return
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op not in ("SplitD", "SplitVD") or n.attrs.get("_no_task"):
                continue
            if not _fits(w, n):
                w.keep(n, "split-kernel")
                continue
            w.e.update_attrs(
                i,
                {
                    "_no_task": True,
                    NO_PADDING_OUTPUT: True,
                    "_output_reuse_input": True,
                    "_reuse_input_on_dim_index": 0,
                },
            )
            w.changed = True
            w.ctx.decide(
                Ref("node", i), "kernel", "yes", "no", "split-no-task", [Ref("node", p.id) for p in w.producers(n)]
            )


def _fits(w: Work, n: Node) -> bool:
    axis = n.attrs.get("split_dim", n.attrs.get("axis"))
    if not isinstance(axis, int) or not n.inputs or n.inputs[0] is None:
        return False
    source, outs = w.e.tensor(n.inputs[0]), w.outputs(n)
    dims = sizes(source.shape)
    if (
        dims is None
        or not dims
        or not all(plain_layout(t) for t in (source, *outs))
        or not -len(dims) <= axis < len(dims)
    ):
        return False
    axis %= len(dims)
    if axis > 1 or (axis == 1 and (dims[0] != 1 or any(layout(t) != layout(source) for t in outs))):
        return False
    p = w.node(source.producer)
    if p.op in DATA_LIKE or p.op in CONST or p.subgraphs or any(p.attrs.get(a) for a in (*VIRTUAL, *BUSY)):
        return False
    # Bytes have one place: neither the whole nor a piece can also belong to another node that works by layout alone.
    if any(is_virtual(w, e.dst) for t in (source, *outs) for e in w.e.readers(t.id) if e.dst != n.id):
        return False
    if any(not t.nbytes or t.nbytes % ALIGNMENT for t in outs):
        return False
    return not any(w.node(e.dst).op == "NetOutput" for e in w.readers(n))
