"""What attributes and options change in GE's plan: references, groups, user buffers, memory types, batches, switches."""

from __future__ import annotations

from typing import Any

import pytest

from ge_explorer.errors import PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.memory.ge.planner import plan_ge
from ge_explorer.memory.ge.symbols import HOST, P2P, SESSION_HBM
from ge_explorer.memory.ge.view import SIZE
from ge_explorer.memory.ge.wording import WHY
from tests.memory.ge.plans import Planned, plan, same

CHAIN = ["A>B", "B>C", "C>D"]
PADDED_IN, PADDED_OUT = {"continuous_input": True}, {"continuous_output": True}
CLOSE_IN = {"_no_padding_continuous_input": True, "_output_reuse_input": True, "_reuse_input_on_dim_index": 0}
SEPARATE = {**PADDED_IN, "atomic_input_index": [-1], "need_gentask_atomic": True}


def model(*middle: str, options: dict[str, str] | None = None, size: int = 4096) -> Planned:
    """Data -> chain of ``middle`` -> NetOutput."""
    names = ["x", *middle, "end"]
    return plan(
        [(n, [] if n == "end" else size) for n in names],
        [f"{a}>{b}" for a, b in zip(names, [*middle, "end"], strict=False)],
        {"x": -1},
        options,
        types={"x": "Data", "end": "NetOutput"},
        attrs={"x": {"index": 0}},
        safe=False,
    )


# ------------------------------------------------------------------ switches
def test_reuse_off_lies_in_creation_order() -> None:
    p = plan(same("ABCD"), CHAIN, options={"ge.exec.disableReuseMemory": "1"})
    assert list(p.offsets.values()) == [0, 4096, 8192, 12288]
    assert p.result.statistics.no_reuse == 16384


@pytest.mark.parametrize("named", ["C", "Special", "X,C"])
def test_named_operators_take_and_give_nothing(named: str) -> None:
    p = plan(same("ABCDE"), [*CHAIN, "D>E"], options={"OP_NO_REUSE_MEM": named}, types={"C": "Special"})
    at = p.offsets
    assert sum(x == at["C"] for x in at.values()) == 1
    assert p.result.best.size == 12288


def test_a_node_attribute_forbids_reuse() -> None:
    p = plan(same("ABCD"), CHAIN, attrs={"C": {"no_reuse_mem_flag": True}})
    assert p.result.best.size == 12288
    assert p.lives["C"][0] == 1  # live from the start


def test_a_workspace_can_be_kept() -> None:
    work = {"A": [4096], "C": [4096]}
    assert plan(same("ABCD"), CHAIN, workspace=work).result.best.size == 12288
    kept = plan(same("ABCD"), CHAIN, workspace=work, attrs={"A": {"workspace_reuse_flag": [False]}})
    assert kept.result.best.size == 16384


@pytest.mark.parametrize(("first", "block"), [(True, 0), (False, 1), (None, 1)])
def test_the_graph_can_ask_for_first_released_first_reused(first: bool | None, block: int) -> None:
    e = GraphEditor.empty("g", attrs={} if first is None else {"_mem_release_first_reuse_first": first})
    a = e.add_node("a", "Op", outputs=[((480,), "int8")] * 2)
    b = e.add_node("b", "Op", inputs=[e.output(a, 0), e.output(a, 1)], outputs=[((9000,), "int8")])
    e.add_node("c", "Op", inputs=[e.output(b)], outputs=[((480,), "int8")])
    takes = [d.block for d in plan_ge(e.freeze(), [0] * 3).decisions if d.action == "take"]
    assert takes == [block]


def test_a_plan_larger_than_the_device_fails_except_under_memory_priority() -> None:
    limit = {"ge.hardwareInfo": "memory_size:8191"}
    assert "8191" in plan(same("ABCD"), CHAIN, options=limit, safe=False).result.failure
    ok = plan(same("ABCD"), CHAIN, options={**limit, "ge.exec.memoryOptimizationPolicy": "MemoryPriority"})
    assert ok.result.total == 8192


def test_a_negative_size_stops_the_planner() -> None:
    e = GraphEditor.empty("g")
    i = e.add_node("a", "Op", outputs=[((4,), "float")])
    e.set_tensor(e.output(i), attrs={SIZE: -1})
    with pytest.raises(PassFailed, match="negative"):
        plan_ge(e.freeze(), [0])


def test_an_empty_graph_has_an_empty_plan() -> None:
    r = plan_ge(GraphEditor.empty("none").freeze(), [])
    assert (r.total, r.blocks, r.failure) == (0, (), "")
    assert r.candidates[0].classes == ()


# ------------------------------------------------------------------ user buffers
def test_user_buffers_lie_behind_everything_inputs_last() -> None:
    p = model("A", "B", "C")
    at = p.offsets
    assert (p.result.zero_copy, p.result.total) == (8192, 16384)
    assert (at["A"], at["B"], at["C"], at["x"]) == (0, 4096, 8192, 12288)


def test_an_output_index_lets_the_result_take_bytes_and_an_input_index_gives_them() -> None:
    out = model("A", "B", "C", options={"ge.exec.outputReuseMemIndexes": "0"})
    assert {m.name: b.zero_copy for b, m in out.members}["C"]
    both = model("A", "B", "C", options={"ge.exec.inputReuseMemIndexes": "0"})
    parent = {m.name: b.parent for b, m in both.members}
    block = {m.name: b.uid for b, m in both.members}
    assert parent["B"] == block["x"]  # nested in the user's input, which nobody reads after A
    assert both.result.best.size < 8192


def test_small_outputs_only_are_user_buffers_when_ge_allocates() -> None:
    p = model("A", options={"ge.exec.graphIOMemAllocMode": "ByGE", "ge.exec.input_fusion_size": "1024"})
    assert p.result.zero_copy == 0


# ------------------------------------------------------------------ side by side
def placed(p: Planned, *names: str) -> list[int]:
    return [p.offsets[n] for n in names]


def test_a_padded_group_lies_at_the_end_side_by_side() -> None:
    nodes = [("Z", 512), ("A", 1000), ("B", 2000), ("C", 3000), ("G", 512), ("H", 9000)]
    p = plan(nodes, ["Z>A", "Z>B", "Z>C", "A>G:0", "B>G:1", "C>G:2", "G>H"], attrs={"G": PADDED_IN})
    a, b, c = placed(p, "A", "B", "C")
    assert (b - a, c - b) == (1024, 2048)
    assert [x.members[0].name for x in p.result.blocks[-3:]] == ["A", "B", "C"]
    assert all(x.continuous for x in p.result.blocks[-3:])


def test_a_group_cleaned_by_its_reader_is_one_block() -> None:
    nodes = [("Z", 512), ("A", 1000), ("B", 2000), ("G", 512), ("H", 3072)]
    p = plan(nodes, ["Z>A", "Z>B", "A>G:0", "B>G:1", "G>H"], attrs={"G": SEPARATE})
    a, b, h = placed(p, "A", "B", "H")
    assert (b - a, h) == (1024, a)
    assert {m.name: m.real for _, m in p.members}["A"] == 3072
    assert "B" not in {m.name for _, m in p.members}


def test_an_unpadded_concatenation_is_one_block_of_its_first_input() -> None:
    nodes = [("Z", 512), ("A", 1056), ("B", 2080), ("G", 3104), ("H", 512)]
    p = plan(nodes, ["Z>A", "Z>B", "A>G:0", "B>G:1", "G>H"], attrs={"G": CLOSE_IN})
    a, b, g = placed(p, "A", "B", "G")
    assert (b - a, g) == (1024, a)  # 1024 bytes of data, no padding between


def test_continuous_outputs_and_rows_over_two_groups() -> None:
    nodes = [("Z", 512), ("A", 1000), ("P", [600, 600, 600]), ("B", 2000), ("G", 512), ("H", 4096)]
    edges = ["Z>A", "Z>P", "Z>B", "A>G:0", "P>G:1", "P:1>G:2", "P:2>G:3", "B>G:4", "G>H"]
    for policy, reused in (("0", False), ("1", True)):
        p = plan(nodes, edges, attrs={"P": PADDED_OUT, "G": PADDED_IN}, options={"ge.exec.atomicCleanPolicy": policy})
        assert (p.result.offsets[1], p.result.offsets[2], p.offsets["B"]) == ((0,), (1024, 2048, 3072), 4096)
        assert (p.offsets["H"] < 6144) is reused


# ------------------------------------------------------------------ in place and references
def test_a_pair_that_names_nothing_fails() -> None:
    with pytest.raises(PassFailed, match="in-place"):
        plan(same("AB"), ["A>B"], attrs={"B": {"_output_inplace_ability": [[0, 1]]}})


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"streams": {"C": 1}}, False),  # a consumer on another stream
        ({"edges": ["A>B", "A>C", "C>B:1"]}, True),  # B runs last of the consumers
        ({"types": {"A": "Data"}}, False),  # an input must not be written
    ],
)
def test_in_place_conditions(change: dict[str, Any], kept: bool) -> None:
    edges = change.pop("edges", ["A>C", "A>B"])
    nodes = [("A", 4096), ("C", 4096), ("B", 4096)]
    p = plan(nodes, edges, attrs={"B": {"_output_inplace_ability": [[0, 0]]}}, safe=False, **change)
    assert p.result.inplace == (((2, 0, 0),) if kept else ())


def test_a_written_weight_fails_ges_own_check() -> None:
    p = plan(
        [("W", 4096), ("A", 4096), ("B", 4096)], ["W>B:0", "A>B:1"], {"W": -1}, types={"W": "Const"}, references={"B": 0},
        safe=False,
    )  # fmt: skip
    assert p.offsets["B"] == p.offsets["A"] == 0
    assert "cannot reach" in p.result.failure


# ------------------------------------------------------------------ memory types, batches, subgraphs
def test_every_memory_type_has_a_range_of_its_own() -> None:
    p = plan(
        same("ABC"), ["A>B", "B>C"], workspace={"B": [1024]},
        attrs={"A": {"_output_memory_type": ["P2P_DDR"]}, "B": {"_workspace_memory_no_reuse_scope": [1]},
               "C": {"_output_memory_type": [HOST]}},
    )  # fmt: skip
    assert dict(p.result.ends) == {2: 4096, P2P: 4096, SESSION_HBM: 1024, HOST: (64 << 30) + 4096}
    assert p.offsets == {"A": 0, "B": 0, "C": 64 << 30}


def test_batches_are_laid_over_each_other() -> None:
    nodes = [("A", 512), ("B1", 4096), ("C1", 4096), ("B2", 2048), ("C2", 1024)]
    label = {n: {"_batch_label": f"Batch_{n[1]}"} for n, _ in nodes[1:]}
    p = plan(nodes, ["A>B1", "B1>C1", "A>B2", "B2>C2"], attrs=label, safe=False)
    assert p.result.best.size == 512 + 8192
    assert p.offsets["B1"] == p.offsets["B2"] == 512
    apart = plan(nodes, ["A>B1", "B1>C1", "A>B2", "B2>C2"], safe=False)
    assert apart.result.statistics.total == 11776
    assert p.result.statistics.total == 8704  # only the largest label counts


def test_a_called_graph_shares_its_borders() -> None:
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Op", outputs=[((480,), "int8")])
    call = e.add_node("call", "PartitionedCall", inputs=[e.output(a)], outputs=[((480,), "int8")])
    body = e.add_scope("body", call)
    x = e.add_node("x", "Data", outputs=[((480,), "int8")], attrs={"_parent_node_index": 0}, scope=body)
    b = e.add_node("b", "Op", inputs=[e.output(x)], outputs=[((480,), "int8")], scope=body)
    e.add_node("end", "NetOutput", inputs=[e.output(b)], scope=body)
    c = e.add_node("c", "Op", inputs=[e.output(call)], outputs=[((480,), "int8")])
    g = e.freeze()
    r = plan_ge(g, [0, 0, 1, 1, 1, 0], local={call, x})
    assert r.offsets[a] == r.offsets[x]
    assert r.offsets[b] == r.offsets[call]
    blocks = {m.name: bl for bl in r.blocks for m in bl.members}
    assert blocks["call"].stream == 1  # the result counts on the stream of its inner producer
    assert r.failure == ""
    assert r.offsets[c] != r.offsets[b]


def test_nested_concatenations_of_the_same_tensor_end() -> None:
    nodes = [("Z", 512), ("c0", 1056), *[(f"c{k}", 1024 * 2**k + 32) for k in range(1, 24)]]
    edges = ["Z>c0", *[f"c{k}>c{k + 1}:{i}" for k in range(23) for i in (0, 1)]]
    p = plan(nodes, edges, attrs={f"c{k}": CLOSE_IN for k in range(1, 24)}, safe=False)
    assert p.result.best.size > 0


def test_every_reason_has_words_in_both_languages() -> None:
    assert all(t.en and t.zh for t in WHY.values())


def test_centrally_cleaned_buffers_lie_behind_the_reused_blocks() -> None:
    cleaned = {"is_atomic_node": True, "atomic_output_index": [0], "sub_node_workspace_info": {"B": {0: 1024}}}
    p = plan(same("ABCD"), CHAIN, workspace={"B": [1024]}, attrs={"B": cleaned})
    assert (p.offsets["B"], p.result.workspaces[1]) == (8192, (12288,))
    assert p.result.total == 13312
    apart = plan(
        same("ABCD"), CHAIN, workspace={"B": [1024]}, attrs={"B": cleaned}, options={"ge.exec.atomicCleanPolicy": "1"}
    )
    assert apart.result.total == 9216
