"""Copies before writes in place: where they come from, which of them go, and what memory planning makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.loaders import load
from ge_explorer.trace.runner import run_trace
from tests.passes.optimize.helpers import rules, run, source
from tests.passes.optimize.test_optimize_properties import sound

MOVES = "tensor-move-delete"
INNER = "inner-identity-add"
ON = {"gx.insertOperators": "on"}


def scatter(*, late: bool = False, early: bool = False, relu: bool = True, tail: bool = False) -> Graph:
    """ONNX: ScatterND into a computed value that may be read before, after, or by nobody else."""
    index = numpy_helper.from_array(np.array([[0], [2]], np.int64), "index")
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])]
    nodes = [helper.make_node("Relu" if relu else "Identity", ["x"], ["v"], name="v")] if relu else []
    v = "v" if relu else "x"
    nodes.append(helper.make_node("ScatterND", [v, "index", "u"], ["y"], name="update"))
    if tail:
        nodes.append(helper.make_node("Exp", ["y"], ["t"], name="tail"))
        ends = [helper.make_tensor_value_info("t", TensorProto.FLOAT, [4])]
    if early:
        nodes.append(helper.make_node("Neg", [v], ["e"], name="early"))
        ends.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, [4]))
    if late:
        nodes.append(helper.make_node("Add", [v, "y"], ["z"], name="late"))
        ends.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [4]))
    ins = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [4]), ("u", [2]))]
    m = helper.make_model(
        helper.make_graph(nodes, "g", ins, ends, [index]), opset_imports=[helper.make_opsetid("", 17)]
    )
    return load(m).graph


STEPS = f"copy-before-scatter,{INNER},mark-references,inner-identity-delete,{MOVES}"


def test_scatter_of_onnx_is_a_copy_and_an_update_that_shares_its_buffer() -> None:
    g = run(scatter(), "copy-before-scatter,inner-identity-add,mark-references").final.graph
    assert source(g, "update") == "update_TensorMove"
    assert source(g, "update_TensorMove") == "v"
    assert g.node("update").attrs["reference"] is True
    assert not [n for n in g if n.op == "Identity"]  # a TensorMove with one reader protects the value already
    again = run(g, "copy-before-scatter,inner-identity-add,mark-references")
    assert [s.status for s in again] == ["unchanged"] * 3


@pytest.mark.parametrize(
    ("graph", "gone", "rule"),
    [
        (scatter(), True, "no-conflict"), (scatter(early=True), True, "ordered"), (scatter(late=True), False, "move-cycle"),
        (scatter(relu=False), False, "move-from-input"),
    ],
)  # fmt: skip
def test_which_copies_go(graph: Graph, gone: bool, rule: str) -> None:
    t = run(graph, STEPS)
    g = t.final.graph
    assert (not [n for n in g if n.op == "TensorMove"]) == gone
    assert rule in rules(t)
    sound(g)
    if rule == "ordered":
        assert ("early", "update") in {(g.node(a).name, g.node(b).name) for a, b in g.control}
    assert run(g, MOVES).steps[0].status in ("unchanged", "skipped")


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        ({"ge.exec.outputReuseInputMemIndexes": "0,0|1,1"}, True), ({"ge.exec.inputReuseMemIndexes": "0"}, True),
        ({"ge.exec.outputReuseInputMemIndexes": "1,0"}, False), ({"ge.exec.inputReuseMemIndexes": "1"}, False),
        ({"ge.exec.inputReuseMemIndexes": "0", "ge.oo.level": "O1"}, False),
        ({"ge.exec.inputReuseMemIndexes": "0", "ge.optimizationSwitch": "TensorMoveDeletePass:off"}, False),
    ],
)  # fmt: skip
def test_the_user_may_give_the_memory_of_an_input_away(options: dict[str, str], gone: bool) -> None:
    g = run(scatter(relu=False), STEPS, options).final.graph
    assert (not [n for n in g if n.op == "TensorMove"]) == gone


def test_attributes_constants_and_writers_beside_keep_a_copy() -> None:
    b = GraphBuilder("g")
    x, c, u = b.data("x", (8,), "float"), b.const("c", (8,), "float"), b.data("u", (8,), "float")
    v = b.op("Relu", x, name="v")
    kept = b.op("Neg", b.op("TensorMove", v, name="marked", attrs={"_cannot_be_deleted": True}), name="a")
    from_constant = b.op("ScatterUpdate", b.op("TensorMove", c, name="constant"), u, name="writes")
    harmless = b.op("Neg", b.op("TensorMove", c, name="read_only"), name="b")
    to_end = b.op("TensorMove", c, name="result")
    y = b.op("Abs", x, name="y")
    beside = b.op("ScatterUpdate", y, u, name="beside")
    reader = b.op("Neg", b.op("TensorMove", y, name="raced"), name="reader")
    z = b.op("Exp", x, name="z")
    safe = b.op("Neg", b.op("TensorMove", z, name="safe"), name="first")
    after = b.op("ScatterUpdate", z, u, name="after", control=[safe])
    g = run(b.build(kept, from_constant, harmless, to_end, beside, reader, safe, after), MOVES)
    left = {n.name for n in g.final.graph if n.op == "TensorMove"}
    assert left == {"marked", "constant", "result", "raced"}
    found = rules(g)
    assert found["move-forbidden"] == {"marked"}
    assert found["move-from-constant"] == {"constant", "result"}
    assert found["move-sibling-writes"] == {"raced"}


def test_the_source_is_found_through_a_call_and_a_view_does_not_hide_a_reader() -> None:
    b = GraphBuilder("g")
    x, u = b.data("x", (8,), "float"), b.data("u", (8,), "float")
    call = b.op("PartitionedCall", x, u, name="call")
    with b.subgraph(call, "body") as (inner, update):
        b.outputs(b.op("ScatterUpdate", b.op("TensorMove", inner, name="m"), update, name="s"))
    t = run(b.build(call), MOVES)
    assert rules(t)["move-from-input"] == {"body/m"}
    b = GraphBuilder("g")
    x, u = b.data("x", (2, 4), "float"), b.data("u", (2, 4), "float")
    v = b.op("Relu", x, name="v")
    s = b.op("ScatterUpdate", b.op("TensorMove", v, name="m"), u, name="s")
    late = b.op("Add", b.op("Reshape", v, b.const("shape", (1,), "int64"), name="view", shape=(8,)), s, name="late")
    assert rules(run(b.build(s, late), MOVES))["move-cycle"] == {"m"}


def writer(*, source_op: str = "Relu", later: bool = False) -> Graph:
    b = GraphBuilder("g")
    x, u = b.data("x", (8,), "float"), b.data("u", (8,), "float")
    v = (
        b.op(source_op, x, name="v")
        if source_op != "Variable"
        else b.op("Variable", name="v", outputs=[((8,), "float")])
    )
    before = b.op("Neg", v, name="before")
    s = b.op("ScatterUpdate", v, u, name="s", control=[before])
    ends = [before, s]
    if later:
        ends.append(b.op("Abs", v, name="later", control=[s]))
        ends.append(b.op("Exp", v, name="beside"))
    return b.build(*ends)


def test_an_identity_protects_a_value_from_a_write_and_goes_without_a_conflict() -> None:
    assert run(writer(), INNER).steps[0].status == "skipped"  # written by hand: the author says what runs
    t = run(writer(later=True), INNER, ON)
    g = t.final.graph
    assert source(g, "s") == "s_inner_identity_0"
    assert (source(g, "later"), source(g, "beside")) == ("s_inner_identity_0", "v")
    assert rules(t)["after-write"] == {"later"}
    assert run(g, INNER, ON).steps[0].status == "unchanged"
    sound(g)
    kept = run(g, "optimise-stage1,identity-remove,inner-identity-delete")
    assert "s_inner_identity_0" in kept.final.graph.by_name  # "beside" may run after the write
    assert rules(kept)["read-later"] == {"s_inner_identity_0"}
    small = run(run(writer(), INNER, ON).final.graph, "inner-identity-delete")
    assert source(small.final.graph, "s") == "v"
    assert run(small.final.graph, "inner-identity-delete").steps[0].status == "skipped"


def test_a_variable_is_meant_to_be_written_and_an_input_is_not() -> None:
    assert run(writer(source_op="Variable"), INNER, ON).steps[0].status == "unchanged"
    b = GraphBuilder("g")
    x, u = b.data("x", (8,), "float"), b.data("u", (8,), "float")
    t = run(b.build(b.op("ScatterUpdate", x, u, name="s")), f"{INNER},inner-identity-delete", ON)
    assert source(t.final.graph, "s") == "s_inner_identity_0"
    assert rules(t)["fixed"] == {"s_inner_identity_0"}


def test_the_plan_of_memory_gives_update_and_source_one_place() -> None:
    t = run_trace(
        scatter(early=True, tail=True), pipelines.pipeline("static,-fuse-buffers,-fuse-graph"), {}, strict=True
    )
    assert t.failed is None, t.failed and t.failed.error
    g, memory = t.final.graph, t.final.memory
    assert memory is not None
    places = {}
    for b in memory.problem.buffers:
        for x in b.tensors:
            places[g.tensor(x).producer] = b.id
    assert places[g.by_name["v"]] == places[g.by_name["update"]]
