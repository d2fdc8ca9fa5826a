"""Buffers: sizes, alias classes, what is left out, and lives through loops."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.memory.model import FOREVER, Buffer, MemoryProblem
from ge_explorer.memory.problem import HELD, build_problem
from ge_explorer.memory.sizes import aligned, padded_size


def problem_of(g: Graph) -> MemoryProblem:
    """Problem on one stream; sources have none."""
    stream = np.array([-1 if n is None or n.is_source else 0 for n in g.nodes], dtype=np.int32)
    return build_problem(g, g.walk(), stream)


def named(problem: MemoryProblem, name: str) -> Buffer:
    return next(b for b in problem.buffers if b.name == name)


@pytest.mark.parametrize(
    ("payload", "padded", "block"),
    [(0, 32, 512), (1, 64, 512), (32, 64, 512), (448, 480, 512), (480, 512, 512), (481, 544, 1024), (512, 544, 1024),
     (4096, 4128, 4608), (802816, 802848, 803328), (4194304, 4194336, 4194816)],
)  # fmt: skip
def test_sizes_follow_the_padding_table(payload: int, padded: int, block: int) -> None:
    assert padded_size(payload) == padded
    assert aligned(padded_size(payload)) == block


def test_weights_inputs_and_outputs_are_counted_not_placed() -> None:
    b = GraphBuilder("g")
    x, w = b.data("x", (256,)), b.const("w", (256,))
    y = b.op("Add", x, w, name="y")
    problem = problem_of(b.build(b.op("Relu", y, name="z")))
    assert [q.name for q in problem.buffers] == ["y:0"]
    assert dict(problem.excluded) == {"input": 1024, "output": 1024, "weight": 1024}


def test_unknown_dimensions_count_as_one_and_say_so() -> None:
    b = GraphBuilder("g")
    x = b.data("x", ("batch", 256))
    problem = problem_of(b.build(b.op("Relu", b.op("Relu", x, name="y"), name="z")))
    y = named(problem, "y:0")
    assert (y.assumed, y.raw_size) == (True, 512)
    assert problem.notes


def test_a_view_shares_its_inputs_buffer() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4, 64))
    y = b.op("Relu", x, name="y")
    v = b.op("Reshape", y, name="v", shape=(256,))
    problem = problem_of(b.build(b.op("Relu", b.op("Relu", v, name="w"), name="z")))
    y_buffer = named(problem, "y:0")
    assert len(y_buffer.tensors) == 2
    assert y_buffer.alias_rules == ("view",)
    assert problem.lifetimes[y_buffer.id].end == 3  # lives until w has read the view


@pytest.mark.parametrize(("ability", "buffers"), [([[0, 0]], 1), (None, 2)])
def test_in_place_needs_the_operators_consent(ability: list[list[int]] | None, buffers: int) -> None:
    b = GraphBuilder("g")
    x = b.data("x", (256,))
    y = b.op("Conv2D", x, name="y")
    r = b.op("Relu", y, name="r", attrs={"_output_inplace_ability": ability} if ability else None)
    assert len(problem_of(b.build(b.op("Relu", r, name="z"))).buffers) == buffers


def test_in_place_is_refused_while_another_reader_comes_later() -> None:
    b = GraphBuilder("g")
    y = b.op("Conv2D", b.data("x", (256,)), name="y")
    r = b.op("Relu", y, name="r", attrs={"_output_inplace_ability": [[0, 0]]})
    late = b.op("Add", y, r, name="late")
    assert {q.name for q in problem_of(b.build(b.op("Relu", late, name="z"))).buffers} == {"y:0", "r:0", "late:0"}


def test_reuse_input_flag_of_a_dump_merges() -> None:
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Op", outputs=[((256,), "float16")])
    s = e.add_node("s", "Assign", inputs=[e.output(a)], outputs=[((256,), "float16")])
    e.set_tensor(e.output(s), attrs={"reuse_input": True, "reuse_input_index": 0})
    problem = problem_of(e.freeze())
    assert len(problem.buffers) == 1
    assert problem.buffers[0].alias_rules == ("reference",)


def test_branch_results_are_the_holders_output() -> None:
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (256,))
    pre = b.op("Relu", x, name="pre")
    branch = b.op("If", p, pre, name="if", shape=(256,))
    for name in ("then", "else"):
        with b.subgraph(branch, name) as (inner,):
            b.outputs(b.op("Relu", inner, name="r"))
    g = b.build(b.op("Relu", branch, name="z"))
    problem = problem_of(g)
    result = next(q for q in problem.buffers if "subgraph result" in q.alias_rules)
    assert {g.unique_names[i] for i in result.producers} == {"then/r", "else/r"}
    outer = named(problem, "pre:0")
    assert {g.unique_names[i] for i in outer.readers} == {"then/r", "else/r"}


def test_what_a_loop_reads_lives_through_every_round() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (256,))
    pre = b.op("Relu", x, name="pre")
    loop = b.op("Loop", pre, name="loop", shape=(256,))
    with b.subgraph(loop, "body") as (inner,):
        first = b.op("Relu", inner, name="first")
        second = b.op("Relu", first, name="second")
        b.outputs(b.op("Relu", second, name="third"))
    problem = problem_of(b.build(b.op("Relu", loop, name="z")))
    pre_buffer, temporary = named(problem, "pre:0"), next(q for q in problem.buffers if q.name.endswith("second:0"))
    assert HELD in pre_buffer.alias_rules
    assert not problem.before[temporary.id] >> pre_buffer.id & 1, "the next round reads pre again"


def test_a_loop_variable_with_a_read_only_start_gets_its_own_buffer() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (256,))
    loop = b.op("While", x, name="loop", shape=(256,))
    with b.subgraph(loop, "cond") as (inner,):
        b.outputs(b.op("Less", inner, name="go", shape=(), dtype="bool"))
    with b.subgraph(loop, "body") as (inner,):
        b.outputs(b.op("Relu", inner, name="next"))
    g = b.build(b.op("Relu", loop, name="z"))
    problem = problem_of(g)
    variable = named(problem, "loop:0")
    assert [g.unique_names[i] for i in variable.producers] == ["loop"]
    assert "body/next" in {g.unique_names[i] for i in variable.readers}
    assert HELD in variable.alias_rules
    assert dict(problem.excluded) == {"input": 1024, "output": 1024}


def test_no_reuse_flag_keeps_a_buffer_apart() -> None:
    b = GraphBuilder("g")
    v = b.data("x", (256,))
    for k in range(6):
        v = b.op("Relu", v, name=f"n{k}", attrs={"no_reuse_mem_flag": True} if k == 1 else None)
    problem = problem_of(b.build(v))
    k = named(problem, "n1:0").id
    assert problem.before[k] == 0
    assert all(not m >> k & 1 for m in problem.before)
    assert problem.lifetimes[k].end == FOREVER


def test_empty_graph() -> None:
    problem = problem_of(GraphEditor.empty("g").freeze())
    assert (problem.buffers, problem.before) == ((), ())
