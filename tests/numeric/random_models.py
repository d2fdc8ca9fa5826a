"""Random ONNX graphs of the operators that optimisation looks for, correct by construction, float32 and whole numbers.

Built from a ``Choices`` (hypothesis or numpy), so that one generator serves shrinking tests and long runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from onnx import TensorProto, helper, numpy_helper

T = TypeVar("T")


class Choices(Protocol):
    """Source of decisions."""

    def pick(self, items: Sequence[T]) -> T: ...

    def seed(self) -> int: ...


class Seeded:
    """Decisions of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self.rng.integers(len(items)))]

    def seed(self) -> int:
        return int(self.rng.integers(2**31))


@dataclass(frozen=True)
class V:
    """A tensor: name, shape, element type."""

    name: str
    shape: tuple[int, ...]
    kind: int = TensorProto.FLOAT


FLOAT, HALF, DOUBLE = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE
INT64, INT32, BOOL = TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
NUMPY = {FLOAT: np.float32, HALF: np.float16, DOUBLE: np.float64, INT64: np.int64, INT32: np.int32, BOOL: np.bool_}


@dataclass
class Maker:
    """One graph under construction."""

    c: Choices
    opset: int = 17
    prefix: str = ""
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Any] = field(default_factory=dict)
    pool: list[V] = field(default_factory=list)
    count: int = 0

    def name(self, word: str) -> str:
        self.count += 1
        return f"{self.prefix}{word}{self.count}"

    def const(self, values: Any) -> str:
        name = self.name("w")
        self.weights[name] = np.asarray(values)
        return name

    def random(self, shape: Sequence[int], low: float = -1.5, high: float = 1.5) -> str:
        r = np.random.default_rng(self.c.seed())
        return self.const(r.uniform(low, high, tuple(shape)).astype(np.float32))

    def op(self, kind: str, ins: Sequence[str], shape: Sequence[int], dtype: int = FLOAT, **attrs: Any) -> V:
        out = V(self.name("t"), tuple(int(d) for d in shape), dtype)
        self.nodes.append(helper.make_node(kind, list(ins), [out.name], name=self.name(kind.lower()), **attrs))
        self.pool.append(out)
        return out

    def any(self, rank: int | None = None, low: int = 0) -> V | None:
        """A recent float tensor."""
        found = [
            v
            for v in self.pool[-9:]
            if v.kind == FLOAT and (rank is None or len(v.shape) == rank) and len(v.shape) >= low
        ]
        return self.c.pick(found) if found else None

    def like(self, v: V) -> V:
        """A tensor of the same shape, maybe ``v`` itself."""
        return self.c.pick([x for x in self.pool if x.shape == v.shape and x.kind == v.kind])


Step = Callable[[Maker], Any]


def unary(m: Maker) -> None:
    v = m.any()
    if v:
        m.op(
            m.c.pick(("Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Identity", "Floor", "LeakyRelu", "Erf", "Exp")[:9]),
            [v.name],
            v.shape,
        )


def binary(m: Maker) -> None:
    v = m.any()
    if v:
        m.op(m.c.pick(("Add", "Mul", "Sub", "Max", "Min")), [v.name, m.like(v).name], v.shape)


def with_const(m: Maker) -> None:
    v = m.any()
    if not v:
        return
    kind = m.c.pick(("Add", "Mul", "Sub", "Div"))
    shape = m.c.pick(((), (1,), v.shape[-1:], v.shape[1:], tuple(1 if k != 1 else d for k, d in enumerate(v.shape)), v.shape,
                      tuple(d if k == 0 else 1 for k, d in enumerate(v.shape[1:]))))  # fmt: skip
    number = m.c.pick((None, 0.0, 1.0, 2.0, 0.5)) if kind != "Div" else m.c.pick((2.0, 3.0, 0.1))
    w = m.random(shape, 0.5, 2.0) if number is None else m.const(np.full(shape, number, np.float32))
    ins = [v.name, w] if kind == "Div" or m.c.pick((True, False)) else [w, v.name]
    m.op(kind, ins, np.broadcast_shapes(v.shape, tuple(shape)))


def transpose(m: Maker) -> None:
    v = m.any(low=1)
    if v:
        perm = list(np.random.default_rng(m.c.seed()).permutation(len(v.shape)))
        if m.c.pick((False, False, True)):
            perm = [*range(len(v.shape) - 2), *range(len(v.shape) - 1, max(len(v.shape) - 3, -1), -1)]
        perm = [int(p) for p in perm]
        t = m.op("Transpose", [v.name], [v.shape[p] for p in perm], perm=perm)
        if m.c.pick((False, True)):
            back = [perm.index(k) for k in range(len(perm))]
            m.op("Transpose", [t.name], v.shape, perm=back)


def reshape(m: Maker) -> None:
    v = m.any()
    if not v:
        return
    n = int(np.prod(v.shape))
    shapes = [(n,), (1, n), (n, 1), (1, 1, n)] + [(d, n // d) for d in (2, 3, 4) if n % d == 0]
    if len(v.shape) == 4:
        shapes += [v.shape, (v.shape[0], v.shape[1], v.shape[2] * v.shape[3])]
    to = m.c.pick(shapes)
    how = m.c.pick(("const", "minus", "shape", "flatten"))
    if how == "flatten":
        m.op("Flatten", [v.name], (int(np.prod(v.shape[:1])), int(np.prod(v.shape[1:]))), axis=1) if v.shape else None
    elif how == "shape":  # target out of Shape, Gather, Concat
        s = V(m.name("t"), (len(v.shape),), INT64)
        m.nodes.append(helper.make_node("Shape", [v.name], [s.name], name=m.name("shape")))
        if not v.shape:
            return
        d = m.name("t")
        m.nodes.append(
            helper.make_node("Gather", [s.name, m.const(np.array([0], np.int64))], [d], name=m.name("gather"))
        )
        c = m.name("t")
        m.nodes.append(
            helper.make_node("Concat", [d, m.const(np.array([-1], np.int64))], [c], axis=0, name=m.name("concat"))
        )
        m.op("Reshape", [v.name, c], (v.shape[0], n // max(1, v.shape[0])))
    else:
        target = np.array(to, np.int64)
        if how == "minus":
            target[int(np.argmax(target))] = -1
        m.op("Reshape", [v.name, m.const(target)], to)


def squeeze(m: Maker) -> None:
    v = m.any()
    if not v:
        return
    ones = [k for k, d in enumerate(v.shape) if d == 1]
    if ones and m.c.pick((True, False)):
        k = m.c.pick(ones)
        shape = [d for j, d in enumerate(v.shape) if j != k]
        kind = "Squeeze"
    elif len(v.shape) < 5:
        k = m.c.pick(range(len(v.shape) + 1))
        shape = [*v.shape[:k], 1, *v.shape[k:]]
        kind = "Unsqueeze"
    else:
        return
    if m.opset >= 13:
        m.op(kind, [v.name, m.const(np.array([k], np.int64))], shape)
    else:
        m.op(kind, [v.name], shape, axes=[k])


def cast(m: Maker) -> None:
    v = m.any()
    if v:
        middle = m.c.pick((FLOAT, DOUBLE, HALF, INT32, INT64, BOOL))
        a = m.op("Cast", [v.name], v.shape, middle, to=middle)
        x = a
        if middle == HALF and m.c.pick((True, False)):
            x = m.op("Relu", [a.name], v.shape, HALF)
        if m.c.pick((True, False)) and v.shape:
            x = m.op("Transpose", [x.name], x.shape[::-1], middle, perm=list(range(len(v.shape)))[::-1])
        m.op("Cast", [x.name], x.shape, FLOAT, to=FLOAT)


def conv(m: Maker) -> None:
    v = m.any(4)
    if not v or min(v.shape[2:]) < 3:
        return
    n, ch, h, w = v.shape
    groups = m.c.pick((1, ch))
    out = ch if groups == ch else m.c.pick((2, 3, ch))
    pads = m.c.pick(([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]))
    x = v.name
    if m.c.pick((False, False, True)):
        p = [0, 0, 1, 0, 0, 0, 0, 1]
        value = [m.const(np.float32(m.c.pick((0.0, 1.0))))] if m.c.pick((0, 1)) else []
        x = m.op("Pad", [x, m.const(np.array(p, np.int64)), *value], (n, ch, h + 1, w + 1)).name
        h, w = h + 1, w + 1
    ins = [x, m.random((out, ch // groups, 3, 3))]
    if m.c.pick((True, False)):
        ins.append(m.random((out,)))
    shape = (n, out, h + pads[0] + pads[2] - 2, w + pads[1] + pads[3] - 2)
    y = m.op("Conv", ins, shape, kernel_shape=[3, 3], pads=pads, group=groups)
    for _ in range(m.c.pick((0, 1, 2, 3))):
        kind = m.c.pick(("bn", "mul", "add", "relu", "leaky", "scalar"))
        if kind == "bn":
            params = [m.random((out,)), m.random((out,)), m.random((out,)), m.random((out,), 0.5, 2.0)]
            y = m.op("BatchNormalization", [y.name, *params], shape, epsilon=m.c.pick((1e-5, 0.1)))
        elif kind in ("mul", "add"):
            w_ = m.random(m.c.pick(((out, 1, 1), (1, out, 1, 1))))
            y = m.op(kind.capitalize(), [y.name, w_] if m.c.pick((0, 1)) else [w_, y.name], shape)
        elif kind == "scalar":
            y = m.op(m.c.pick(("Mul", "Add")), [y.name, m.random(m.c.pick(((), (1,), (1, 1, 1, 1))))], shape)
        else:
            y = m.op("Relu" if kind == "relu" else "LeakyRelu", [y.name], shape)


def matmul(m: Maker) -> None:
    v = m.any(low=2)
    if not v or v.shape[-1] > 80:
        return
    k, n = v.shape[-1], m.c.pick((2, 5))
    how = m.c.pick(("weight", "transposed", "self", "gemm"))
    if how == "gemm" and len(v.shape) == 2:
        a, b = m.c.pick((0, 1)), m.c.pick((0, 1))
        rows, k = (v.shape[1], v.shape[0]) if a else v.shape
        ins = [v.name, m.random((n, k) if b else (k, n))]
        if m.c.pick((0, 1)):
            ins.append(m.random(m.c.pick(((n,), (1, n), (rows, n), ()))))
        y = m.op("Gemm", ins, (rows, n), transA=a, transB=b, alpha=m.c.pick((1.0, 0.5)), beta=m.c.pick((1.0, 2.0)))
    elif how == "self":
        r = len(v.shape)
        t = m.op("Transpose", [v.name], [*v.shape[:-2], v.shape[-1], v.shape[-2]], perm=[*range(r - 2), r - 1, r - 2])
        ins = [v.name, t.name] if m.c.pick((0, 1)) else [t.name, v.name]
        side = v.shape[-2] if ins[0] == v.name else v.shape[-1]
        y = m.op("MatMul", ins, [*v.shape[:-2], side, side])
        if m.c.pick((0, 1)):
            y = m.op("Mul", [y.name, m.const(np.float32(0.25))], y.shape)
            y = m.op("Softmax", [y.name], y.shape, axis=-1)
            if ins[0] == v.name:
                y = m.op("MatMul", [y.name, v.name], v.shape)
    elif how == "transposed":
        w = m.random((n, k))
        t = m.op("Transpose", [w], (k, n), perm=[1, 0])
        y = m.op("MatMul", [v.name, t.name], [*v.shape[:-1], n])
    else:
        y = m.op("MatMul", [v.name, m.random((k, n))], [*v.shape[:-1], n])
    if m.c.pick((0, 1)):
        y = m.op("Add", [y.name, m.random(m.c.pick((y.shape[-1:], (1,), (1, y.shape[-1]), y.shape)))], y.shape)
    if m.c.pick((0, 1)):
        m.op("Relu", [y.name], y.shape)


def reduce(m: Maker) -> None:
    v = m.any(low=1)
    if v:
        axis = m.c.pick(range(len(v.shape)))
        kept = m.c.pick((0, 1))
        shape = [1 if k == axis else d for k, d in enumerate(v.shape) if kept or k != axis]
        kind = m.c.pick(("ReduceMean", "ReduceMax", "ReduceSum"))
        if (kind == "ReduceSum" and m.opset >= 13) or m.opset >= 18:
            m.op(kind, [v.name, m.const(np.array([axis], np.int64))], shape, keepdims=kept)
        else:
            m.op(kind, [v.name], shape, axes=[axis], keepdims=kept)


def concat_split(m: Maker) -> None:
    v = m.any(low=1)
    if not v:
        return
    axis = m.c.pick(range(len(v.shape)))
    if m.c.pick((0, 1)) or v.shape[axis] < 2:
        parts = [v, m.like(v)]
        m.op("Concat", [p.name for p in parts], [d * 2 if k == axis else d for k, d in enumerate(v.shape)], axis=axis)
        return
    a = m.c.pick(range(1, v.shape[axis]))
    shapes = [[s if k == axis else d for k, d in enumerate(v.shape)] for s in (a, v.shape[axis] - a)]
    if m.c.pick((0, 1)):
        outs = [V(m.name("t"), tuple(s)) for s in shapes]
        sizes = np.array([a, v.shape[axis] - a], np.int64)
        extra = {} if m.opset >= 13 else {"split": sizes.tolist()}
        ins = [v.name, m.const(sizes)] if m.opset >= 13 else [v.name]
        m.nodes.append(helper.make_node("Split", ins, [o.name for o in outs], axis=axis, name=m.name("split"), **extra))
        m.pool += outs
    else:
        for (lo, hi), shape in zip(((0, a), (a, v.shape[axis])), shapes, strict=True):
            end = m.c.pick((hi, hi if hi < v.shape[axis] else 10**6))
            i = [m.const(np.array([x], np.int64)) for x in (lo, end, axis)]
            m.op("Slice", [v.name, *i], shape)


def written_out(m: Maker) -> None:
    """Swish, Gelu, LayerNorm, RmsNorm in small operators."""
    v = m.any(low=2)
    if not v:
        return
    x, s = v.name, v.shape
    number = lambda f: m.const(np.float32(f))  # noqa: E731
    kind = m.c.pick(("swish", "gelu", "tanh", "layer", "rms"))
    if kind == "swish":
        m.op("Mul", [x, m.op("Sigmoid", [x], s).name], s)
    elif kind == "gelu":
        e = m.op("Erf", [m.op("Div", [x, number(2**0.5)], s).name], s)
        m.op("Mul", [m.op("Mul", [x, m.op("Add", [e.name, number(1)], s).name], s).name, number(0.5)], s)
    elif kind == "tanh":
        cube = m.op("Pow", [x, number(3)], s)
        inner = m.op("Add", [x, m.op("Mul", [cube.name, number(0.044715)], s).name], s)
        t = m.op("Tanh", [m.op("Mul", [inner.name, number((2 / np.pi) ** 0.5)], s).name], s)
        m.op("Mul", [m.op("Mul", [x, m.op("Add", [t.name, number(1)], s).name], s).name, number(0.5)], s)
    else:
        r = (*s[:-1], 1)
        mean = lambda t: (m.op("ReduceMean", [t, m.const(np.array([-1], np.int64))], r, keepdims=1) if m.opset >= 18  # noqa: E731
                          else m.op("ReduceMean", [t], r, axes=[-1], keepdims=1))  # fmt: skip
        if kind == "layer":
            c = m.op("Sub", [x, mean(x).name], s).name
            power = m.op("Pow", [c, number(2)], s).name
            root = m.op("Sqrt", [m.op("Add", [mean(power).name, number(1e-5)], r).name], r).name
            y = m.op("Mul", [m.op("Div", [c, root], s).name, m.random(s[-1:])], s)
            m.op("Add", [y.name, m.random(s[-1:])], s)
        else:
            if m.c.pick((0, 1)):
                x = m.op("Add", [x, m.like(v).name], s).name
            power = m.op("Pow", [x, number(2)], s).name
            root = m.op("Sqrt", [m.op("Add", [mean(power).name, number(1e-5)], r).name], r).name
            m.op("Mul", [m.op("Div", [x, root], s).name, m.random(s[-1:])], s)


def branch(m: Maker) -> None:
    """If on a constant or a computed condition, its branches reading outer tensors."""
    v = m.any()
    if not v or m.prefix:
        return
    bodies = {}
    for word in ("then_branch", "else_branch"):
        inner = Maker(m.c, m.opset, m.name("b_"), pool=[x for x in m.pool if x.kind == FLOAT][-6:])
        for _ in range(m.c.pick((0, 1, 2))):
            m.c.pick((unary, binary, with_const, cast, transpose))(inner)
        same = [x for x in inner.pool if x.shape == v.shape and x.kind == FLOAT]
        end = m.c.pick(same or [v])
        out = V(inner.name("out"), v.shape)
        inner.nodes.append(
            helper.make_node(m.c.pick(("Identity", "Neg")), [end.name], [out.name], name=inner.name("end"))
        )
        init = [numpy_helper.from_array(a, k) for k, a in inner.weights.items()]
        bodies[word] = helper.make_graph(
            inner.nodes, inner.name("g"), [], [helper.make_tensor_value_info(out.name, FLOAT, v.shape)], init
        )
    if m.c.pick((True, False)):
        condition = m.const(np.array(m.c.pick((True, False))))
    else:
        total = V(m.name("t"), ())
        axes = [m.name("x")] if m.opset < 18 else None
        extra = {"axes": list(range(len(v.shape)))} if axes and v.shape else {}
        m.nodes.append(helper.make_node("ReduceMax", [v.name], [total.name], name=m.name("max"), keepdims=0, **extra))
        condition = m.name("t")
        m.nodes.append(
            helper.make_node("Greater", [total.name, m.const(np.float32(0.5))], [condition], name=m.name("greater"))
        )
    out = V(m.name("t"), v.shape)
    m.nodes.append(helper.make_node("If", [condition], [out.name], name=m.name("if"), **bodies))
    m.pool.append(out)


def folded(m: Maker) -> None:
    """Computed from constants alone."""
    v = m.any()
    if not v:
        return
    a, b = m.random(v.shape), m.random(v.shape)
    x = m.op(m.c.pick(("Add", "Mul", "Sub")), [a, b], v.shape)
    if m.c.pick((0, 1)):
        m.op(m.c.pick(("Add", "Mul")), [x.name, v.name], v.shape)


STEPS: tuple[Step, ...] = (
    unary, unary, binary, binary, with_const, with_const, transpose, reshape, reshape, squeeze, cast, conv, conv, matmul, matmul,
    reduce, concat_split, written_out, branch, folded,
)  # fmt: skip
SHAPES = ((1, 4, 6, 6), (2, 3, 5, 5), (4, 6), (1, 8), (2, 3, 4), (1, 1, 12), (3,))


def random_model(c: Choices, size: int = 8) -> Any:
    """A model with one or two inputs and up to three outputs."""
    m = Maker(c, c.pick((11, 13, 17, 17, 18)))
    inputs = [V("x", c.pick(SHAPES))]
    if c.pick((0, 1)):
        inputs.append(V("z", c.pick((inputs[0].shape, c.pick(SHAPES)))))
    m.pool += inputs
    for _ in range(size):
        c.pick(STEPS)(m)
        m.pool[:] = [v for v in m.pool if np.prod(v.shape) <= 2000] or inputs
    made = [v for v in m.pool if v not in inputs] or [m.op("Neg", ["x"], inputs[0].shape)]
    ends = list(dict.fromkeys([made[-1], *(c.pick(made) for _ in range(c.pick((0, 1, 2))))]))
    graph = helper.make_graph(
        m.nodes, "g", [helper.make_tensor_value_info(v.name, v.kind, v.shape) for v in inputs],
        [helper.make_tensor_value_info(v.name, v.kind, v.shape) for v in ends],
        [numpy_helper.from_array(a, k) for k, a in m.weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", m.opset)], ir_version=8)
