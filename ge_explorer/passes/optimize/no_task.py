"""No-task concatenation: what ConcatNotaskPass and PackNotaskPass have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.graph.model import DATA_LIKE, DTYPE_BITS, Node, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.facts import layout, sizes
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/memory_optimize/notask_pass_base.cc"
ALIGNMENT = 32
"""Bytes every input must be a multiple of."""
_DEPTH = 100
NO_TASK, CONTINUOUS, REUSE = "_no_task", "_no_padding_continuous_input", "_output_reuse_input"
VIRTUAL = (NO_TASK, CONTINUOUS, REUSE)
_NEVER = DATA_LIKE | {"Variable", "Const", "Constant"}
BUSY = ("continuous_input", "continuous_output", "reference", "atomic_output_index")


def rules(types: str) -> dict[str, Rule]:
    """Reasons for or against; ``types`` names the operator in the text."""
    no = {
        "shape": ("its shapes are not all known", "形状未全部已知"),
        "size": ("an input is a scalar or no multiple of 32 bytes", "有输入为标量或不是 32 字节的整数倍"),
        "source": ("an input comes from a node that cannot write into it", "有输入的生产者不能直接写入"),
        "shared": ("an input is a result of the model or is used twice", "有输入同时是模型输出或被重复使用"),
        "axis": ("the dimensions before the axis are not all 1", "拼接轴之前的维度不全为 1"),
        "reader": ("a reader is virtual itself", "读者本身也是虚拟节点"),
    }
    out = {
        f"kernel-{k}": Rule(Text(f"Keeps its kernel: {e}.", f"保留核函数：{z}。"), _SOURCE) for k, (e, z) in no.items()
    }
    text = Text(
        f"{types} needs no kernel: its inputs are written into one buffer.",
        f"{types} 无需核函数：输入直接写入同一缓冲区。",
    )
    return {"no-task": Rule(text, f"{_SOURCE}: SetNotaskAttr"), **out}


@dataclass(frozen=True)
class NoTaskPass(GraphPass):
    """Base: conditions on inputs, readers and memory; subclasses say which axis counts."""

    ops: ClassVar[frozenset[str]] = frozenset()

    def axis(self, w: Work, n: Node, shapes: list[tuple[int, ...]]) -> bool:
        """True if the axis condition holds."""
        raise ContractError(f"pass {self.name!r} has no axis()")

    def apply(self, w: Work, scope: int) -> None:
        """Mark in one graph."""
        s = w.e.scope(scope)
        if (
            s.dynamic
            or s.attrs.get("_memory_discontiguous_allocation")
            or w.before.attrs.get("_memory_discontiguous_allocation")
        ):
            return
        locked: set[int] = set()
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op not in self.ops or any(n.attrs.get(a) for a in VIRTUAL):
                continue
            reason = self._reason(w, n, locked)
            if reason:
                w.keep(n, f"kernel-{reason}")
                continue
            locked.update(t for t in n.inputs if t is not None)
            w.e.update_attrs(i, {NO_TASK: True, CONTINUOUS: True, REUSE: True, "_reuse_input_on_dim_index": 0})
            w.changed = True
            w.ctx.decide(Ref("node", i), "kernel", "yes", "no", "no-task", [Ref("node", p.id) for p in w.producers(n)])

    def _reason(self, w: Work, n: Node, locked: set[int]) -> str:
        data = self.data_inputs(w, n)
        tensors = [w.e.tensor(t) for t in data]
        shapes = [d for t in (*tensors, *w.outputs(n)) if (d := sizes(t.shape)) is not None]
        if not tensors or len(shapes) != len(tensors) + len(n.outputs) or len(n.outputs) != 1:
            return "shape"
        if any(not s for s in shapes[: len(tensors)]) or (len(tensors) > 1 and any(_odd(t) for t in tensors)):
            return "size"
        roots = [_root(w, t) for t in tensors]
        if any(not _writes(w, t, r) for t, r in zip(tensors, roots, strict=True)):
            return "source"
        if len({r.id for r in roots}) != len(roots) or locked & set(data) or any(_is_result(w, t) for t in data):
            return "shared"
        if "lxslice" in n.name or not self.axis(w, n, shapes[: len(tensors)]):
            return "axis"
        return "reader" if any(is_virtual(w, e.dst) for e in w.readers(n)) else ""

    def data_inputs(self, w: Work, n: Node) -> list[int]:
        """Inputs that are concatenated."""
        return [t for t in n.inputs if t is not None]


def _odd(t: Tensor) -> bool:
    return not t.nbytes or t.nbytes % ALIGNMENT != 0 or t.dtype not in DTYPE_BITS


def _root(w: Work, t: Tensor) -> Tensor:
    """Tensor that owns the memory, looking through operators whose output is their input."""
    for _ in range(_DEPTH):
        n = w.node(t.producer)
        if (
            n.op not in ("Reshape", "ReFormat", "Squeeze", "Unsqueeze", "Identity")
            or not n.inputs
            or n.inputs[0] is None
        ):
            return t
        if n.op == "Identity" and not n.attrs.get("reference"):
            return t
        t = w.e.tensor(n.inputs[0])
    return t


def _writes(w: Work, t: Tensor, root: Tensor) -> bool:
    """True if the producer can write straight into the concatenation."""
    for p in (w.node(t.producer), w.node(root.producer)):
        if p.op in _NEVER or p.subgraphs or any(p.attrs.get(a) for a in (*VIRTUAL, *BUSY)):
            return False
    return True


def _is_result(w: Work, t: int) -> bool:
    readers = w.e.readers(t)
    return len(readers) > 1 and any(w.node(e.dst).op == "NetOutput" for e in readers)


def is_virtual(w: Work, i: int) -> bool:
    """True if a node, looking through one Reshape, works by memory layout alone."""
    n = w.node(i)
    if n.op == "Reshape":
        after = w.readers(n)
        n = w.node(after[0].dst) if after else n
    return any(n.attrs.get(a) for a in VIRTUAL)


def plain_layout(t: Tensor) -> bool:
    """True for a tensor stored dimension by dimension."""
    return layout(t) in ("", "ND", "NCHW", "NHWC", "NCDHW", "NDHWC", "HWCN")
