"""GE's memory lines as they looked in early 2020, later in 2020, in 2023 and today."""

from __future__ import annotations

import pytest

from ge_explorer.loaders import load
from ge_explorer.loaders.plog_lines import set_line
from ge_explorer.loaders.plog_memory import UNRELEASED, plan_of_lines

EARLY = "[IMAS]Set g_1 name[{n}] output[0] offset to [{o}] streamid[2] size[512] realsize[100]."
Y2020 = (
    "[INFO] GE(9,p):2020-11-01-10:00:00.000.001 block_mem_assigner.cc:1500]9 SetOffsetSize: "
    "[IMAS]Set g_1 name[{n}] output[0] offset to [{o}] streamid[2] size[512] realsize[100] noalignsize[90] "
    "life time begin[{b}] life time end[{e}] child[0:1:0:0] isref[1]."
)
Y2023 = (
    "[INFO] GE(9,p):2023-07-13-07:41:25.167.797 [block_mem_assigner.cc:4069]9 SetOffsetSize:[IMAS]Set g_1 name[{n}] optype[Relu] "
    "output[0] offset to [{o}] streamid[2] memtype[2] size[512] realsize[100] noalignsize[90] life time begin[{b}] "
    "life time end[{e}] child[0:1:0:0:1] isref[1] batch[x] scope[-1] "
)
TODAY = (
    "[IMAS]Set g_1 name[{n}] optype[Relu] output[0] offset to [{o}] streamid[2--0] memtype[2] size[512] realsize[100] "
    "noalignsize[90] life time begin[{b}--7] life time end[9--{e}] child[0:1:0:0:1] isref[1] batch[x], block_type[data ]"
)


@pytest.mark.parametrize("form", [Y2020, Y2023, TODAY])
@pytest.mark.parametrize("name", ["a/b", "odd] output[3", "x] offset to [9", "y] size[3] realsize[1] "])
def test_forms_with_lifetimes(form: str, name: str) -> None:
    b = set_line(form.format(n=name, o=1024, b=3, e=5), 17)
    assert b is not None
    assert (b.graph, b.name, b.kind, b.index, b.offset, b.stream, b.line) == ("g_1", name, "output", 0, 1024, 2, 17)
    assert (b.size, b.real_size, b.no_align_size, b.begin, b.end, b.memory_type) == (512, 100, 90, 3, 5, 2)
    assert b.is_ref
    assert b.batch == ("" if form is Y2020 else "x")
    assert b.op == ("" if form is Y2020 else "Relu")
    assert b.first_stream == (0 if form is TODAY else None)
    assert len(b.flags.split(":")) == (4 if form is Y2020 else 5)


def test_the_form_without_lifetimes_is_read_but_not_planned() -> None:
    b = set_line(EARLY.format(n="a", o=64))
    assert b is not None
    assert (b.offset, b.size, b.begin, b.end, b.ends) == (64, 512, -1, -1, ())
    problem, plan = plan_of_lines([b])
    assert problem.buffers == ()
    assert plan.peak == 0


@pytest.mark.parametrize("form", [EARLY, Y2020, Y2023, TODAY])
def test_damaged_lines_are_no_lines(form: str) -> None:
    whole = form.format(n="a", o=1, b=1, e=2)
    for cut in ("size[512]", "offset to [1]", "streamid[2", "realsize[100]"):
        assert set_line(whole.replace(cut, "?", 1)) is None
    assert set_line(whole.replace("] output[0]", "] elsewhere[0]")) is None


@pytest.mark.parametrize("form", [Y2020, Y2023])
def test_a_log_of_each_form_becomes_a_plan(form: str) -> None:
    rows = [("a", 0, 0, 1), ("b", 512, 1, 3), ("c", 0, 2, UNRELEASED)]
    r = load("\n".join(form.format(n=n, o=o, b=b, e=e) for n, o, b, e in rows).encode())
    assert r.recorded is not None
    problem, plan = plan_of_lines(r.recorded.buffers)
    assert problem.before == (0, 0, 0b001)
    assert (plan.offsets, plan.peak, plan.origin) == ((0, 512, 0), 1024, "ge-log")
    assert r.report.counts["damaged"] == 0


@pytest.mark.parametrize("comma", [",", ""])
def test_summary_lines(comma: str) -> None:
    """The line after an out-of-memory lacks a comma."""
    r = load(
        f"[IMAS]AfterAssignMemory : g_1 memoffset[1536], memtype[2], theory_min[1024], zero_copy[0], total_size[2048], "
        f"no_reuse[512], streams[3]{comma} topo_mode[DFS], mop[MemoryPriority], io_reuse[1:0], alloc_mode[ByApp], smp[0]".encode()
    )
    assert r.report.counts["summary"] == [
        {"graph": "g_1", "memoffset": 1536, "memtype": 2, "theory_min": 1024, "zero_copy": 0, "total_size": 2048, "no_reuse": 512,
         "streams": 3, "topo_mode": "DFS", "mop": "MemoryPriority", "io_reuse": "1:0", "alloc_mode": "ByApp", "smp": 0}
    ]  # fmt: skip
