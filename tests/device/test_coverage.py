"""Every standard ONNX operator has a place; most have a cost formula; what is unknown is marked, never free."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ge_explorer as gx
from ge_explorer import pipelines
from ge_explorer.api import open_session
from ge_explorer.cli import main
from ge_explorer.device.cost import cost_table
from ge_explorer.device.op_table import OP_TABLE, place_of
from ge_explorer.device.overrides import placement_option
from ge_explorer.device.work import family_of
from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.loaders.ge_types import ge_type
from ge_explorer.provenance import Origin
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

onnx = pytest.importorskip("onnx")


def onnx_types() -> dict[str, str]:
    """ONNX operator -> GE type, for all standard operators of the installed onnx."""
    newest = {s.name: s.since_version for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    return {name: ge_type(name, "ai.onnx", max(13, version)).op for name, version in newest.items()}


def test_at_least_150_onnx_operators_are_placed_and_have_a_formula() -> None:
    types = onnx_types()
    placed = {n: place_of(op)[0] for n, op in types.items()}
    known = [n for n, p in placed.items() if p is not None]
    assert len(known) >= 195, sorted(set(types) - set(known))
    formula = [n for n in known if family_of(types[n]) != "unknown"]
    assert len(formula) >= 150
    for n in set(known) - set(formula):  # the others run nothing, or cost a fixed time on the AI CPU
        p = placed[n]
        assert p is not None
        assert p.core in ("NONE", "AICPU"), n


def test_every_ai_core_type_of_the_table_has_a_formula() -> None:
    lost = [op for op, p in OP_TABLE.items() if p.core in ("AIC", "AIV", "MIX") and family_of(op) == "unknown"]
    assert all(OP_TABLE[op].family == "expert routing" for op in lost), lost


@pytest.mark.parametrize("shape", [(16, 64), (None, 64), None])
@pytest.mark.parametrize("op", ["TotallyUnknown", "LinearAttention"])
def test_unknown_operators_cost_something_and_say_that_it_is_assumed(op: str, shape: Any) -> None:
    b = GraphBuilder("g")
    g = b.build(b.op(op, b.data("x", shape), name="n", shape=shape))
    t = run_trace(g, parse_pipeline("place-engines", pipelines.PASSES.get, {}), {})
    c = cost_table(g, t.final.placement).of(g.node("n").id)
    assert c.ns >= 1000
    assert c.task
    assert c.origin is Origin.ASSUMED
    assert c.why == "family"
    assert "GX320" in {i.code for i in t.issues}


# ---------------------------------------------------------------- overrides
def place(g: Graph, options: dict[str, str]) -> Trace:
    return run_trace(g, parse_pipeline("place-engines", pipelines.PASSES.get, {}), options)


def pair() -> Graph:
    b = GraphBuilder("g")
    m = b.op("MatMulV2", b.data("x", (64, 64)), b.const("w", (64, 64)), name="m1")
    return b.build(b.op("MatMulV2", m, b.const("v", (64, 64)), name="m2"))


def test_override_by_type_and_by_node() -> None:
    g = pair()
    options = placement_option({"MatMulV2": "MIX", "node:m2": {"engine": "DNN_VM_AICPU_ASCEND"}})
    t = place(g, options)
    p = t.final.placement
    assert p is not None
    got = {n: (p.engine[g.node(n).id], p.core[g.node(n).id], p.reason[g.node(n).id]) for n in ("m1", "m2")}
    assert got == {"m1": ("AIcoreEngine", "MIX", "user-table"), "m2": ("DNN_VM_AICPU_ASCEND", "AICPU", "user-table")}


def test_an_override_moves_streams_and_costs() -> None:
    base = run_trace(pair(), pipelines.static(), {})
    moved = run_trace(pair(), pipelines.static(), placement_option({"node:m2": "DNN_HCCL"}))
    assert base.failed is None
    assert moved.failed is None
    assert base.final.streams is not None
    assert moved.final.streams is not None
    assert moved.final.streams.count > base.final.streams.count


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"A": 3}', '{"A": {"cores": "AIV"}}', '{"A": "Nowhere"}', '{"A": {"core": "X"}}']
)
def test_bad_tables_are_refused(text: str) -> None:
    t = place(pair(), {"gx.placement": text})
    assert t.failed is not None
    assert "gx.placement" in str(t.failed.error)
    with pytest.raises(OptionError):
        placement_option({"MatMulV2": json.loads('{"core": "nothing"}')})


def test_a_table_from_python_from_a_file_and_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "places.json"
    file.write_text('{"node:A": "AIV"}', encoding="utf-8")
    for placement in ({"node:A": "AIV"}, file, str(file)):
        t = gx.compile("fork_join", placement=placement)
        p, g = t.final.placement, t.final.graph
        assert p is not None
        assert p.core[g.node("A").id] == "AIV"
    s = open_session("fork_join")
    open_session(s, placement=file)
    assert s.options["gx.placement"] == '{"node:A": "AIV"}'
    assert main(["trace", "fork_join", "--placement", str(file), "--why", "A"]) == 0
    assert "AIcoreEngine/AIV" in capsys.readouterr().out
    assert main(["trace", "fork_join", "--option", 'gx.placement={"node:A": "AIV"}', "--why", "A"]) == 0
    assert "AIcoreEngine/AIV" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "says"), [(None, "cannot read"), ("", "empty"), ("{", "not JSON"), ('{"A": "X"}', "unknown")]
)
def test_bad_placement_files_name_the_place(tmp_path: Path, content: str | None, says: str) -> None:
    file = tmp_path / "places.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(OptionError, match=says):
        open_session("fork_join", placement=file)
    with pytest.raises(OptionError, match="regular file"):
        placement_option(tmp_path)


def test_every_placed_type_has_a_reason_in_both_languages() -> None:
    from ge_explorer.passes.partition.place_engines import PlaceEngines

    reasons = {p.reason for p in OP_TABLE.values()}
    assert reasons <= set(PlaceEngines.rules)
    assert all(PlaceEngines.rules[r].text.zh and PlaceEngines.rules[r].source for r in reasons)
    assert len(OP_TABLE) > 550
