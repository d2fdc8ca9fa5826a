"""``trace --json``: the whole result as plain data, enough for anyone to re-check it from outside.

All names are unique; a name is prefixed by its scope only on a clash. ``graph`` is the graph that got the streams: after
conversion and optimisation, without Send/Recv nodes (``events`` and ``physical.split_events`` stand for them).
"""

from __future__ import annotations

from typing import Any

from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.passes.physical.model_attributes import model_attributes
from ge_explorer.session import Session
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace import Snapshot, Trace
from ge_explorer.views.drawn import drawn_graph

FORMAT = "ge_explorer.trace/1"


def trace_report(session: Session) -> dict[str, Any]:
    """JSON-able report of a session's trace, memory plan, timeline and issues."""
    trace, s = session.trace, session.trace.final
    s = s.evolve(graph=drawn_graph(s.graph))
    names = trace.final.graph.unique_names
    out: dict[str, Any] = {
        "format": FORMAT,
        "graph": graph_report(s),
        "options": session.options,
        "chip": session.chip,
        "pipeline": str(session.base_pipeline.with_disabled(session.disabled)),
        "steps": [step_report(trace, i) for i in range(len(trace))],
        "streams": {},
        "stream_count": 0,
        "events": [],
        "activations": [],
        "removed_events": [],
        "physical": None,
        "model": None,
        "memory": None,
        "timeline": None,
        "profile": None,
        "issues": [issue_report(i, s.graph) for i in session.issues],
    }
    if s.streams is not None:
        out["streams"] = {names[i]: int(s.streams.node[i]) for i in s.graph.node_ids}
        out["stream_count"] = s.streams.count
    if s.sync is not None:
        out["events"] = [
            {"id": e.id, "kind": e.kind, "send": names[e.send], "recv": names[e.recv]} for e in s.sync.events
        ]
        out["activations"] = [{"node": names[n], "streams": list(x)} for n, x in s.sync.active_streams.items()]
        out["removed_events"] = [
            {"send": names[r.event.send], "recv": names[r.event.recv], "rule": r.rule} for r in s.sync.removed
        ]
    if s.physical is not None:
        out["physical"] = physical_report(s, names)
        out["model"] = model_attributes(trace.final).as_json()
    if s.memory is not None:
        out["memory"] = memory_report(s)
    if trace.failed is None:
        out["timeline"] = timeline_report(session.timeline, names)
    if session.profile_report is not None:
        out["profile"] = session.profile_report.as_json()
    return out


def graph_report(s: Snapshot) -> dict[str, Any]:
    """Nodes with engine, order and scope; data and control edges by name (one entry per edge)."""
    g, names = s.graph, s.graph.unique_names
    engine = s.placement.engine if s.placement else ("",) * g.id_bound
    return {
        "name": g.name,
        "nodes": [
            {
                "name": names[n.id],
                "op": n.op,
                "engine": engine[n.id],
                "order": int(s.order[n.id]) if s.order is not None else -1,
                "scope": g.scope(n.scope).name if n.scope else "",
            }
            for n in g
        ],
        "edges": [[names[e.src], names[e.dst]] for e in g.edges],
        "control": [[names[a], names[b]] for a, b in g.control],
    }


def step_report(trace: Trace, i: int) -> dict[str, Any]:
    """One step: name, status, GE's own status, changed facets, seconds, and the reason it did not run or failed."""
    step = trace.steps[i]
    out: dict[str, Any] = {
        "name": step.name,
        "status": step.status,
        "ge_status": step.ge_status,
        "changed": list(step.changed),
        "seconds": round(step.seconds, 6),
    }
    if step.reason is not None:
        out["reason"] = step.reason.en
    if step.error is not None:
        out["error"] = str(step.error)
    return out


def physical_report(s: Snapshot, names: dict[int, str]) -> dict[str, Any]:
    """Physical streams: of every node, their logical stream, queue entries (see ``task_origin``) and the events of the split."""
    p = s.physical
    assert p is not None
    return {
        "streams": {names[i]: int(p.node[i]) for i in s.graph.node_ids},
        "logic_of": list(p.logic_of),
        "tasks": list(p.tasks),
        "huge": list(p.huge),
        "task_origin": p.task_table.origin if p.task_table is not None else "",
        "limit": p.task_table.limit if p.task_table is not None else None,
        "event_num": p.sync.event_num,
        "notify_num": p.sync.notify_num,
        "split_events": [
            {"id": e.id, "send": names[e.send], "recv": names[e.recv], "streams": [e.send_stream, e.recv_stream]}
            for e in p.sync.events
        ],
        "activations": [{"node": names[n], "streams": list(x)} for n, x in p.sync.active_streams.items()],
    }


def memory_report(s: Snapshot) -> dict[str, Any]:
    """Peak, lower bound, planner and every buffer with offset, writers and readers (node names)."""
    if s.memory is None:
        return {}
    m, names = s.memory, s.graph.unique_names
    return {
        "peak": m.plan.peak,
        "lower_bound": m.lower_bound,
        "bound": m.bound_name,
        "planner": m.plan.planner,
        "buffers": [
            {
                "name": b.name,
                "size": b.size,
                "offset": o,
                "writers": [names[n] for n in b.producers],
                "readers": [names[n] for n in b.readers],
            }
            for b, o in zip(m.problem.buffers, m.plan.offsets, strict=True)
        ],
    }


def timeline_report(t: Timeline, names: dict[int, str]) -> dict[str, Any]:
    """Makespan and tasks in nanoseconds; says that it is simulated."""
    return {
        "makespan_ns": t.makespan_ns,
        "origin": t.origin,
        "chip": t.chip,
        "tasks": [
            {"node": names[int(n)], "stream": int(s), "start_ns": int(a), "end_ns": int(b), "duration_origin": o}
            for n, s, a, b, o in zip(t.node, t.stream, t.start_ns, t.end_ns, t.cost_origin, strict=True)
        ],
    }


def issue_report(i: Issue, graph: Graph) -> dict[str, Any]:
    """Code, severity and message in both languages, the fix, and what it is about."""
    return {
        "code": i.code,
        "severity": i.severity,
        "message": i.message.en,
        "message_zh": i.message.get("zh"),
        "fix": i.fix.en if i.fix else None,
        "refs": [graph.unique_names.get(r.id, str(r)) if r.kind == "node" else str(r) for r in i.refs],
    }
