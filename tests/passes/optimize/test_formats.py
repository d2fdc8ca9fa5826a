"""Origin formats, storage formats, the conversions between them, and what memory and cost make of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_explorer as gx
from ge_explorer.device.work import Operands, work_of
from ge_explorer.exports.ge_text import to_ge_text
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph, Tensor
from ge_explorer.memory.sizes import padded_size
from ge_explorer.passes.optimize.format_shapes import storage_shape
from tests.passes.optimize.helpers import FORMATS, const, ops, rules, run, source

HEAVY = {"gx.heavyFormat": "1"}
INFER, REFINE = "infer-origin-format", "refine-running-format"


def out(g: Graph, name: str) -> Tensor:
    return g.tensor(g.node(name).outputs[0])


def form(g: Graph, name: str) -> tuple[Any, Any]:
    t = out(g, name)
    return t.attrs.get("format"), t.shape


def network(dtype: str = "float16", channels: int = 3, *, batch: Any = 1) -> Graph:
    """Data -> Conv2D -> Relu -> Conv2D -> (Add with the first Relu) -> SoftmaxV2."""
    b = GraphBuilder("g")
    x = b.data("x", (batch, channels, 8, 8), dtype)
    c1 = b.op("Conv2D", x, b.const("w1", (32, channels, 3, 3), dtype), name="c1", shape=(batch, 32, 8, 8))
    r = b.op("Relu", c1, name="relu")
    c2 = b.op("Conv2D", r, b.const("w2", (32, 32, 1, 1), dtype), name="c2", shape=(batch, 32, 8, 8))
    return b.build(b.op("SoftmaxV2", b.op("Add", c2, r, name="add"), name="soft"))


# -------------------------------------------------------------------------------------------------- shapes
@pytest.mark.parametrize(
    ("shape", "source_", "target", "dtype", "stored"),
    [
        # input, filter and output shapes a profiler recorded on a 910B
        ((32, 3, 224, 224), "NCHW", "NC1HWC0", "float", (32, 1, 224, 224, 8)),
        ((64, 3, 11, 11), "NCHW", "FRACTAL_Z", "float", (121, 4, 16, 8)),
        ((192, 64, 5, 5), "NCHW", "FRACTAL_Z", "float", (200, 12, 16, 8)),
        ((1, 3, 224, 224), "NCHW", "NC1HWC0", "float16", (1, 1, 224, 224, 16)),
        ((1, 224, 224, 40), "NHWC", "NC1HWC0", "int8", (1, 2, 224, 224, 32)),
        ((3, 3, 20, 33), "HWCN", "FRACTAL_Z", "float16", (18, 3, 16, 16)),
        ((5, 100, 30), "ND", "FRACTAL_NZ", "int8", (5, 1, 7, 16, 32)),
        ((None, 3, "h", 4), "NCHW", "NC1HWC0", "float16", (None, 1, "h", 4, 16)),
        ((1, None, 4, 4), "NCHW", "NC1HWC0", "float16", None),
        ((4, 4), "NCHW", "NC1HWC0", "float16", None),
        ((4, 4), "ND", "FRACTAL_NZ", "double", None),
    ],
)
def test_storage_shapes(shape: Any, source_: str, target: str, dtype: str, stored: Any) -> None:
    assert storage_shape(shape, source_, target, dtype) == stored


# -------------------------------------------------------------------------------------------------- origin formats
def test_a_convolution_gives_its_format_to_both_sides() -> None:
    t = run(network(), INFER)
    g = t.final.graph
    for name in ("x", "w1", "c1", "relu", "w2", "c2", "add", "soft"):
        assert out(g, name).attrs == {"format": "NCHW", "origin_format": "NCHW"}, name
    assert rules(t)["anchor"] == {"x", "w1", "c1", "w2"}
    assert rules(t)["forward"] == {"relu", "add", "soft"} and rules(t)["backward"] == {"c2"}
    assert run(g, INFER).steps[0].status == "unchanged"


def test_what_stops_a_format() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 8, 4, 4))
    c = b.op("Conv2D", x, b.const("w", (8, 8, 1, 1)), name="c", shape=(1, 8, 4, 4))
    flat = b.op("Reshape", c, b.const("s", (4,), "int64"), name="flat", shape=(1, 4, 4, 8))
    after = b.op("Relu", flat, name="after")
    scaled = b.op("Mul", c, b.const("k", ()), name="scaled")
    locked = b.op("Relu", c, name="locked", attrs={"_format_locked": True})
    g = run(b.build(after, scaled, locked), INFER).final.graph
    assert [out(g, n).attrs.get("format") for n in ("scaled", "k", "flat", "after", "locked")] == ["NCHW", *[None] * 4]


def test_channels_last_by_attribute() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 8, 8, 3))
    c = b.op("Conv2D", x, b.const("w", (3, 3, 3, 16)), name="c", shape=(1, 8, 8, 16), attrs={"data_format": "NHWC"})
    g = run(b.build(b.op("Relu", c, name="r")), f"{INFER},{REFINE}", HEAVY).final.graph
    assert [out(g, n).attrs["format"] for n in ("x", "w")] == ["NHWC", "HWCN"]
    assert form(g, "c") == form(g, "r") == ("NC1HWC0", (1, 1, 8, 8, 16))
    assert out(g, "c").attrs["origin_format"] == "NHWC"
    assert form(g, source(g, "c", 1)) == ("FRACTAL_Z", (9, 1, 16, 16))


def test_input_format_counts_in_the_second_run_only() -> None:
    b = GraphBuilder("g")
    c = b.op("Conv2D", b.data("x", (1, 8, 4, 4)), b.const("w", (8, 8, 1, 1)), name="c", shape=(1, 8, 4, 4))
    y = b.op("Relu", b.data("y", (1, 4, 4, 8)), name="r")
    z = b.op("Relu", b.data("z", (4, 8)), name="rz")
    g = b.build(c, y, z)
    one, two = run(g, INFER, {"input_format": "NHWC"}), run(g, f"{INFER},{INFER}", {"input_format": "NHWC"})
    assert [out(one.final.graph, n).attrs.get("format") for n in "xyz"] == ["NCHW", None, None]
    assert [out(two.final.graph, n).attrs.get("format") for n in ("x", "y", "r", "z")] == ["NCHW", "NHWC", "NHWC", None]


def test_a_graph_without_anchor_is_left_alone() -> None:
    b = GraphBuilder("g")
    t = run(b.build(b.op("Relu", b.data("x", (1, 8, 4, 4)))), INFER)
    assert t.steps[0].status == "skipped"


# -------------------------------------------------------------------------------------------------- storage formats
def test_off_by_default() -> None:
    t = run(network(), REFINE)
    assert t.steps[0].status == "skipped"
    assert t.final.graph is t.initial.graph


def test_a_wrong_value_is_an_error() -> None:
    t = gx.compile(network(), options={"gx.heavyFormat": "maybe"})
    assert t.failed is not None and "gx.heavyFormat" in str(t.failed.error)


def test_formats_spread_and_only_the_borders_convert() -> None:
    t = run(network(), f"{INFER},{REFINE}", HEAVY)
    g = t.final.graph
    for name in ("c1", "relu", "c2", "add"):
        assert form(g, name) == ("NC1HWC0", (1, 2, 8, 8, 16))
        assert out(g, name).attrs["origin_shape"] == (1, 32, 8, 8)
    made = [n for n in g if n.op == "TransData"]
    assert [n.name for n in made] == [f"trans_TransData_{k}" for k in range(4)]
    assert Counter(n.attrs["dst_format"] for n in made) == {"NC1HWC0": 1, "FRACTAL_Z": 2, "NCHW": 1}
    assert form(g, source(g, "c1")) == ("NC1HWC0", (1, 1, 8, 8, 16))
    assert form(g, source(g, "soft")) == ("NCHW", (1, 32, 8, 8))
    assert form(g, "x") == ("NCHW", (1, 3, 8, 8))
    assert rules(t)["conv"] == {"c1", "c2"} and rules(t)["adopts"] == {"relu", "add"}
    assert run(g, REFINE, HEAVY).steps[0].status == "unchanged"


def test_filters_fold_to_the_stored_shape_and_pairs_never_appear() -> None:
    g = run(network(), ",".join(FORMATS), HEAVY).final.graph
    assert ops(g, [source(g, "c1", 1), source(g, "c2", 1)]) == ["Const", "Const"]
    assert form(g, source(g, "c1", 1)) == ("FRACTAL_Z", (9, 2, 16, 16))
    assert sum(n.op == "TransData" for n in g) == 2


def test_equal_conversions_are_one_node() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 8, 4, 4))
    convs = [b.op("Conv2D", x, b.const(f"w{k}", (8, 8, 1, 1)), name=f"c{k}", shape=(1, 8, 4, 4)) for k in range(3)]
    t = run(b.build(*convs), f"{INFER},{REFINE}", HEAVY)
    g = t.final.graph
    assert len({source(g, f"c{k}") for k in range(3)}) == 1
    assert rules(t)["merged"] == {source(g, "c0")}


def test_a_pair_around_a_reshape_that_goes_disappears() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 16, 4, 4))
    c = b.op("Conv2D", x, b.const("w", (16, 16, 1, 1)), name="c", shape=(1, 16, 4, 4))
    there = b.op("Reshape", c, const(b, "s1", np.array([1, 4, 16, 4])), name="there", shape=(1, 4, 16, 4))
    back = b.op("Reshape", there, const(b, "s2", np.array([1, 16, 4, 4])), name="back", shape=(1, 16, 4, 4))
    d = b.op("Conv2D", back, b.const("v", (16, 16, 1, 1)), name="d", shape=(1, 16, 4, 4))
    g = run(b.build(d), ",".join(FORMATS), HEAVY).final.graph
    assert source(g, "d") == "c"
    assert sum(n.op == "TransData" for n in g) == 2


def test_a_pair_around_an_operator_that_works_on_it_stays() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 16, 4, 4))
    c = b.op("Conv2D", x, b.const("w", (16, 16, 1, 1)), name="c", shape=(1, 16, 4, 4))
    s = b.op("SoftmaxV2", c, name="soft")
    d = b.op("Conv2D", s, b.const("v", (16, 16, 1, 1)), name="d", shape=(1, 16, 4, 4))
    g = run(b.build(d), ",".join(FORMATS), HEAVY).final.graph
    assert sum(n.op == "TransData" for n in g) == 4


@pytest.mark.parametrize(
    ("shape", "dtype"), [((1, 1, 8, 8), "float16"), ((32, 1, 1), "float16"), ((1, 32, 8, 8), "float")]
)
def test_what_an_elementwise_operator_cannot_adopt(shape: Any, dtype: str) -> None:
    """Broadcast along the channels, another rank, another width: a decision says which."""
    b = GraphBuilder("g")
    c = b.op("Conv2D", b.data("x", (1, 8, 8, 8)), b.const("w", (32, 8, 1, 1)), name="c", shape=(1, 32, 8, 8))
    t = run(b.build(b.op("Add", c, b.data("y", shape, dtype), name="add")), f"{INFER},{REFINE}", HEAVY)
    assert rules(t)["adopts-not"] == {"add"}
    assert form(t.final.graph, "add")[0] == "NCHW"
    note = next(d.note for d in t.steps[1].decisions if d.rule == "adopts-not")
    assert note is not None and note.en


def test_unknown_batch_is_fine_unknown_channels_are_not() -> None:
    g = run(network(batch="n"), f"{INFER},{REFINE}", HEAVY).final.graph
    assert form(g, "c1") == ("NC1HWC0", ("n", 2, 8, 8, 16))
    b = GraphBuilder("g")
    c = b.op("Conv2D", b.data("x", (1, "c", 8, 8)), b.const("w", (32, 8, 1, 1)), name="c", shape=(1, 32, 8, 8))
    t = run(b.build(c), f"{INFER},{REFINE}", HEAVY)
    assert rules(t)["conv-kept"] == {"c"} and not any(n.op == "TransData" for n in t.final.graph)


# -------------------------------------------------------------------------------------------------- element types
def test_force_fp16_casts_on_the_plain_side() -> None:
    t = run(network("float"), f"{INFER},{REFINE}", {**HEAVY, "ge.exec.precision_mode": "force_fp16"})
    g = t.final.graph
    first = source(g, "c1")
    assert ops(g, [first, source(g, first)]) == ["TransData", "Cast"]
    assert out(g, first).dtype == "float16" and out(g, first).shape == (1, 1, 8, 8, 16)
    end = source(g, "Node_Output")
    assert ops(g, [end, source(g, end)]) == ["Cast", "SoftmaxV2"]
    assert ops(g, [source(g, "soft")]) == ["TransData"]
    assert out(g, end).dtype == "float" and out(g, "x").dtype == "float"
    numbers = sorted(int(n.name.rsplit("_", 1)[1]) for n in g if n.name.startswith("trans_"))
    assert numbers == list(range(len(numbers))), "one counter for TransData and Cast"


def test_leaving_the_cube_unit_converts_the_format_before_the_type() -> None:
    options = {**HEAVY, "ge.exec.precision_mode": "allow_fp32_to_fp16"}
    g = run(network("float"), f"{INFER},{REFINE}", options).final.graph
    first = source(g, "relu")
    assert ops(g, [first, source(g, first)]) == ["Cast", "TransData"], "the vector unit keeps float, so C0 differs"
    assert form(g, "relu")[0] == "NCHW" and form(g, "c1")[1] == (1, 2, 8, 8, 16)


def test_types_alone_insert_casts_only() -> None:
    t = run(network("float"), REFINE, {"ge.exec.precision_mode": "allow_fp32_to_fp16"})
    assert {n.op for n in t.final.graph if n.name.startswith("trans_")} == {"Cast"}
    assert rules(t)["cube-type"] == {"c1", "c2"}


def test_half_precision_models_need_no_cast() -> None:
    t = run(network("float16"), REFINE, {"ge.exec.precision_mode": "force_fp16"})
    assert t.steps[0].status == "unchanged"


# -------------------------------------------------------------------------------------------------- memory and cost
def test_memory_follows_the_stored_shape() -> None:
    """Three channels occupy a whole C0."""
    for dtype, c0 in (("float16", 16), ("float", 8)):
        trace = gx.compile(network(dtype), options=HEAVY)
        g, memory = trace.final.graph, trace.final.memory
        assert memory is not None
        node = g.node(source(g, "c1"))
        buffer = next(x for x in memory.problem.buffers if node.id in x.producers)
        stored = out(g, node.name).nbytes
        assert stored == 8 * 8 * 32, "32 bytes for every pixel"
        assert buffer.raw_size == stored == (out(g, "x").nbytes or 0) * c0 // 3
        assert buffer.size >= padded_size(stored)


def test_cost_counts_the_operation_not_the_padding() -> None:
    plain, heavy = (gx.compile(network(channels=32), options=o).final.graph for o in ({}, HEAVY))
    w = [
        work_of(next(n for n in g if n.op == "Conv2D" and n.name.startswith("c1")), Operands(g)) for g in (plain, heavy)
    ]
    assert w[0].flops == w[1].flops > 0
    assert w[0].cube_blocks == w[1].cube_blocks


def test_transdata_is_a_vector_movement_of_known_bytes() -> None:
    trace = gx.compile(network(), options=HEAVY)
    g, placement = trace.final.graph, trace.final.placement
    assert placement is not None
    n = next(n for n in g if n.op == "TransData")
    assert (placement.engine[n.id], placement.core[n.id]) == ("AIcoreEngine", "AIV")
    work = work_of(n, Operands(g))
    ins = g.tensor(n.inputs[0] or 0)
    assert work.nbytes == (ins.nbytes or 0) + (g.tensor(n.outputs[0]).nbytes or 0)
    assert not work.assumed and work.flops == 0


def test_a_written_dump_keeps_the_origin(tmp_path: Path) -> None:
    g = gx.compile(network(), options=HEAVY).final.graph
    file = tmp_path / "ge_proto_00000001_graph_0_Build.txt"
    file.write_text(to_ge_text(g), encoding="utf-8")
    read = gx.load(file).graph
    for name in ("c1", "trans_TransData_0"):
        found = next(n.name for n in g if n.name.startswith(name))
        a, b = out(g, found), out(read, found)
        assert (a.shape, a.attrs["origin_shape"], a.attrs["format"]) == (
            b.shape,
            b.attrs["origin_shape"],
            b.attrs["format"],
        )
