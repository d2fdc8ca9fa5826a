"""States written down by hand: letters as nodes, streams as "A0 B1", events as pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ge_explorer.checks import InvariantResult, check_invariants
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.trace.state import (
    Event,
    PhysicalStreams,
    Snapshot,
    StreamAssignment,
    SyncPlan,
    TaskGroup,
    TaskTable,
    int_array,
)

HELD = {"_switch_branch_node_label": "x"}


def graph_of(
    edges: str, ops: Mapping[str, str] | None = None, attrs: Mapping[str, dict[str, Any]] | None = None,
    control: str = "", bodies: Mapping[str, Sequence[str]] | None = None, order: str = "",
) -> Graph:  # fmt: skip
    """Nodes are letters in the order of ``order`` (default alphabetical). Edges like "AB BC"; ``bodies`` "H": ["AB", "CD"]."""
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    held = {n: (h, k) for h, rows in (bodies or {}).items() for k, row in enumerate(rows) for n in row}
    scopes: dict[tuple[str, int], int] = {}
    names = order or "".join(sorted(set((edges + control).replace(" ", "")) | set(ops or {}) | set(held)))

    def add(name: str) -> None:
        if name in ids:
            return
        scope = 0
        if name in held:
            h, k = held[name]
            add(h)
            if (h, k) not in scopes:
                scopes[(h, k)] = e.add_scope(f"{h}_{k}", ids[h])
            scope = scopes[(h, k)]
        ins = [e.output(ids[x[0]]) for x in edges.split() if x[1] == name and x[0] in ids]
        op = (ops or {}).get(name, "Op")
        outs = [] if op in ("Send", "Recv") else [((480,), "int8")]
        ids[name] = e.add_node(name, op, inputs=ins, outputs=outs, attrs=(attrs or {}).get(name), scope=scope)

    for name in names:
        add(name)
    for x in control.split():
        e.add_control(ids[x[0]], ids[x[1]])
    return e.freeze()


def streams(text: str) -> dict[str, int]:
    """ "A0 B1" -> {"A": 0, "B": 1}; "-" stands for none."""
    return {x[0]: -1 if x[1:] == "-" else int(x[1:]) for x in text.split()}


def state(
    g: Graph, placed: str, pairs: str = "", *, active: Mapping[str, tuple[int, ...]] | None = None,
    ids: Sequence[int] | None = None, attached: Mapping[str, tuple[int, ...]] | None = None, causes: Sequence[str] = (),
    **sync: Any,
) -> Snapshot:  # fmt: skip
    """Snapshot in list order. ``pairs`` like "AC CD"; "A:2C" sends on stream 2 of A, "AC:2" receives on it."""
    of, n = streams(placed), g.by_name
    walk = g.walk()
    order = np.full(g.id_bound, -1)
    order[walk] = range(len(walk))
    events: list[Event] = []
    for k, text in enumerate(pairs.split()):
        a, b, sent, received = _ends(text, of)
        cause = causes[k] if k < len(causes) else "data"
        events.append(
            Event(
                k, (ids or range(99))[k], n[a], n[b], sent, received, "event", cause,
                "main" if sent == of[a] else "attached", "main" if received == of[b] else "attached",
            )
        )  # fmt: skip
    plan = SyncPlan(
        tuple(events), active_streams={n[k]: v for k, v in (active or {}).items()}, next_uid=len(events), **sync
    )
    count = max([-1, *of.values(), *(x for v in (attached or {}).values() for x in v)]) + 1
    assignment = StreamAssignment(
        int_array([of[x.name] for x in g]), next_stream=count,
        attached=MappingProxyType({n[k]: v for k, v in (attached or {}).items()}),
    )  # fmt: skip
    return Snapshot(g, order=int_array(order), sequence=tuple(walk), streams=assignment, sync=plan)


def _ends(text: str, of: Mapping[str, int]) -> tuple[str, str, int, int]:
    a, rest = text[0], text[1:]
    sent = of[a]
    if rest[0] == ":":
        sent, rest = int(rest[1]), rest[2:]
    b = rest[0]
    received = int(rest[2:]) if rest[1:2] == ":" else of[b]
    return a, b, sent, received


def split(
    s: Snapshot, placed: str, parts: Mapping[int, tuple[int, ...]], cuts: str, *, limit: int = 100, tasks: str = "",
    active: Mapping[str, tuple[int, ...]] | None = None, **physical: Any,
) -> Snapshot:  # fmt: skip
    """The snapshot after a split: final streams, parts, one chain event a pair of ``cuts``, tasks like "A3 B5" (default 1)."""
    assert s.streams is not None
    assert s.sync is not None
    g, of = s.graph, streams(placed)
    n, logical = g.by_name, s.streams
    before = logical.next_stream
    logic = [*range(before)]
    for whole, rows in sorted(parts.items(), key=lambda x: x[1]):
        logic += [whole] * len(rows)
    made = tuple(
        Event(len(s.sync.events) + k, len(s.sync.events) + k, n[x[0]], n[x[1]], of[x[0]], of[x[1]], "event", "split")
        for k, x in enumerate(cuts.split())
    )
    plan = SyncPlan(
        made, active_streams={n[k]: v for k, v in (active or {}).items()} or s.sync.active_streams, activated=s.sync.activated,
        label_streams=s.sync.label_streams,
    )  # fmt: skip
    counts = {x[0]: int(x[1:]) for x in tasks.split()}
    ran = [i for i in g.node_ids if logical.node[i] >= 0]
    groups = {i: (TaskGroup(int(logical.node[i]), counts.get(g.node(i).name, 1)),) for i in ran}
    table = TaskTable(MappingProxyType(groups), limit)
    heads = {n[x[1]]: of[x[1]] for x in cuts.split()}
    facet = PhysicalStreams(
        int_array([of[x.name] for x in g]), tuple(logic), (0,) * len(logic), heads=MappingProxyType(heads),
        parts=MappingProxyType(dict(parts)), sync=plan, task_table=table, **physical,
    )  # fmt: skip
    return s.evolve(tasks=table, physical=facet)


def result(s: Snapshot, number: int) -> InvariantResult:
    return next(r for r in check_invariants(s) if r.number == number)


def found(s: Snapshot, number: int) -> list[tuple[str, str]]:
    """(code, severity) of one invariant."""
    return [(i.code, i.severity) for i in result(s, number).issues]


def only(s: Snapshot, code: str) -> Issue:
    rows = [i for r in check_invariants(s) for i in r.issues if i.code == code]
    assert rows, f"no {code}"
    issue = rows[0]
    # A finding names something, in both languages, and says what to do or why nothing has to be done.
    assert issue.message.zh
    assert issue.source
    return issue
