"""Every built-in example builds, teaches in both languages and is a sound graph."""

import inspect

import pytest

from ge_explorer import examples
from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import USER_STREAM_LABEL
from ge_explorer.graph.model import Graph


def leaves_unreached(graph: Graph) -> list[str]:
    """Nodes whose data or control predecessors do not all come before them in the scope lists (builder order)."""
    place = {i: k for s in graph.scopes if s is not None for k, i in enumerate(s.nodes)}
    return [graph.node(e.dst).name for e in graph.edges if place[e.src] >= place[e.dst]]


@pytest.mark.parametrize("name", examples.names())
def test_builds_and_teaches(name: str) -> None:
    e = examples.get(name)
    assert len(e.graph) >= 4
    assert leaves_unreached(e.graph) == []
    assert e.title.zh
    assert e.lesson.zh != e.lesson.en
    assert any("一" <= c <= "鿿" for c in e.lesson.zh)
    for scope in e.graph.scopes:
        assert scope is not None
        assert sum(e.graph.node(i).op == "NetOutput" for i in scope.nodes) == 1
    for t in e.graph.tensors:
        assert t is not None
        assert t.nbytes is not None or e.graph.root.dynamic, f"{t.name} has no size"
    assert all(isinstance(v, str) for v in e.options.values())


@pytest.mark.parametrize("name", examples.names())
def test_function_is_short(name: str) -> None:
    function = getattr(examples, name)
    body = [line for line in inspect.getsource(function).splitlines() if line.strip()]
    start = next(i for i, line in enumerate(body) if line.startswith("def "))
    assert len(body) - start <= 42


def test_at_least_twelve() -> None:
    assert len(examples.names()) >= 12


def test_moe_labels_exactly_the_shared_expert() -> None:
    g = examples.moe_shared_expert()
    labelled = {n.name: n.attrs[USER_STREAM_LABEL] for n in g if USER_STREAM_LABEL in n.attrs}
    assert labelled == {"sh.quant": "22", "sh.gate_up": "22", "sh.swiglu": "22", "sh.down": "22"}
    assert sum(not n.is_source for n in g) - len(labelled) == 11


def test_silu_variants_differ_only_in_the_barrier_label() -> None:
    a, b = examples.get("silu_barrier").graph, examples.get("silu_barrier:B").graph
    assert {n.name for n in b if USER_STREAM_LABEL in n.attrs} - {
        n.name for n in a if USER_STREAM_LABEL in n.attrs
    } == {
        "cast",
        "swish",
    }
    assert a.edges == b.edges
    assert a.node("qkv").attrs["_gx_duration_ns"] == 22750
    assert a.node("z").attrs["_gx_duration_origin"] == "measured"


def test_if_owns_two_branches() -> None:
    g = examples.control_flow_if()
    owner = g.node("choose")
    assert [g.scope(s).name for s in owner.subgraphs] == ["then_branch", "else_branch"]
    assert [n.attrs["_parent_node_index"] for n in g if n.op == "Data" and n.scope] == [1, 1]


def test_needs_splitting_has_more_tasks_than_a_stream_takes() -> None:
    g = examples.needs_splitting()
    assert 3 * sum(not n.is_source for n in g) + 27 > 1024


@pytest.mark.parametrize("name", ["moe", "silu_barrier:C", "chain:A"])
def test_unknown_names_are_explained(name: str) -> None:
    with pytest.raises(OptionError) as e:
        examples.get(name)
    assert e.value.todo
