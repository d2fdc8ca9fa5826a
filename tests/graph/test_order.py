"""GE's topological orders: worked example, sources, sizes, delay, loops, options."""

from __future__ import annotations

import random

import pytest

from ge_explorer.errors import OptionError, PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph, Tensor
from ge_explorer.graph.order import SORT_MODES, backward_edges, node_size, output_size, sort_mode, topological_sort


def build(
    nodes: list[tuple[str, str]], edges: list[tuple[str, str, int]], control: list[tuple[str, str]] = ()
) -> Graph:  # type: ignore[assignment]
    e = GraphEditor.empty("g")
    ids = {name: e.add_node(name, op, outputs=[((), "float")]) for name, op in nodes}
    for a, b, k in edges:
        e.connect(e.output(ids[a]), ids[b], k)
    for a, b in control:
        e.add_control(ids[a], ids[b])
    return e.freeze()


def names(graph: Graph, mode: str, priority: bool = False) -> str:
    sorted_graph, _, sequence, _ = topological_sort(graph, mode=mode, memory_priority=priority)
    return " ".join(sorted_graph.node(i).name for i in sequence)


@pytest.fixture
def worked_example() -> Graph:
    """Section 9 of the order rules: Const, two Data, a control edge, every tensor 4 bytes."""
    return build(
        [("c", "Const"), ("x0", "Data"), ("x1", "Data"), ("b", "Relu"), ("a", "Relu"), ("m", "Mul"), ("w", "Relu"),
         ("k", "Mul"), ("o", "NetOutput")],
        [("x0", "b", 0), ("x0", "a", 0), ("x1", "m", 0), ("a", "m", 1), ("c", "w", 0), ("m", "k", 0), ("w", "k", 1),
         ("b", "o", 0), ("k", "o", 1)],
        [("b", "m")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "priority", "want"),
    [
        ("BFS", False, "x0 a b x1 m c w k o"),
        ("BFS", True, "x0 x1 b a m c w k o"),
        ("DFS", False, "x0 a b x1 m c w k o"),
        ("DFS", True, "c x1 x0 b a m w k o"),
        ("RDFS", False, "x0 x1 a b m c w k o"),
        ("RDFS", True, "x0 x1 a b m c w k o"),
        ("StableRDFS", False, "c x0 x1 b a m w k o"),
        ("StableRDFS", True, "c x0 x1 b a m w k o"),
    ],
)
def test_worked_example_has_the_order_ge_gave(worked_example: Graph, mode: str, priority: bool, want: str) -> None:
    assert names(worked_example, mode, priority) == want


def test_numbers_go_through_a_subgraph_right_after_its_holder_and_branches_are_listed_last_first() -> None:
    e = GraphEditor.empty("g")
    x = e.add_node("x", "Data", outputs=1)
    holder = e.add_node("if", "If", inputs=[e.output(x)], outputs=1)
    then = e.add_scope("then", holder)
    other = e.add_scope("else", holder)
    a = e.add_node("a", "Relu", outputs=1, scope=then)
    b = e.add_node("b", "Relu", outputs=1, scope=other)
    o = e.add_node("o", "NetOutput", inputs=[e.output(holder)])
    _, order, sequence, scopes = topological_sort(e.freeze())
    assert sequence == (x, holder, a, b, o)
    assert [int(order[i]) for i in sequence] == [0, 1, 2, 3, 4]
    assert scopes == (other, then)


@pytest.mark.parametrize("mode", ["BFS", "DFS"])
def test_closed_loop_is_named(mode: str) -> None:
    g = build([("p", "Add"), ("q", "Relu"), ("z", "Relu")], [("p", "q", 0), ("q", "p", 0), ("q", "z", 0)])
    with pytest.raises(PassFailed, match="p → q → p") as caught:
        topological_sort(g, mode=mode)
    assert caught.value.code == "E18888"


def test_stable_rdfs_accepts_a_loop_and_the_backward_edge_shows() -> None:
    g = build([("p", "Add"), ("q", "Relu")], [("p", "q", 0), ("q", "p", 0)])
    sorted_graph, order, _, _ = topological_sort(g, mode="StableRDFS")
    assert len(backward_edges(sorted_graph, order)) == 1


def test_next_iteration_closes_a_loop_without_counting() -> None:
    g = build(
        [("enter", "Enter"), ("merge", "Merge"), ("next", "NextIteration")],
        [("enter", "merge", 0), ("next", "merge", 1), ("merge", "next", 0)],
    )
    sorted_graph, order, _, _ = topological_sort(g, mode="DFS")
    assert names(g, "DFS") == "enter merge next"
    assert backward_edges(sorted_graph, order) == []


def test_renaming_changes_bfs_but_not_dfs() -> None:
    def fan(first: str, second: str) -> Graph:
        return build([("x", "Data"), (first, "Relu"), (second, "Relu")], [("x", first, 0), ("x", second, 0)])

    assert names(fan("a", "b"), "BFS") == "x a b"
    assert names(fan("b", "a"), "BFS") == "x a b"
    assert names(fan("a", "b"), "DFS") == "x b a"
    assert names(fan("b", "a"), "DFS") == "x a b"


@pytest.mark.parametrize(
    ("shape", "dtype", "want"),
    [((), "float", 4), ((3, 0), "float", 0), ((0, None), "float", 0), ((None, 0), "float", -1), (("n",), "float", -1),
     ((3,), "int4", 2), ((5,), "bfloat16", 10), (None, "float", -1), ((2,), None, -1)],
)  # fmt: skip
def test_output_size_as_the_sort_counts(shape: tuple[object, ...] | None, dtype: str | None, want: int) -> None:
    assert output_size(Tensor(0, "t", 0, 0, shape, dtype)) == want  # type: ignore[arg-type]


def test_node_size_counts_unconnected_outputs() -> None:
    e = GraphEditor.empty("g")
    n = e.add_node("n", "Split", outputs=[((2,), "float"), ((), "float")])
    assert node_size(e.freeze(), n) == 12


@pytest.mark.parametrize(
    ("options", "want"),
    [({}, "DFS"), ({"option": "0"}, "BFS"), ({"option": "abc"}, "BFS"), ({"option": "7"}, "DFS"),
     ({"option": "2x"}, "RDFS"), ({"option": "-1", "run_mode": "1"}, "BFS"), ({"level": "O1"}, "StableRDFS"),
     ({"level": "O1", "option": "1"}, "DFS"), ({"run_mode": "0"}, "DFS")],
)  # fmt: skip
def test_mode_from_options(options: dict[str, str], want: str) -> None:
    assert sort_mode(**options) == want


def test_unknown_mode_offers_the_known_ones(worked_example: Graph) -> None:
    with pytest.raises(OptionError, match="StableRDFS"):
        topological_sort(worked_example, mode="StableRDF")


@pytest.mark.parametrize("mode", SORT_MODES)
@pytest.mark.parametrize("priority", [False, True])
def test_random_graphs_sort_topologically_and_only_once(mode: str, priority: bool) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        n = rng.randrange(2, 40)
        nodes = [(f"n{rng.randrange(10**6)}_{i}", rng.choice(["Data", "Relu", "Const", "Add"])) for i in range(n)]
        edges = []
        for i in range(1, n):
            for k, p in enumerate(rng.sample(range(i), min(i, rng.randrange(3)))):
                edges.append((nodes[p][0], nodes[i][0], k))
        shuffled = nodes[:]
        rng.shuffle(shuffled)
        graph = build(shuffled, edges, [(nodes[i][0], nodes[i + 1][0]) for i in range(n - 1) if rng.random() < 0.1])
        once, order, sequence, _ = topological_sort(graph, mode=mode, memory_priority=priority)
        assert backward_edges(once, order) == []
        assert sorted(sequence) == list(once.node_ids)
        assert topological_sort(once, mode=mode, memory_priority=priority)[2] == sequence
