"""GE's text form: our state written, read as a dump, and compiled again agrees with itself node by node."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer import examples
from ge_explorer.api import agreement, diff_files, open_session
from ge_explorer.errors import OptionError
from ge_explorer.exports.ge_text import quoted, to_ge_text, written
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.constant import ConstantValue
from ge_explorer.loaders import load
from ge_explorer.trace.recorded import snapshot_of


@pytest.mark.parametrize("name", examples.names())
def test_a_state_read_back_agrees_with_itself(name: str) -> None:
    """By default; the automatic modes break ties by the order of the node list, which a finished build has sorted."""
    trace = open_session(name, options={"gx.memoryPlanner": "ge"}).trace
    assert trace.failed is None
    text = to_ge_text(trace.final).encode()
    back = load(text)
    assert len(back.graph) == len(trace.final.graph)
    assert not [i for i in back.report.issues if i.severity != "note"]
    a = agreement(text)
    assert a.whole and a.streams_equal == len(a.streams) > 0
    assert a.peak[0] == a.peak[1] and bool(a.offsets) == (trace.final.memory is not None)


def test_recorded_facts() -> None:
    final = open_session("moe_shared_expert").trace.final
    own = snapshot_of(load(to_ge_text(final).encode()))
    assert final.sync is not None and own.sync is not None and own.streams is not None
    assert own.sync.event_num == len(final.sync.events)
    ours = (
        {final.graph.node(i).name: int(final.physical.node[i]) for i in final.graph.node_ids} if final.physical else {}
    )
    assert {own.graph.node(i).name: int(own.streams.node[i]) for i in own.graph.node_ids} == ours


def test_a_graph_without_a_state_records_nothing() -> None:
    result = load(to_ge_text(examples.fork_join()).encode())
    assert snapshot_of(result).streams is None
    assert diff_files("fork_join", result).counts.keys() <= {"changed"}


@given(st.text(max_size=40))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_any_name_survives(name: str) -> None:
    b = GraphBuilder("g")
    x = b.data("x", [4])
    b.op("Relu", x, name="n" + name)
    b.op("Relu", x, name="z")
    names = {n.name for n in load(to_ge_text(b.build()).encode("utf-8")).graph}
    try:
        name.encode()
    except UnicodeEncodeError:
        return
    assert "n" + name in names


def test_values() -> None:
    assert written(True) == "b: true" and written(1.5) == "f: 1.5" and written(None) is None
    assert written(((1, 2), (3,))) == "list_list_int { list_list_i { list_i: 1 list_i: 2 } list_list_i { list_i: 3 } }"
    assert written(ConstantValue("int32", (1,), b"\x01\0\0\0")) == (
        't { desc { dtype: DT_INT32 shape { dim: 1 } } data: "\\001\\000\\000\\000" }'
    )
    assert quoted('a"\\\n') == '"a\\042\\134\\012"'


def test_two_subgraphs_of_one_name_are_refused() -> None:
    g = examples.get("control_flow_if").graph
    from dataclasses import replace

    same = tuple(s if s is None or s.id == 0 else replace(s, name="twin") for s in g.scopes)
    with pytest.raises(OptionError, match="one name"):
        to_ge_text(replace(g, scopes=same))
