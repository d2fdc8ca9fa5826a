"""Every file of a corpus is read as its expected values say, and what was read can be shown, compiled and saved."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import ge_explorer as gx
from ge_explorer.errors import InputError
from ge_explorer.loaders import load
from ge_explorer.loaders.own_json import from_json, to_json
from ge_explorer.trace.content import same_content
from ge_explorer.trace.recorded import snapshot_of, trace_of
from tests.real.adapters import Case
from tests.real.conftest import corpus


def test_figures(case: Case) -> None:
    case.check_file()
    case.check_values()


def test_what_was_read_has_a_state_and_survives_our_file(case: Case) -> None:
    if case.kind not in ("ge_dump", "torchair", "logs") or "must" in case.expected:
        pytest.skip("no dump")
    result = load(case.file)
    again = from_json(to_json(result.graph, result.recorded))
    assert same_content(again.graph, result.graph) and same_content(again.recorded, result.recorded)
    s = snapshot_of(result)
    assert sorted(s.sequence or ()) == sorted(n.id for n in result.graph if _reachable(result.graph, n.scope))
    assert result.recorded is not None
    for i, stream in result.recorded.streams.items():
        assert s.streams is not None and s.streams.node[i] == stream


def test_a_dump_goes_through_every_step(case: Case) -> None:
    if case.kind not in ("ge_dump", "torchair", "logs") or "must" in case.expected:
        pytest.skip("no dump")
    trace = gx.compile(str(case.file))
    assert trace.failed is None, trace.failed and trace.failed.error


def _reachable(graph: Any, scope: int) -> bool:
    while scope:
        parent = graph.scope(scope).parent
        if parent < 0:
            return False
        scope = graph.node(parent).scope
    return True


def test_two_forms_of_one_stage_agree(pytestconfig: pytest.Config) -> None:
    folder = corpus(pytestconfig) / "ge_dump"
    files = [folder / "ge_proto_00000001_Build.txt", folder / "ge_onnx_00000001_graph_11_Build.pbtxt"]
    if not all(f.is_file() for f in files):
        pytest.skip("the pair is not in this corpus")
    a, b = (load(f) for f in files)
    assert a.recorded is not None and b.recorded is not None

    def facts(r: Any) -> dict[str, Any]:
        names = r.graph.unique_names
        return {
            names[n.id]: (
                n.op, r.recorded.streams[n.id], r.recorded.order[n.id],
                tuple(names[e.src] for e in r.graph.data_in[n.id]), tuple(sorted(names[c] for c in n.control_in)),
                tuple((r.graph.tensor(t).dtype, r.graph.tensor(t).shape, r.recorded.offsets.get(t)) for t in n.outputs),
                r.graph.scope(n.scope).name,
            )
            for n in r.graph
        }  # fmt: skip

    assert facts(a) == facts(b)
    assert [a.graph.scope(s).name for n in a.graph for s in n.subgraphs] == [
        b.graph.scope(s).name for n in b.graph for s in n.subgraphs
    ]


def test_a_folder_of_real_stages_becomes_a_trace(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    folder = corpus(pytestconfig) / "ge_dump"
    files = sorted(folder.glob("ge_proto_000*FeGraphFusionAfter.txt"))
    if len(files) < 2:
        pytest.skip("the stages are not in this corpus")
    for f in files:
        shutil.copy(f, tmp_path / f.name)
    result = load(tmp_path)
    assert [s.index for s in result.stages] == [15, 17]
    assert [s.missing_before for s in result.stages] == [0, 1]
    trace = trace_of(result.stages)
    assert [s.status for s in trace] == ["unchanged" if not trace.steps[0].changed else "changed", "skipped", "changed"]
    assert "graph" in trace.steps[2].changed
    first, last = result.stages[0].result.graph, result.stages[1].result.graph
    both = {n.name for n in first} & {n.name for n in last}
    assert both and all(first.by_name[n] == last.by_name[n] for n in both)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no compiler dump"):
        load(tmp_path)
