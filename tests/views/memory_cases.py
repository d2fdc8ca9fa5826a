"""Small compiled graphs for the memory views: a fork-join, a residual tower over N streams, random graphs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.session import Session
from ge_explorer.views.memory_life import Lives, lives
from ge_explorer.views.memory_plans import PlanBook, planned_state

LABEL = "_user_stream_label"
KIB = (16, 64)
"""Shape of 4 KiB of float32."""


@dataclass(frozen=True)
class Case:
    """A session with the plan book of its planned state."""

    session: Session
    book: PlanBook

    def lives(self, timed: bool = False, plan: str = "current") -> Lives:
        memory = self.book.get(plan).memory
        state = self.session.trace.final if timed else self.book.planned
        known = self.session.identities
        last = known.by_step[-1]
        table = {stream: known.items[k] for stream, k in last.items()}
        found = lives(state, table, self.session.timeline if timed else None, memory)
        assert found is not None
        return found

    def buffer(self, name: str) -> int:
        return next(b.id for b in self.book.memory.problem.buffers if b.name == name)


def case(graph: Graph, **options: str) -> Case:
    """Compile a graph whose operators carry their stream as a user label."""
    session = Session(graph, options={k.replace("__", "."): v for k, v in options.items()})
    assert session.trace.failed is None
    planned = planned_state(session.trace)
    assert planned is not None
    return Case(session, PlanBook(planned))


def fork_join() -> Case:
    """a on s0 is read by b (s0) and c (s1); c -> d on s1; e joins b and d; f and g follow (memory.md example 3, own names)."""
    b = GraphBuilder("fork")
    x = b.data("x", KIB)

    def op(name: str, stream: int, *inputs: object) -> object:
        return b.op("Relu" if len(inputs) == 1 else "Add", *inputs, name=name, shape=KIB, attrs={LABEL: f"s{stream}"})

    a = op("a", 0, x)
    left, c = op("b", 0, a), op("c", 1, a)
    d = op("d", 1, c)
    e = op("e", 0, left, d)
    f = op("f", 0, e)
    return case(b.build(op("g", 0, f)))


def chain(n: int = 4) -> Case:
    """n operators in a row on one stream."""
    b = GraphBuilder("chain")
    x = b.data("x", KIB)
    for k in range(n):
        x = b.op("Relu", x, name=f"layers.{k // 2}.op{k}", shape=KIB)
    return case(b.build(x))


def random_case(seed: int, nodes: int = 40, streams: int = 3) -> Case:
    """Random operators with sizes and stream labels."""
    rng = random.Random(seed)
    b = GraphBuilder(f"random{seed}")
    made = [b.data("x", KIB)]
    for k in range(nodes):
        inputs = rng.sample(made[-8:], k=min(len(made), rng.choice((1, 1, 2))))
        attrs = {LABEL: f"s{rng.randrange(streams)}"}
        shape = (rng.choice((1, 16, 64, 200)), 64)
        made.append(b.op("Relu" if len(inputs) == 1 else "Add", *inputs, name=f"op{k}", shape=shape, attrs=attrs))
    return case(b.build(*made[-3:]))
