"""Measured durations: reading CSV, three ways to match, and the report."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_explorer.device.cost import cost_table
from ge_explorer.device.profile import ProfileRow, match_profile, read_profile, with_profile
from ge_explorer.errors import GxError, InputError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.provenance import Origin


def net() -> Graph:
    b = GraphBuilder("g")
    y = b.op("MatMulV2", b.data("x", (64, 64)), b.const("w", (64, 64)), name="mm")
    y = b.op("Conv2D", y, name="convrelu", attrs={"_datadump_original_op_names": ("conv", "bn", "relu")})
    y = b.op("Add", y, y, name="add1")
    return b.build(b.op("Add", y, y, name="add2"))


def test_three_ways_in_order_and_the_report() -> None:
    text = (
        "Name,Type,Duration(us)\nmm,MatMulV2,10.5\nmm,MatMulV2,11.5\nconv,Conv2D,4\nrelu,Relu,1.25\n"
        "Add_17,Add,2\nAdd_18,Add,3\nghost,Exp,9\n"
    )
    g = net()
    m = match_profile(g, read_profile(text))
    ns = {g.node(i).name: v for i, v in m.ns.items()}
    assert ns == {"mm": 11000, "convrelu": 5250, "add1": 2000, "add2": 3000}
    assert m.counts == {"name": 1, "original": 1, "order": 2, "missing": 0, "unused": 1}
    assert m.unused == ("ghost",)
    issue = m.issue()
    assert issue.code == "GX520"
    assert issue.severity == "warning"
    assert "4 of 4" in issue.message.en


def test_costs_use_the_measured_time_and_say_so() -> None:
    g = net()
    m = match_profile(g, [ProfileRow("mm", 12_345.0)])
    for costs in (cost_table(g, measured=m.ns), cost_table(with_profile(g, m))):
        c = costs.of(g.node("mm").id)
        assert (c.ns, c.origin, c.bound) == (12_345, Origin.MEASURED, "given")
        assert costs.of(g.node("add1").id).origin is not Origin.MEASURED
    assert len(m.missing) == 3


def test_a_fused_name_is_split_into_originals_only_once() -> None:
    g = net()
    both = match_profile(g, [ProfileRow("convbnrelu", 7.0), ProfileRow("conv", 5.0)])
    assert both.ns[g.node("convrelu").id] == 7
    assert both.unused == ("conv",)


def test_order_needs_equal_counts() -> None:
    m = match_profile(net(), [ProfileRow("a", 1.0, "Add"), ProfileRow("b", 1.0, "Add"), ProfileRow("c", 1.0, "Add")])
    assert not m.ns
    assert len(m.unused) == 3


@pytest.mark.parametrize(
    ("header", "ns"),
    [
        ("Op Name,Task Duration(us)", 2500),
        ("name,duration", 2500),
        ("name,duration_us", 2500),
        ("name,duration_ns", 2.5),
    ],
)
def test_headers_of_other_tools(header: str, ns: float) -> None:
    assert read_profile(f"\n{header}\nmm,\t2.5\n")[0].ns == ns


@pytest.mark.parametrize(
    ("text", "says"),
    [("\n", "empty"), ("a,b\n1,2\n", "no name"), ("name,duration\nmm,x\n", "line 2"), ("name,duration\nmm,-1\n", "line 2"),
     ("name,duration\nmm\n", "line 2"), ("name,duration\nmm,inf\n", "line 2"), ("/no/file.csv", "cannot read")],
)  # fmt: skip
def test_bad_profiles_are_refused_with_the_place(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_profile(text)


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kernel_details.csv"
    file.write_text("Name,Duration(us)\nmm,1\n", encoding="utf-8-sig")
    assert read_profile(file) == [ProfileRow("mm", 1000.0, "", 2)]


@given(st.text(max_size=200))
def test_any_text_is_rows_or_a_clean_refusal(text: str) -> None:
    with contextlib.suppress(GxError):
        read_profile(text + "\n")
