"""Plan files: written, read, checked; races found from the file alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.errors import InputError
from ge_explorer.loaders.generated import generated_graph
from ge_explorer.memory.formats.check_plan import check_plan
from ge_explorer.memory.formats.plan_json import parse_plan, plan_record
from ge_explorer.memory.planner import plan_hb, plan_none
from ge_explorer.memory.problem import build_problem, order_before_events
from ge_explorer.memory.verify import find_races
from tests.memory.search.problems import from_rows
from tests.memory.teaching.graphs import case

ARTICLE = {
    "summary": {"total_tensors": 2, "memory_pool_info": {"temporary": {"capacity_bytes": 100, "used_bytes": 80}}},
    "tensor_allocations": [
        {"name": "q", "size_bytes": 60, "pool": "temporary", "offset": 0, "lifetime": "[10, 45)"},
        {"name": "k", "size_bytes": 60, "pool": "temporary", "offset": 40, "lifetime": "[45, 50)"},
    ],
}


def codes(record: dict[str, Any]) -> list[str]:
    return [i.code for i in check_plan(parse_plan(json.dumps(record)))]


def test_a_file_without_streams_is_judged_by_lifetimes() -> None:
    plan = parse_plan(json.dumps(ARTICLE))
    assert not plan.ordered_by_streams
    assert codes(ARTICLE) == []
    early = json.loads(json.dumps(ARTICLE))
    early["tensor_allocations"][1]["lifetime"] = "[44, 50)"
    assert codes(early) == ["GX201"]
    apart = json.loads(json.dumps(early))
    apart["tensor_allocations"][1]["pool"] = "persistent"
    assert codes(apart) == [], "other pools are other addresses"
    high = json.loads(json.dumps(ARTICLE))
    high["tensor_allocations"][1]["offset"] = 41
    assert codes(high) == ["GX203"]
    odd = {**ARTICLE, "alignment_bytes": 16}
    assert codes(odd) == ["GX202"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.data())
def test_the_file_alone_tells_what_the_verifier_tells(seed: int, streams: int, data: st.DataObject) -> None:
    graph = generated_graph(40, seed=seed)
    sequence = tuple(graph.walk())
    rng = np.random.default_rng(seed)
    stream = np.full(graph.id_bound, -1, dtype=np.int32)
    for n in graph:
        if not n.is_source:
            stream[n.id] = rng.integers(0, streams)
    hb = order_before_events(graph, sequence, stream)
    problem = build_problem(graph, sequence, stream, None, hb)
    plan = plan_hb(problem)
    record = plan_record(problem, plan, hb, graph.unique_names, plan.peak)
    assert codes(record) == []
    if problem.buffers:  # move one buffer somewhere else: the same pairs must be found
        k = data.draw(st.integers(0, len(problem.buffers) - 1))
        offsets = list(plan.offsets)
        offsets[k] = data.draw(st.sampled_from(offsets))
        record["tensor_allocations"][k]["offset"] = offsets[k]
        record["summary"]["memory_pool_info"] = {}
        record["peak_bytes"] = None
        assert len(codes(record)) == len(list(find_races(problem.buffers, offsets, hb)))


def test_the_record_has_the_known_names_and_whole_numbers() -> None:
    problem = from_rows([(0, 3, 5), (1, 4, 2**55)])
    record = json.loads(json.dumps(plan_record(problem, plan_none(problem))))
    assert record["summary"]["total_tensors"] == 2
    first = record["tensor_allocations"][1]
    known = {
        "name",
        "size_bytes",
        "pool",
        "offset",
        "lifetime",
        "producer_op",
        "consumer_ops",
        "inplace_source",
        "shared_with",
    }
    assert known <= set(first)
    assert (first["lifetime"], first["size_bytes"]) == ("[1, 5)", 2**55)


def changed(**fields: Any) -> str:
    record = json.loads(json.dumps(ARTICLE))
    record["tensor_allocations"][0].update(fields)
    return json.dumps(record)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
        ("[]", "needs a list tensor_allocations"),
        ('{"tensor_allocations": 3}', "needs a list tensor_allocations"),
        ('{"tensor_allocations": [3]}', "tensor 0"),
        ('{"tensor_allocations": [{"name": "a"}]}', "'size_bytes' is missing"),
        (changed(offset=-1), "offset must be a whole number"),
        (changed(offset=1.5), "offset must be a whole number"),
        (changed(offset=True), "offset must be a whole number"),
        (changed(size_bytes=2**62), "size_bytes must be a whole number"),
        (changed(lifetime="10-45"), "lifetime must be text"),
        (changed(lifetime="[45, 45)"), "lifetime is empty"),
        (changed(lifetime=None), "lifetime must be text"),
        (changed(free_after=[1, 2]), "one number per stream"),
        (changed(free_after=["x"]), "list of whole numbers"),
        (changed(free_after=[2**40]), "list of whole numbers"),
    ],
)
def test_bad_files_are_one_clear_error(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_plan(text, "plan.json")


def test_a_race_in_a_file_names_reader_producer_and_the_event_that_would_help() -> None:
    c = case("ABXY", "AB XY", side="XY")
    record = plan_record(c.problem, c.plan("interval"), c.hb, c.graph.unique_names)
    assert record["tensor_allocations"][0]["last_users"] == ["B", "N/A"]
    found = check_plan(parse_plan(json.dumps(record)))
    assert [i.code for i in found] == ["GX201", "GX201"]
    assert "A:0 and X:0 share bytes 0..4096" in found[0].message.en
    assert "nothing orders B (stream 0) before X, which writes X:0" in found[0].message.en
    assert found[0].fix is not None
    assert "Add an event from B to X" in found[0].fix.en
    assert found[0].fix.zh
    for t in record["tensor_allocations"]:
        del t["last_users"]
    silent = check_plan(parse_plan(json.dumps(record)))
    assert "no order of the streams" in silent[0].message.en
    record["tensor_allocations"][0]["last_users"] = ["B"]
    with pytest.raises(InputError, match="one name per stream"):
        parse_plan(json.dumps(record))
