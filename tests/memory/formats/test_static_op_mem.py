"""The profiler's static memory table: sentinels, both readings of the end, exact sizes, bad lines."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ge_explorer.errors import InputError
from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.formats.static_op_mem import COLUMNS, is_static_op_mem, parse, read_static_op_mem
from ge_explorer.memory.model import FOREVER
from ge_explorer.memory.planner import plan_hb
from tests.memory.search.problems import exclude, is_safe

HEAD = ",".join(COLUMNS) + "\n"
ROWS = (
    "host,a,0,0,1,3,1\n"
    "host,b,0,0,3,5,2\n"
    "host,c,0,0,4,4294967295,0.211914063\n"
    "host,a,0,0,6,4294967294,4\n"
    "host,x,0,7,2,2,1.5\n"
)


def test_graphs_sentinels_and_names() -> None:
    found = parse(HEAD + ROWS)
    assert (found.rows, list(found.graphs)) == (5, ["0", "7"])
    assert [r.ends for r in found.graphs["0"]] == [True, True, False, False]
    assert [r.size for r in found.graphs["0"]] == [1024, 2048, 217, 4096]
    p = found.problem("0")
    assert [b.name for b in p.buffers] == ["a", "b", "c", "a#2"]
    assert [x.end for x in p.lifetimes] == [3, 5, FOREVER, FOREVER]
    assert found.sum_kb("0") == Decimal("7.211914063")


def test_both_readings_of_the_end() -> None:
    found = parse(HEAD + ROWS)
    assert (found.peak_kb("0", inclusive=False), found.peak_kb("0")) == (Decimal("4.211914063"), Decimal("4.211914063"))
    two = parse(HEAD + "h,a,0,0,1,3,1\nh,b,0,0,3,5,2\n")
    assert (two.peak_kb("0", inclusive=False), two.peak_kb("0")) == (2, 3)
    assert (two.curve("0", inclusive=False).peak, two.curve("0").peak) == (2048, 3072)
    assert exclude(two.problem("0"), 0, 1), "planning takes the careful reading"


def test_plans_are_safe() -> None:
    p = parse(HEAD + ROWS).problem("0")
    plan = plan_hb(p)
    assert is_safe(p, plan.offsets)
    assert serial_live(p).bytes == 4096 + 217 <= plan.peak


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'Device_id' is missing"),
        ("Device_id,Op Name\n", "'Model Name' is missing"),
        (HEAD + "h,a,0,0,1,3\n", "6 fields, not 7, at CSV, line 2"),
        (HEAD + "h,a,0,0,-1,3,1\n", "Node Index Start must be a whole number"),
        (HEAD + "h,a,0,0,1,4294967296,1\n", "Node Index End must be a whole number"),
        (HEAD + "h,a,0,0,1,3,many\n", "Size"),
        (HEAD + "h,a,0,0,1,3,-1\n", "Size"),
        (HEAD + "h,a,0,0,1,3,NaN\n", "Size"),
        (HEAD + "h,a,0,0,1,3,1e99\n", "Size"),
        (HEAD + '"h,a,0,0,1,3,1\n', "no CSV|fields"),
    ],
)
def test_bad_lines(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse(text)


def test_files(tmp_path) -> None:  # type: ignore[no-untyped-def]
    f = tmp_path / "static_op_mem.csv"
    f.write_text("\ufeff" + HEAD + ROWS, encoding="utf-8")
    assert is_static_op_mem(f)
    assert read_static_op_mem(f).rows == 5
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe")
    assert not is_static_op_mem(tmp_path / "x.csv")
    with pytest.raises(InputError, match="not text"):
        read_static_op_mem(tmp_path / "x.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_static_op_mem(tmp_path / "none.csv")
