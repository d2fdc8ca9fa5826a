"""Storage formats change no value: optimised graphs compute what the original computes, padding never leaks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.format_kernels import to_storage
from ge_explorer.passes.optimize.format_shapes import storage_shape
from tests.passes.optimize.helpers import FORMATS, const, run
from tests.passes.optimize.numpy_graph import evaluate
from tests.passes.optimize.numpy_storage import places

HEAVY = {"gx.heavyFormat": "1"}
RNG = np.random.default_rng(5)


def same(before: Graph, options: dict[str, str], tolerance: float = 1e-6) -> Graph:
    """Run the optimisation and compare on one input."""
    after = run(before, ",".join(FORMATS), options).final.graph
    feeds = {n.name: RNG.normal(size=before.tensor(n.outputs[0]).shape) for n in before if n.op == "Data"}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        old, new = evaluate(before, feeds), evaluate(after, feeds)
    for x, y in zip(old, new, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    return after


def count(g: Graph) -> Counter[str]:
    return Counter(n.op for n in g if not n.is_source and n.op != "NetOutput")


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("channels", [4, 20])
def test_one_convolution(groups: int, channels: int) -> None:
    b = GraphBuilder("g")
    x = b.data("x", (2, channels, 5, 6), "float")
    w = const(b, "w", RNG.normal(size=(8, channels // groups, 3, 3)), "float")
    y = b.op("Conv2D", x, w, name="conv", shape=(2, 8, 3, 4), attrs={"group": groups})
    after = same(b.build(b.op("Tanh", y, name="tanh")), HEAVY)
    assert count(after) == {"TransData": 2, "Conv2D": 1, "Tanh": 1}


def test_matrix_product_with_a_constant() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (3, 20), "float")
    y = b.op("MatMulV2", x, const(b, "w", RNG.normal(size=(20, 9)), "float"), name="mm", shape=(3, 9))
    after = same(b.build(y), HEAVY)
    assert count(after) == {"MatMulV2": 1}, "the constant is converted at compile time"


@pytest.mark.parametrize("shape", [(4, 20), (3, 17, 40), (2, 2, 16, 8)])
def test_tiles_of_matrices(shape: tuple[int, ...]) -> None:
    a = RNG.normal(size=shape)
    for c0 in (8, 16, 32):
        made = to_storage(a, "ND", "FRACTAL_NZ", c0)
        assert made is not None
        np.testing.assert_array_equal(made[places("FRACTAL_NZ", shape, made.shape, 1)], a)
        assert made.sum() == pytest.approx(a.sum()), "padding is zero"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    channels=st.integers(1, 24), filters=st.integers(1, 24), groups=st.integers(1, 9), size=st.integers(1, 3),
    dtype=st.sampled_from(["float", "float16", "int8"]),
)  # fmt: skip
def test_filters_in_storage(channels: int, filters: int, groups: int, size: int, dtype: str) -> None:
    shape = (filters * groups, channels, size, 2)
    stored = storage_shape(shape, "NCHW", "FRACTAL_Z", dtype, groups)
    assert stored is not None
    a = np.arange(1, np.prod(shape) + 1).reshape(shape)
    made = to_storage(a, "NCHW", "FRACTAL_Z", int(stored[-1] or 0), groups)
    assert made is not None and made.shape == stored
    np.testing.assert_array_equal(made[places("FRACTAL_Z", shape, made.shape, groups)], a)
    assert np.count_nonzero(made) == a.size


@st.composite
def convolutional(draw: st.DrawFn, size: int = 10) -> Graph:
    """Networks of convolutions, elementwise operators with and without broadcast, and operators that stay plain."""
    b = GraphBuilder("random")
    pool: list[tuple[Value, tuple[int, ...]]] = []
    for k in range(draw(st.integers(1, 2))):
        shape = draw(st.sampled_from([(1, 3, 4, 4), (2, 8, 4, 4), (1, 20, 4, 4)]))
        pool.append((b.data(f"x{k}", shape, "float"), shape))
    count = 0

    def fixed(shape: tuple[int, ...]) -> Value:
        nonlocal count
        count += 1
        values = np.random.default_rng(count).uniform(0.25, 1, shape)
        return const(b, f"c{count}", values, "float")

    for k in range(draw(st.integers(1, size))):
        v, s = draw(st.sampled_from(pool[-4:]))
        op = draw(
            st.sampled_from(["conv", "conv", "unary", "binary", "channel", "scalar", "pool", "matmul", "turn", "flat"])
        )
        name, made = f"n{k}", s
        if op == "conv" and len(s) == 4:
            groups = draw(st.sampled_from([g for g in (1, 2, 4) if s[1] % g == 0]))
            made = (s[0], draw(st.sampled_from([8, 12])), *s[2:])
            w = fixed((made[1], s[1] // groups, 1, 1))
            v = b.op("Conv2D", v, w, name=name, shape=made, attrs={"group": groups})
        elif op == "binary":
            other = draw(st.sampled_from([p for p in pool if p[1] == s]))
            v = b.op(draw(st.sampled_from(["Add", "Mul", "Maximum"])), v, other[0], name=name)
        elif op == "channel" and len(s) == 4:
            where = draw(st.sampled_from([(1, s[1], 1, 1), (s[1], 1, 1), (1, 1, 4, 4)]))
            v = b.op("Add", v, fixed(where), name=name)
        elif op == "scalar":
            v = b.op("Mul", v, fixed(draw(st.sampled_from([(), (1,), (1, 1, 1, 1)]))), name=name)
            made = s if len(s) == 4 else (1,) * (4 - len(s)) + s
            if made != s:
                v = b.op("Reshape", v, const(b, f"shape{k}", np.array(s)), name=f"{name}_back", shape=s)
                made = s
        elif op == "matmul":
            made = (*s[:-1], 5)
            v = b.op("BatchMatMulV2" if len(s) > 2 else "MatMulV2", v, fixed((s[-1], 5)), name=name, shape=made)
            if len(s) == 4:
                v, made = b.op("ReduceMean", v, name=f"{name}_m", shape=(*s[:-1], 1), attrs={"axes": [3]}), (*s[:-1], 1)
        elif op == "turn" and len(s) == 4:
            made = (s[0], s[1], s[3], s[2])
            v = b.op("TransposeD", v, name=name, shape=made, attrs={"perm": (0, 1, 3, 2)})
        elif op == "flat" and len(s) == 4:
            made = (s[0], s[1] * s[2] * s[3])
            v = b.op("Reshape", v, const(b, f"shape{k}", np.array(made)), name=name, shape=made)
        elif op == "pool":
            v = b.op("SoftmaxV2", v, name=name)
        else:
            v = b.op(draw(st.sampled_from(["Relu", "Exp", "Reciprocal", "Sigmoid", "Identity", "Abs"])), v, name=name)
            v = b.op("Tanh", v, name=f"{name}_t")
        pool.append((v, made))
    ends = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
    return b.build(*(e[0] for e in ends))


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=convolutional())
def test_random_networks_keep_their_values(graph: Graph) -> None:
    after = same(graph, HEAVY)
    convolutions = [n for n in after if n.op == "Conv2D"]
    for n in convolutions:
        formats = [after.tensor(t).attrs.get("format") for t in (*n.inputs[:2], *n.outputs) if t is not None]
        assert formats == ["NC1HWC0", "FRACTAL_Z", "NC1HWC0"]
    again = run(after, "refine-running-format", HEAVY)
    assert again.steps[0].status == "unchanged"


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=convolutional(6), mode=st.sampled_from(["force_fp16", "allow_fp32_to_fp16"]))
def test_random_networks_in_half_precision(graph: Graph, mode: str) -> None:
    """Only constants are really rounded here, so values agree to float16."""
    after: Any = same(graph, {**HEAVY, "ge.exec.precision_mode": mode}, 3e-2)
    for n in after:
        if n.op == "Conv2D":
            assert {after.tensor(t).dtype for t in n.inputs} == {"float16"}
