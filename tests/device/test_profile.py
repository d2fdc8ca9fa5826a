"""Measured durations: reading CSV, three ways to match, and the report."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_explorer.device.cost import cost_table
from ge_explorer.device.profile import ProfileRow, load_profile, match_profile, read_profile, with_profile
from ge_explorer.errors import GxError, InputError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.provenance import Origin

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "real" / "profiler"


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


def test_wrong_encodings_pipes_and_sizes_are_one_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_bytes("Name,Duration(us)\nmm,1\n乘,2\n".encode("gbk"))
    with pytest.raises(InputError, match=r"not UTF-8.*line 3"):
        read_profile(file)
    file.write_bytes("Name,Duration(us)\nmm,1\n".encode("utf-16"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_profile(file)
    with pytest.raises(InputError, match="not a regular file"):
        read_profile(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file"):
        read_profile(pipe)
    with file.open("wb") as f:
        f.truncate((256 << 20) + 1)
    with pytest.raises(InputError, match="256 MiB"):
        read_profile(file)


def test_rows_without_a_duration_are_counted_and_formulas_refused() -> None:
    p = load_profile("Name,Duration(us)\nmm,N/A\nadd1,\nadd2,3\n")
    assert ([r.name for r in p.rows], p.skipped) == (["add2"], 2)
    for cell in ("=HYPERLINK(1)", "@SUM(1)"):
        with pytest.raises(InputError, match=r"formula.*|line 2"):
            load_profile(f'Name,Duration(us)\n"{cell}",1\n')
    with pytest.raises(InputError, match="line 2"):
        load_profile("Name,Duration(us)\nmm,=1+1\n")
    assert load_profile("Name,Duration(us)\n-neg/x,1\n+p,2\n").rows[0].name == "-neg/x"


@pytest.mark.parametrize(
    ("header", "lost"),
    [("Name,Time", "no duration"), ("Kernel,Duration(us)", "no name"), ("a,b", "no name and duration")],
)
def test_missing_columns_are_named(header: str, lost: str) -> None:
    with pytest.raises(InputError, match=lost):
        load_profile(f"{header}\nx,1\n")


def test_a_large_profile_is_read_in_seconds() -> None:
    text = "Name,Type,Duration(us)\n" + "".join(f"op{i % 5000},Add,{i % 7}.5\n" for i in range(200_000))
    start = time.perf_counter()
    p = load_profile(text)
    assert len(p.rows) == 200_000
    assert time.perf_counter() - start < 10


@pytest.mark.skipif(not REAL.is_dir(), reason="no real files here")
def test_real_profiles_load() -> None:
    read = {f.name: load_profile(f) for f in sorted(REAL.glob("*.csv")) if "details" in f.name or "summary" in f.name}
    assert {k: len(p.rows) + p.skipped for k, p in read.items()} == {
        "as_strided_op_summary.csv": 20, "level0_rank0_kernel_details.csv": 191, "level1_rank0_kernel_details.csv": 191,
        "mstt_old_kernel_details.csv": 591, "small_rank1_kernel_details.csv": 22, "st_rank0_kernel_details.csv": 2463,
    }  # fmt: skip
    with pytest.raises(InputError, match="table of memory"):
        load_profile(REAL / "level1_rank0_operator_memory.csv")
    with pytest.raises(InputError, match="no name and duration"):
        load_profile(REAL / "level1_rank0_step_trace_time.csv")


@given(st.text(max_size=200))
def test_any_text_is_rows_or_a_clean_refusal(text: str) -> None:
    with contextlib.suppress(GxError):
        read_profile(text + "\n")
