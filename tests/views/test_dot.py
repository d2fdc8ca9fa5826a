"""DOT and networkx exports."""

from __future__ import annotations

import shutil

import pytest

import ge_explorer as gx
from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.networkx_export import to_networkx
from ge_explorer.loaders.generated import generated_graph
from ge_explorer.trace.state import Snapshot
from ge_explorer.views import dot


def test_dot_has_a_cluster_per_stream_and_dashed_events() -> None:
    session = gx.open_session("fork_join")
    text = dot.build(session.trace.final, session.identities, len(session.trace) - 1).source
    assert text.count("subgraph") == 3, "two streams and no stream"
    assert text.count("style=dashed") == 2


def test_a_graph_name_is_text_not_markup() -> None:
    assert dot.build(Snapshot(GraphEditor.empty("<b>g</b>").freeze())).source.startswith('digraph "<b>g</b>"')


def test_hostile_names_stay_labels() -> None:
    e = GraphEditor.empty("g")
    e.add_node('a"] ; evil [label="\\N<b>', "Relu")
    text = dot.build(Snapshot(e.freeze())).source
    assert "\n\tevil" not in text
    if shutil.which("dot"):
        drawn = dot.svg(text)
        assert drawn is not None
        assert drawn.count('class="node"') == 1
        assert "<b>" not in drawn


def test_large_graphs_are_refused_with_the_limit() -> None:
    with pytest.raises(OptionError, match="2000"):
        dot.build(Snapshot(generated_graph(2500, seed=1)))


def test_networkx_keeps_every_edge() -> None:
    graph = gx.examples.training_step_allreduce()
    out = to_networkx(graph)
    assert out.number_of_nodes() == len(graph)
    assert out.number_of_edges() == len(graph.edges) + len(graph.control)
