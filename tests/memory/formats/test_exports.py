"""Exports: the article's JSON, the table, minimalloc's CSV; and the command line that writes them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from ge_explorer.cli import main
from ge_explorer.errors import OptionError
from ge_explorer.memory.formats.article_json import article_record
from ge_explorer.memory.formats.check_plan import check_plan
from ge_explorer.memory.formats.minimalloc_csv import read
from ge_explorer.memory.formats.plan_csv import COLUMNS, minimalloc_text, plan_csv
from ge_explorer.memory.formats.plan_json import parse_plan
from ge_explorer.memory.model import Buffer, MemoryProblem
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.reuse import takeovers
from ge_explorer.memory.teaching.pools import plan_pools
from tests.memory.search.problems import from_rows, interval_problems
from tests.memory.teaching.graphs import case

FIELDS = [
    "name",
    "size_bytes",
    "pool",
    "offset",
    "lifetime",
    "producer_op",
    "consumer_ops",
    "inplace_source",
    "shared_with",
]


def test_b15_article_fields_and_nothing_else() -> None:
    c = case(["a", "grad_b", "d"], "ad")
    record = article_record(c.problem, c.plan("pools"), c.graph.unique_names)
    assert list(record) == ["summary", "tensor_allocations"]
    assert [list(t) for t in record["tensor_allocations"]] == [FIELDS] * 3
    assert [t["pool"] for t in record["tensor_allocations"]] == ["temporary", "gradient", "temporary"]
    assert record["tensor_allocations"][0]["consumer_ops"] == ["d"]
    assert record["summary"]["total_tensors"] == 3


def test_b15_utilisation_is_a_number_with_its_text_and_used_is_a_peak() -> None:
    c = case("abcd", "ab bc cd")
    info = article_record(c.problem, c.plan("hb"), capacity=81920)["summary"]["memory_pool_info"]["temporary"]
    assert info == {"capacity_bytes": 81920, "used_bytes": 8192, "utilization": 0.1, "utilization_text": "10.0%"}


def test_b15_no_producer_is_no_crash_and_all_is_json() -> None:
    p = from_rows([(0, 2, 10), (2, 2, 10)])
    record = json.loads(json.dumps(article_record(p, plan_hb(p))))
    assert [t["producer_op"] for t in record["tensor_allocations"]] == ["N/A", "N/A"]
    assert record["tensor_allocations"][1]["shared_with"] == "b0"
    assert (
        article_record(MemoryProblem((), (), ()), plan_hb(MemoryProblem((), (), ())))["summary"]["memory_pool_info"]
        == {}
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(interval_problems(8))
def test_exported_plans_are_read_back_and_safe(problem: MemoryProblem) -> None:
    for plan in (plan_hb(problem), plan_pools(problem)):
        text = json.dumps(article_record(problem, plan))
        read_back = parse_plan(text)
        assert check_plan(read_back) == ()
        assert [(t.name, t.size, t.offset) for t in read_back.tensors] == [
            (b.name, b.size, at) for b, at in zip(problem.buffers, plan.offsets, strict=True)
        ]
        assert read(minimalloc_text(problem, plan))[1] == plan.offsets
        rows = list(csv.DictReader(io.StringIO(plan_csv(problem, plan))))
        assert [(int(r["size_bytes"]), int(r["offset"])) for r in rows] == [
            (b.size, at) for b, at in zip(problem.buffers, plan.offsets, strict=True)
        ]


def test_minimalloc_cannot_say_streams() -> None:
    c = case("ABXY", "AB XY", side="XY")
    with pytest.raises(OptionError, match="several streams"):
        minimalloc_text(c.problem, c.plan("hb"))
    one = case("ABXY", "AB XY")
    assert minimalloc_text(one.problem, one.plan("hb")).startswith("id,lower,upper,size,offset\n")


def test_table_has_names_and_no_formulas() -> None:
    c = case(["=HYPERLINK", "b"], "")
    text = plan_csv(c.problem, c.plan("none"), c.graph.unique_names)
    assert text.splitlines()[0] == ",".join(COLUMNS)
    assert ",'=HYPERLINK:0," in text


def test_takeovers_follow_time_not_the_order_of_a_file() -> None:
    late_first = from_rows([(5, 2, 10), (0, 2, 10), (2, 2, 10)])
    plan = plan_hb(late_first)
    assert plan.offsets == (0, 0, 0)
    assert takeovers(late_first, plan) == ((2,), (), (1,))
    assert isinstance(late_first.buffers[0], Buffer)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "p.csv"
    source.write_text("id,lower,upper,size\na,0,2,4\nb,2,4,4\n")
    for form, ending, start in (
        ("article", "json", "{"),
        ("csv", "csv", "id,name"),
        ("minimalloc", "csv", "id,lower"),
        ("json", "json", "{"),
    ):
        out = tmp_path / f"out.{ending}"
        assert main(["memory", str(source), "--planner", "best-fit", "-o", str(out), "--format", form]) == 0
        assert out.read_text().startswith(start)
        if ending == "json":
            assert main(["check", str(out)]) == 0
    capsys.readouterr()
    assert main(["memory", str(source), "--format", "csv"]) == 2
    assert "-o FILE" in capsys.readouterr().err
    assert main(["memory", str(source), "-o", str(tmp_path / "no" / "x.json")]) == 2
    static = tmp_path / "s.csv"
    static.write_text(
        "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)\nh,a,0,0,1,2,1\nh,b,0,1,1,2,1\n"
    )
    capsys.readouterr()
    assert main(["memory", str(static), "--planner", "hb"]) == 0
    assert {g: a["peak"] for g, a in json.loads(capsys.readouterr().out)["graphs"].items()} == {"0": 1024, "1": 1024}
    assert main(["memory", str(static), "-o", str(tmp_path / "x.json")]) == 2
    snap = tmp_path / "snap.json"
    snap.write_text(json.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 64}]]}))
    capsys.readouterr()
    assert main(["memory", str(snap)]) == 0
    assert json.loads(capsys.readouterr().out)["devices"][0]["peak"] == 64
