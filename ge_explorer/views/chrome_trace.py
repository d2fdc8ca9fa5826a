"""Chrome / Perfetto trace JSON of a timeline: one process, one track per stream, events as flows, core use as counters.

Perfetto silently drops slices that overlap on one track, so overlapping ones move to a second track of the same stream.
``ts`` and ``dur`` are microseconds relative to the first task, ids are small integers (below 2^53).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import by_letter, node_name, stream_marks
from ge_explorer.views.palette import StreamIdentity

PID = 1
_TRACKS_PER_STREAM = 64


def build(s: Snapshot, t: Timeline, identities: Mapping[int, StreamIdentity]) -> dict[str, Any]:
    """Trace object (JSON-able). Times keep the nanosecond as the third decimal."""
    marks = by_letter(stream_marks(s, identities, (int(x) for x in np.unique(t.stream))).values())
    zero = int(t.start_ns.min()) if len(t.node) else 0
    kind = "measured" if t.origin == "measured" else "simulated, not measured"
    out: list[dict[str, Any]] = [_meta("process_name", {"name": f"{t.chip} ({kind})"}, 0)]
    slot: dict[int, tuple[int, float]] = {}
    for place, m in enumerate(marks):
        rows = np.flatnonzero(t.stream == m.stream)
        if rows.size == 0:
            continue
        ends: list[int] = []
        label = f", label {m.label}" if m.label else ""
        for k in sorted(rows.tolist(), key=lambda k: (int(t.start_ns[k]), int(t.end_ns[k]), k)):
            a, b = int(t.start_ns[k]), int(t.end_ns[k])
            track = next((x for x, end in enumerate(ends) if end <= a), len(ends))
            tid = 1 + place * _TRACKS_PER_STREAM + min(track, _TRACKS_PER_STREAM - 1)
            if track == len(ends):
                ends.append(b)
                name = f"{m.letter} stream {m.stream}{label}" + (f" (overlap {track})" if track else "")
                out.append(_meta("thread_name", {"name": name}, tid))
                out.append(_meta("thread_sort_index", {"sort_index": tid}, tid))
            ends[track] = b
            out.append(_slice(s, t, k, tid, zero))
            slot[int(t.node[k])] = (tid, (a - zero) / 1000)
    out += _flows(s, t, slot, zero)
    out += _counters(t, zero)
    return {
        "displayTimeUnit": "ns",
        "traceEvents": out,
        "otherData": {"origin": t.origin, "chip": t.chip, "graph": s.graph.name, "tool": "ge_explorer"},
    }


def to_text(s: Snapshot, t: Timeline, identities: Mapping[int, StreamIdentity]) -> str:
    """The trace as a JSON text for a file."""
    return json.dumps(build(s, t, identities), ensure_ascii=False, separators=(",", ":"))


def _meta(name: str, args: dict[str, Any], tid: int) -> dict[str, Any]:
    return {"ph": "M", "pid": PID, "tid": tid, "name": name, "args": args}


def _slice(s: Snapshot, t: Timeline, k: int, tid: int, zero: int) -> dict[str, Any]:
    i = int(t.node[k])
    exists = 0 <= i < s.graph.id_bound and s.graph.nodes[i] is not None
    args: dict[str, Any] = {
        "Stream ID": int(t.stream[k]),
        "AIC": int(t.aic[k]),
        "AIV": int(t.aiv[k]),
        "cost": t.cost_origin[k],
    }
    if exists:
        args["op"] = s.graph.node(i).op
    if k in t.critical:
        args["critical path"] = True
    return {
        "ph": "X", "pid": PID, "tid": tid, "cat": "task", "name": node_name(s, i),
        "ts": (int(t.start_ns[k]) - zero) / 1000, "dur": (int(t.end_ns[k]) - int(t.start_ns[k])) / 1000, "args": args,
    }  # fmt: skip


def _flows(s: Snapshot, t: Timeline, slot: Mapping[int, tuple[int, float]], zero: int) -> list[dict[str, Any]]:
    """One arrow per event whose two nodes both ran, from inside the sender's slice to inside the receiver's."""
    end = {int(n): (int(b) - zero) / 1000 for n, b in zip(t.node, t.end_ns, strict=True)}
    out: list[dict[str, Any]] = []
    for e in s.sync.events if s.sync else ():
        if e.send in slot and e.recv in slot:
            (a_tid, a_ts), (b_tid, b_ts) = slot[e.send], slot[e.recv]
            common = {"pid": PID, "cat": "event", "name": f"event {e.id}", "id": e.uid + 1}
            out.append({**common, "ph": "s", "tid": a_tid, "ts": max(a_ts, end[e.send] - 0.001)})
            out.append({**common, "ph": "f", "bp": "e", "tid": b_tid, "ts": b_ts})
    return out


def _counters(t: Timeline, zero: int) -> list[dict[str, Any]]:
    change: dict[int, list[int]] = {}
    for k in range(len(t.node)):
        for at, sign in ((int(t.start_ns[k]), 1), (int(t.end_ns[k]), -1)):
            row = change.setdefault(at, [0, 0])
            row[0] += sign * int(t.aic[k])
            row[1] += sign * int(t.aiv[k])
    now = [0, 0]
    out = []
    for at in sorted(change):
        now = [now[0] + change[at][0], now[1] + change[at][1]]
        for name, value in (("cube cores", now[0]), ("vector cores", now[1])):
            out.append({"ph": "C", "pid": PID, "name": name, "ts": (at - zero) / 1000, "args": {"held": value}})
    return out
