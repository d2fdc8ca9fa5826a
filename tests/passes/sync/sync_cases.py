"""Small graphs with given streams, run through the event passes by the real runner."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.sync.activate_by_label import ActivateByLabel
from ge_explorer.passes.sync.activate_by_subgraph import ActivateBySubgraph
from ge_explorer.passes.sync.insert_events import InsertEvents
from ge_explorer.passes.sync.minimal_events import MODE, MinimalEvents
from ge_explorer.passes.sync.optimize_by_activation import OptimizeByActivation
from ge_explorer.passes.sync.optimize_by_recv import OptimizeByRecv
from ge_explorer.passes.sync.optimize_by_send import OptimizeBySend
from ge_explorer.passes.sync.renumber_events import RenumberEvents
from ge_explorer.passes.sync.switch_clean_up import SwitchCleanUp
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Snapshot, StreamAssignment, int_array

PASSES: tuple[Pass, ...] = (
    ActivateByLabel(), ActivateBySubgraph(), InsertEvents(), OptimizeBySend(), OptimizeByRecv(), OptimizeByActivation(),
    SwitchCleanUp(), MinimalEvents(), RenumberEvents(),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class GivenStreams(Pass):
    """Streams from the node attribute ``stream``, order by traversal."""

    name: ClassVar[str] = "given-streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams", "order", "sequence", "scope_order"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        walk = s.graph.walk()
        order, streams = [-1] * s.graph.id_bound, [-1] * s.graph.id_bound
        for k, i in enumerate(walk):
            order[i] = k
            streams[i] = int(s.graph.node(i).attrs["stream"])
        count = max(streams, default=-1) + 1
        return s.evolve(
            streams=StreamAssignment(int_array(streams), (), count, count), order=int_array(order), sequence=tuple(walk),
            scope_order=tuple(s.graph.subgraph_order()),
        )  # fmt: skip


def graph(
    nodes: str, edges: str = "", *, control: str = "", attrs: Mapping[str, Mapping[str, Any]] | None = None,
    types: Mapping[str, str] | None = None,
) -> Graph:  # fmt: skip
    """``nodes``: ``name:stream`` words in list order; ``edges`` and ``control``: ``A>B`` words in creation order."""
    pairs = [tuple(word.split(">")) for word in edges.split()]
    fed: dict[str, int] = {}
    for _, b in pairs:
        fed[b] = fed.get(b, 0) + 1
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    for word in nodes.split():
        name, stream = word.split(":")
        ids[name] = e.add_node(
            name, (types or {}).get(name, "Op"), inputs=[None] * fed.get(name, 0), outputs=1,
            attrs={"stream": int(stream), **(attrs or {}).get(name, {})},
        )  # fmt: skip
    used = dict.fromkeys(ids, 0)
    for a, b in pairs:
        e.connect(e.output(ids[a]), ids[b], used[b])
        used[b] += 1
    for word in control.split():
        a, b = word.split(">")
        e.add_control(ids[a], ids[b])
    return e.freeze()


def random_graph(rng: random.Random, most: int = 20) -> Graph:
    """2 to ``most`` nodes on 1 to 5 streams, some without one and without producers; data and control edges forward."""
    count, width = rng.randint(2, most), rng.randint(1, 5)
    names = [f"n{i}" for i in range(count)]
    rng.shuffle(names)
    streams: list[int] = []
    edges: list[str] = []
    control: list[str] = []
    for j, name in enumerate(names):
        source = rng.random() < 0.1
        streams.append(-1 if source else rng.randrange(width))
        for _ in range(0 if source or not j else rng.randint(0, 3)):
            (edges if rng.random() < 0.8 else control).append(f"{names[rng.randrange(j)]}>{name}")
    dense = {-1: -1} | {s: k for k, s in enumerate(sorted(set(streams) - {-1}))}
    words = [f"{name}:{dense[s]}" for name, s in zip(names, streams, strict=True)]
    return graph(" ".join(words), " ".join(edges), control=" ".join(dict.fromkeys(control)))


def events_of(g: Graph, ge_event: str = "", mode: str = "") -> Trace:
    """All event passes on a graph whose nodes carry ``stream``; ``mode`` is the value of ``gx.eventMode``."""
    options = {k: v for k, v in (("ge.event", ge_event), (MODE, mode)) if v}
    return run_trace(g, Pipeline.of([GivenStreams(), *PASSES]), options, strict=True)


def alive(t: Trace, step: str) -> list[tuple[int, str, str]]:
    """(id, sender, receiver) by id after a step."""
    s = t.step(step).after
    names = s.graph.unique_names
    assert s.sync is not None
    return [(e.id, names[e.send], names[e.recv]) for e in sorted(s.sync.events, key=lambda e: e.id)]
