"""Passes that trade memory for time where the user marked it: recomputation and swapping to the host."""

from __future__ import annotations

import pytest

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.fusion_rewrite import acyclic
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace


def run(g: Graph, passes: str, options: dict[str, str]) -> Trace:
    return run_trace(g, parse_pipeline(passes, pipelines.PASSES.get, {}), options)


def training(mark: bool = True) -> Graph:
    """x -> f1 -> f2 -> loss; gradients g2 (reads f1), g1 (reads x and g2)."""
    b = GraphBuilder("train")
    x = b.data("x", (64,), "float")
    marked = {"_recompute": True} if mark else {}
    f1 = b.op("Gelu", x, name="f1", attrs=marked)
    f2 = b.op("Exp", f1, name="f2", attrs=marked)
    loss = b.op("Relu", f2, name="loss")
    g3 = b.op("ReluGrad", loss, loss, name="g3", attrs={"_backward": True})
    g2 = b.op("Mul", g3, f2, name="g2", attrs={"_backward": True})
    g1 = b.op("GeluGrad", g2, f1, x, name="g1", attrs={"_backward": True}, shape=(64,))
    return b.build(g1)


def test_backward_nodes_read_copies_that_wait_for_them() -> None:
    t = run(training(), "recompute", {"ge.recompute": "manual"})
    assert t.failed is None, t.failed and t.failed.error
    g = t.final.graph
    one, two = g.node("f1_recompute_copy"), g.node("f2_recompute_copy")
    assert two.inputs == one.outputs
    assert one.inputs == (g.node("x").outputs[0],)
    assert g.node("g2").inputs[1] == two.outputs[0]
    assert g.node("g1").inputs[1] == one.outputs[0]
    assert g.node("loss").inputs[0] == g.node("f2").outputs[0]
    assert {(g.node(a).name, g.node(b).name) for a, b in g.control} == {("g3", "f1_recompute_copy")}
    assert acyclic(g)
    assert "_recompute" not in one.attrs


def test_recompute_needs_marks_and_the_option() -> None:
    assert run(training(), "recompute", {}).steps[0].status == "skipped"
    assert run(training(False), "recompute", {"ge.recompute": "manual"}).steps[0].status == "skipped"
    assert run(training(), "recompute", {"ge.recompute": "manual", "ge.oo.level": "O1"}).steps[0].status == "skipped"


def test_forward_memory_is_freed_earlier() -> None:
    """What recomputation is for: fewer bytes alive between forward and backward."""

    def peak(options: dict[str, str]) -> int:
        t = run_trace(training(), pipelines.static(), options)
        assert t.failed is None, t.failed and t.failed.error
        assert t.final.memory is not None
        return t.final.memory.lower_bound

    assert 0 < peak({"ge.recompute": "manual"}) <= peak({})


def chain() -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (1024,), "float")
    n0 = b.op("Relu", x, name="n0")
    n1 = b.op("Exp", n0, name="n1")
    n2 = b.op("Sqrt", n1, name="n2")
    return b.build(b.op("Add", n2, n0, name="n3"))


def test_a_tensor_waits_in_host_memory_between_its_readers() -> None:
    t = run(chain(), "swap-space", {"ge.swapSpaceNodes": "n3:1"})
    assert t.failed is None, t.failed and t.failed.error
    g = t.final.graph
    out, back = g.node("n0_out_0_memcpy_async"), g.node("n0_out_0_memcpy_async_memcpy_async")
    assert (out.op, back.op) == ("MemcpyAsync", "MemcpyAsync")
    assert out.inputs == g.node("n0").outputs
    assert g.node("n3").inputs[1] == back.outputs[0]
    assert {(g.node(a).name, g.node(b).name) for a, b in g.control} == {(out.name, "n1"), ("n2", back.name)}
    assert (out.attrs["_output_memory_type"], back.attrs["_input_memory_type"]) == ([129], [129])
    assert acyclic(g)


@pytest.mark.parametrize(
    ("text", "says"),
    [("n3", "reader:input"), ("n3:x", "reader:input"), ("nope:0", "no node named"), ("n3:7", "no input 7")],
)
def test_bad_swap_options_are_named(text: str, says: str) -> None:
    t = run(chain(), "swap-space", {"ge.swapSpaceNodes": text})
    assert t.failed is not None
    assert says in str(t.failed.error)
    assert "ge.swapSpaceNodes" in str(t.failed.error)


def test_nothing_happens_without_the_option() -> None:
    assert run(chain(), "swap-space", {}).steps[0].status == "skipped"
