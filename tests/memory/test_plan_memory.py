"""The pass ``plan-memory`` in a trace: facets, decisions with evidence, options, and failure on a circle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from ge_explorer.checks import check_snapshot
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.passes.memory.plan_memory import PlanMemory
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.pipeline import Pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.state import Snapshot, StreamAssignment, int_array
from ge_explorer.trace.trace import Trace


@dataclass(frozen=True)
class Given(Pass):
    """Test pass: streams from the attribute ``s`` and an order from the attribute ``at`` (default: as written)."""

    name: ClassVar[str] = "given"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"order", "sequence", "streams"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        walk = sorted(s.graph.walk(), key=lambda i: s.graph.node(i).attrs.get("at", i))
        order = np.full(s.graph.id_bound, -1)
        order[walk] = range(len(walk))
        streams = [-1 if n.is_source else n.attrs.get("s", 0) for n in s.graph]
        return s.evolve(order=int_array(order), sequence=tuple(walk), streams=StreamAssignment(int_array(streams)))


def traced(g: Graph, options: Mapping[str, str] | None = None) -> Trace:
    return run_trace(g, Pipeline.of([Given(), PlanMemory()]), options, strict=True)


def chain(n: int) -> Graph:
    b = GraphBuilder("chain")
    v = b.data("x", (256,))
    for k in range(n):
        v = b.op("Relu", v, name=f"n{k}")
    return b.build(v)


def test_decisions_name_whose_bytes_are_taken_over() -> None:
    t = traced(chain(5))
    memory = t.final.memory
    assert memory is not None
    assert (memory.plan.peak, memory.lower_bound) == (2048, 2048)
    rows = [(d.rule, d.before, d.after, [r.id for r in d.evidence]) for d in t.steps[-1].decisions]
    offsets = memory.plan.offsets
    assert rows == [
        ("own", None, offsets[0], []),
        ("own", None, offsets[1], []),
        ("shares", None, offsets[2], [0]),
        ("shares", None, offsets[3], [1]),
    ]
    assert check_snapshot(t.final) == ()


def test_reuse_off_gives_every_buffer_its_own_bytes() -> None:
    t = traced(chain(5), {"ge.exec.disableReuseMemory": "1"})
    assert t.final.memory is not None
    assert t.final.memory.plan.peak == 4096
    assert {d.rule for d in t.steps[-1].decisions} == {"no-reuse"}


def test_unknown_planner_is_an_option_error() -> None:
    step = traced(chain(2), {"gx.memoryPlanner": "bh"}).steps[-1]
    assert step.status == "failed"
    assert "Did you mean 'hb'" in str(step.error)


def test_a_circle_between_streams_fails_with_its_chain() -> None:
    b = GraphBuilder("circle")
    x = b.data("x", (256,))
    # stream 0 issues late before early, stream 1 likewise, and each late one needs the other stream's early one
    a1 = b.op("Relu", x, name="a1", attrs={"s": 0, "at": 11})
    b1 = b.op("Relu", x, name="b1", attrs={"s": 1, "at": 13})
    a2 = b.op("Relu", b1, name="a2", attrs={"s": 0, "at": 10})
    b2 = b.op("Relu", a1, name="b2", attrs={"s": 1, "at": 12})
    step = traced(b.build(a2, b2)).steps[-1]
    assert step.status == "failed"
    assert all(name in str(step.error) for name in ("a1", "a2", "b1", "b2"))


def test_assumed_sizes_carry_a_note() -> None:
    b = GraphBuilder("g")
    v = b.op("Relu", b.data("x", ("n", 8)), name="y")
    t = traced(b.build(b.op("Relu", v, name="z")))
    note = t.steps[-1].decisions[0].note
    assert note is not None
    assert "assumed" in note.en
    assert note.zh


@pytest.mark.slow
def test_ten_thousand_nodes_on_four_streams() -> None:
    rng = np.random.default_rng(7)
    b = GraphBuilder("big")
    values = [b.data("x", (256,))]
    for k in range(10_000):
        picks = [values[-1 - int(i)] for i in rng.integers(0, min(len(values), 40), 2)]
        values.append(
            b.op("Add", *picks, name=f"n{k}", shape=(int(rng.choice([256, 1024, 8192])),), attrs={"s": k // 25 % 4})
        )
    memory = traced(b.build(values[-1])).final.memory
    assert memory is not None
    assert memory.plan.peak <= 1.05 * memory.lower_bound
