"""Per-tensor offsets of GE's own plans and of dumps: references and padded groups."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.checks.memory_layout import verify_layout
from ge_explorer.memory.ge.view import SIZE
from tests.memory.ge.plans import Planned, plan, same


def tensor_offsets(p: Planned) -> dict[int, int]:
    return {t: p.result.offsets[n.id][k] for n in p.graph for k, t in enumerate(n.outputs)}


def group(attrs: dict[str, Any] | None = None) -> Planned:
    return plan(same("ABCG", 1000), ["A>G", "B>G", "C>G"], attrs={"G": attrs or {"continuous_input": True}}, safe=False)


def test_a_padded_group_of_ge_lies_side_by_side() -> None:
    p = group()
    at = tensor_offsets(p)
    assert [at[k] - at[0] for k in range(3)] == [0, 1024, 2048]
    assert verify_layout(p.graph, at) == ()


def test_a_gap_or_a_swap_is_an_issue() -> None:
    p = group()
    at = tensor_offsets(p)
    for wrong in ({2: 4096}, {1: 2048, 2: 1024}, {1: 512}):
        issue = verify_layout(p.graph, {**at, **wrong})[0]
        assert issue.code == "GX207"
        assert "side by side" in issue.message.en
        assert issue.fix is not None
        assert issue.fix.zh


def test_outputs_side_by_side() -> None:
    p = plan(
        [("A", [1000, 600]), ("B", 512)], ["A:0>B", "A:1>B:1"], attrs={"A": {"continuous_output": True}}, safe=False
    )
    at = tensor_offsets(p)
    assert verify_layout(p.graph, at) == ()
    assert [i.code for i in verify_layout(p.graph, {**at, 1: at[1] + 512})] == ["GX207"]


def test_groups_without_padding_are_not_judged() -> None:
    p = group({"_no_padding_continuous_input": True, "_output_reuse_input": True, "_reuse_input_on_dim_index": 0})
    assert verify_layout(p.graph, tensor_offsets(p)) == ()


def test_a_reference_lies_on_its_input() -> None:
    p = plan(same("ABCD"), ["A>B", "B>C", "C>D"], references={"C": 0})
    at = tensor_offsets(p)
    assert at[2] == at[1]
    assert verify_layout(p.graph, at) == ()
    (issue,) = verify_layout(p.graph, {**at, 2: at[1] + 512})
    assert issue.code == "GX206"
    assert "written over its input 0" in issue.message.en
    assert verify_layout(p.graph, {k: v for k, v in at.items() if k != 1}) == (), "what is not stated is not judged"


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 5000), min_size=2, max_size=6), st.data())
def test_ge_groups_of_any_size(sizes: list[int], data: st.DataObject) -> None:
    letters = "ABCDEF"[: len(sizes)]
    p = plan(
        [*zip(letters, sizes, strict=True), ("G", 512), ("H", 512)],
        [*(f"{x}>G" for x in letters), "G>H"],
        attrs={"G": {"continuous_input": True}},
        safe=False,
    )
    at = tensor_offsets(p)
    assert verify_layout(p.graph, at) == ()
    k = data.draw(st.integers(1, len(sizes) - 1))
    assert verify_layout(p.graph, {**at, k: at[k] + 512})
    stated = {t.id: int(t.attrs[SIZE]) for t in p.graph.tensors if t is not None}
    assert verify_layout(p.graph, at, stated) == ()
