"""Which operator takes which storage format: convolutions and constant matrices first, then the elementwise neighbours."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from ge_explorer.graph.model import Node, Shape, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import layout
from ge_explorer.passes.optimize.format_shapes import (
    FRACTAL_NZ,
    FRACTAL_Z,
    HEAVY,
    NC1HWC0,
    by_letter,
    storage_shape,
    unit,
)
from ge_explorer.passes.optimize.work import EXPECTED, Work
from ge_explorer.text import Text

CONV = "Conv2D"
MATMUL = frozenset({"MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})
ADOPTERS = frozenset({
    "Abs", "Accumulate", "AccumulateNV2", "Add", "AddN", "AddV2", "Adds", "Cast", "Ceil", "Celu", "ClipByValue",
    "Cos", "Div", "Elu", "Erf", "Exp", "Expm1", "FastGelu", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity",
    "LeakyRelu", "Log", "Log1p", "Maximum", "Minimum", "Mish", "Mul", "Muls", "Neg", "Pow", "RealDiv", "Reciprocal",
    "Relu", "Relu6", "Round", "Rsqrt", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Square",
    "Sub", "Swish", "Tanh",
})  # fmt: skip
"""Types that work on any layout element by element, so they take over a neighbour's format (assumed; Identity is
format-agnostic in GE)."""


_WIDTH = Text(
    "an input or its neighbour has elements of another width, so C0 differs", "输入或相邻算子的元素位宽不同，C0 不一致"
)


@dataclass
class Choices:
    """What nodes of one graph want. ``in_format``: (node, input) -> (format, groups); outputs by tensor id. What has no entry
    stays as it is: the plain format and the type of the model.
    """

    in_format: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    out_format: dict[int, str] = field(default_factory=dict)
    in_type: dict[tuple[int, int], str] = field(default_factory=dict)
    out_type: dict[int, str] = field(default_factory=dict)

    def type_in(self, n: Node, index: int, t: Tensor) -> str | None:
        """Element type a node reads at an input."""
        return self.in_type.get((n.id, index), t.dtype)

    def type_out(self, t: Tensor) -> str | None:
        """Element type in which a tensor is produced."""
        return self.out_type.get(t.id, t.dtype)


def choose_formats(w: Work, scope: int, c: Choices) -> None:
    """Fill in the formats of one graph. The types must be chosen before, because C0 depends on them."""
    grown: deque[int] = deque()
    for i in w.e.members(scope):
        n = w.node(i)
        if n.op == CONV:
            _convolution(w, n, c, grown)
        elif n.op in MATMUL:
            _matrix(w, n, c)
    refused: dict[int, Text] = {}
    while grown:
        for n, wide in _neighbours(w, grown.popleft(), c):
            if n.op not in ADOPTERS or (n.outputs and n.outputs[0] in c.out_format):
                continue
            why = _WIDTH if wide else _cannot_adopt(w, n, c)
            if why is not None:
                refused[n.id] = why
                continue
            refused.pop(n.id, None)
            _adopt(w, n, c)
            grown.append(n.id)
    for i, why in refused.items():
        w.ctx.decide(Ref("node", i), "format", "plain", "plain", "adopts-not", note=why, decisive=False)


def _convolution(w: Work, n: Node, c: Choices, grown: deque[int]) -> None:
    ins, outs = w.inputs(n), w.outputs(n)
    if len(ins) < 2 or ins[0] is None or ins[1] is None or len(outs) != 1:
        return
    x, f, y = ins[0], ins[1], outs[0]
    if any(layout(t) in HEAVY for t in (x, f, y)):
        return  # chosen before, or in the file
    groups = groups_of(w, n)
    shapes = (
        storage_shape(x.shape, layout(x), NC1HWC0, c.type_in(n, 0, x)),
        storage_shape(f.shape, layout(f), FRACTAL_Z, c.type_in(n, 1, f), groups),
        storage_shape(y.shape, layout(y), NC1HWC0, c.type_out(y)),
    )
    if None in shapes or EXPECTED in n.attrs:
        w.ctx.decide(Ref("node", n.id), "format", "plain", "plain", "conv-kept", decisive=False)
        return
    c.in_format[n.id, 0], c.in_format[n.id, 1], c.out_format[y.id] = (NC1HWC0, 1), (FRACTAL_Z, groups), NC1HWC0
    w.ctx.decide(Ref("node", n.id), "format", layout(y) or "ND", f"{NC1HWC0}, {FRACTAL_Z}", "conv")
    grown.append(n.id)


def groups_of(w: Work, n: Node) -> int:
    """Groups of a convolution: its attribute, else the channels of the input divided by those of the filter."""
    said = n.attrs.get("groups", n.attrs.get("group"))
    return said if isinstance(said, int) and said > 0 else 1


def _matrix(w: Work, n: Node, c: Choices) -> None:
    t = n.inputs[1] if len(n.inputs) > 1 else None
    if t is None or not w.is_constant(t) or EXPECTED in n.attrs:
        return
    tensor = w.e.tensor(t)
    kind = c.type_in(n, 1, tensor)
    if layout(tensor) in HEAVY or storage_shape(tensor.shape, layout(tensor), FRACTAL_NZ, kind) is None:
        return
    c.in_format[n.id, 1] = (FRACTAL_NZ, 1)
    w.ctx.decide(
        Ref("node", n.id), "format", layout(tensor) or "ND", FRACTAL_NZ, "matmul-weight", [Ref("node", tensor.producer)]
    )


def _neighbours(w: Work, i: int, c: Choices) -> Iterator[tuple[Node, bool]]:
    """Producers of the four-dimensional inputs and readers of the outputs; True where the widths of the two ends differ."""
    n = w.node(i)
    for k, t in enumerate(w.inputs(n)):
        if t is not None and t.shape is not None and len(t.shape) == 4:
            yield w.node(t.producer), unit(c.type_out(t)) != unit(c.type_in(n, k, t))
    for t in w.outputs(n):
        for e in w.e.readers(t.id):
            reader = w.node(e.dst)
            yield reader, unit(c.type_in(reader, e.dst_in, t)) != unit(c.type_out(t))


def _cannot_adopt(w: Work, n: Node, c: Choices) -> Text | None:
    """Why an elementwise operator cannot work on NC1HWC0; None if it can."""
    outs = w.outputs(n)
    if len(outs) != 1 or n.subgraphs or EXPECTED in n.attrs or layout(outs[0]) in HEAVY:
        return Text("its shapes or formats are not plain", "形状或格式并非普通格式")
    y = outs[0]
    dims, c0 = by_letter(y.shape or (), layout(y)), unit(c.type_out(y))
    if dims is None or not isinstance(dims["C"], int) or c0 is None:
        return Text("its result has no four known-channel dimensions", "结果不是通道已知的四维张量")
    for k, x in enumerate(w.inputs(n)):
        if x is None or _one(x.shape):
            continue
        there = by_letter(x.shape or (), layout(x))
        if unit(c.type_in(n, k, x)) != c0:
            return _WIDTH
        if there is None or (layout(x) or "NCHW") != (layout(y) or "NCHW"):
            return Text("an input is not of the same four dimensions", "有输入的四个维度不同")
        if there["C"] != dims["C"] or any(there[d] not in (dims[d], 1) for d in "NHW"):
            return Text("an input is broadcast along the channels", "有输入沿通道广播")
    return None


def _adopt(w: Work, n: Node, c: Choices) -> None:
    for k, x in enumerate(w.inputs(n)):
        if x is not None and not _one(x.shape):
            c.in_format[n.id, k] = (NC1HWC0, 1)
    y = w.outputs(n)[0]
    c.out_format[y.id] = NC1HWC0
    w.ctx.decide(Ref("node", n.id), "format", layout(y) or "ND", NC1HWC0, "adopts")


def _one(shape: Shape | None) -> bool:
    """A single element is the same in every format."""
    return shape is not None and all(d == 1 for d in shape)
