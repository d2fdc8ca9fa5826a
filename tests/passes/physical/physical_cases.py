"""Small graphs with given streams, run from the first event pass to the last physical one by the real runner."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parents[1] / "sync"))

import itertools

from sync_cases import GivenStreams, graph

from ge_explorer.graph.model import Graph
from ge_explorer.pipelines import static
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Placement, Snapshot

LIMIT = {"gx.maxTasksPerStream": "1024", "gx.maxTasksPerHugeStream": "8192"}
CHAPTERS = ("events", "physical", "activation")


@dataclass(frozen=True, eq=False)
class Given(GivenStreams):
    """Streams, attached streams and engines stated by node attributes ``stream``, ``attached``, ``engine``."""

    writes: ClassVar[frozenset[str]] = GivenStreams.writes | {"placement"}

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        after = super().run(s, ctx)
        attached = {n.id: tuple(n.attrs["attached"]) for n in s.graph if "attached" in n.attrs}
        engine = tuple(str(n.attrs.get("engine", "")) for n in s.graph)
        assert after.streams is not None
        count = max([after.streams.next_stream - 1, *(x for v in attached.values() for x in v)]) + 1
        streams = type(after.streams)(after.streams.node, (), count, after.streams.main_count, attached)
        return after.evolve(streams=streams, placement=Placement(engine, ("NONE",) * len(engine)))


def compile_from_events(g: Graph, options: Mapping[str, str] | None = None) -> Trace:
    """Events, tasks, split, activation."""
    steps = [i.pass_ for i in static() if i.pass_.chapter in CHAPTERS]
    return run_trace(g, Pipeline.of([Given(), *steps]), {**LIMIT, **(options or {})}, strict=True)


def chain(count: int, attrs: Mapping[str, Mapping[str, Any]] | None = None, stream: int = 0) -> Graph:
    """``n0 > n1 > …`` and a NetOutput behind it, all on one stream."""
    names = [f"n{i}" for i in range(count)]
    words = " ".join(f"{n}:{stream}" for n in names)
    edges = " ".join(f"{a}>{b}" for a, b in itertools.pairwise(names))
    return graph(f"{words} out:{stream}", f"{edges} {names[-1]}>out", attrs=attrs, types={"out": "NetOutput"})


def parts(t: Trace) -> dict[str, int]:
    """Physical stream of every node that is no Send or Recv."""
    p = t.final.physical
    assert p is not None, t.failed and t.failed.error
    return {n.name: int(p.node[n.id]) for n in t.final.graph if n.op not in ("Send", "Recv")}
