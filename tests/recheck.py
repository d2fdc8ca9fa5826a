"""Re-check a ``trace --json`` report from outside: plain Python on the JSON alone, nothing of the package."""

from __future__ import annotations

from typing import Any


def recheck(report: dict[str, Any]) -> None:
    """Assert: names unique, order topological per scope, every cross-stream dependency ordered, no deadlock, no memory race,
    bound <= peak, timeline in order per stream and behind its events.
    """
    nodes = {n["name"]: n for n in report["graph"]["nodes"]}
    assert len(nodes) == len(report["graph"]["nodes"]), "names are unique"
    edges = [tuple(e) for e in report["graph"]["edges"]] + [tuple(e) for e in report["graph"]["control"]]
    order = {n: d["order"] for n, d in nodes.items()}
    for a, b in edges:
        assert order[a] < order[b], f"order: {a} before {b}"
    streams = report["streams"]
    before = happens_before(report, order)
    for a, b in edges:
        if streams[a] >= 0 and streams[b] >= 0 and streams[a] != streams[b]:
            assert before(a, b), f"{a} (stream {streams[a]}) and {b} (stream {streams[b]}) are not ordered"
    used = sorted({s for s in streams.values() if s >= 0})
    assert used == list(range(len(used))), "stream ids are dense"
    assert sorted(e["id"] for e in report["events"]) == list(range(len(report["events"])))
    check_memory(report, before)
    check_timeline(report, order)


def happens_before(report: dict[str, Any], order: dict[str, int]) -> Any:
    """Closure of stream program order, events and activations, as bitsets over the nodes that run."""
    streams = report["streams"]
    runs = sorted((n for n, s in streams.items() if s >= 0), key=lambda n: order[n])
    place = {n: i for i, n in enumerate(runs)}
    pred: list[list[int]] = [[] for _ in runs]
    last: dict[int, int] = {}
    first: dict[int, int] = {}
    for n in runs:
        s = streams[n]
        if s in last:
            pred[place[n]].append(last[s])
        first.setdefault(s, place[n])
        last[s] = place[n]
    for e in report["events"]:
        pred[place[e["recv"]]].append(place[e["send"]])
    for a in report["activations"]:
        for s in a["streams"]:
            if a["node"] in place and s in first and first[s] != place[a["node"]]:
                pred[first[s]].append(place[a["node"]])
    succ: list[list[int]] = [[] for _ in runs]
    waiting = [len(p) for p in pred]
    for i, ps in enumerate(pred):
        for p in ps:
            succ[p].append(i)
    ready = [i for i, w in enumerate(waiting) if w == 0]
    masks = [0] * len(runs)
    done = 0
    while ready:
        i = ready.pop()
        done += 1
        for j in succ[i]:
            masks[j] |= masks[i] | (1 << i)
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
    assert done == len(runs), "streams and events wait for each other in a circle"

    def before(a: str, b: str) -> bool:
        return bool(a in place and b in place and masks[place[b]] >> place[a] & 1)

    return before


def check_memory(report: dict[str, Any], before: Any) -> None:
    memory = report["memory"]
    if memory is None:
        return
    assert memory["lower_bound"] <= memory["peak"]
    buffers = memory["buffers"]
    runs = {n for n, s in report["streams"].items() if s >= 0}

    def finished(x: dict[str, Any], y: dict[str, Any]) -> bool:
        touch = [n for n in {*x["writers"], *x["readers"]} if n in runs]
        start = [n for n in y["writers"] if n in runs]
        return bool(start) and all(before(a, d) for a in touch for d in start)

    placed = sorted((b for b in buffers if b["size"] and b["offset"] >= 0), key=lambda b: b["offset"])
    for i, x in enumerate(placed):
        assert x["offset"] + x["size"] <= memory["peak"], "every buffer lies below the peak"
        for y in placed[i + 1 :]:
            if y["offset"] >= x["offset"] + x["size"]:
                break
            assert finished(x, y) or finished(y, x), f"race: {x['name']} and {y['name']} share bytes"


def check_timeline(report: dict[str, Any], order: dict[str, int]) -> None:
    timeline = report["timeline"]
    assert timeline is not None
    end: dict[int, int] = {}
    at = {}
    for t in sorted(timeline["tasks"], key=lambda t: (t["start_ns"], t["end_ns"], order[t["node"]])):
        assert t["start_ns"] <= t["end_ns"]
        assert t["start_ns"] >= end.get(t["stream"], 0), f"two tasks at once on stream {t['stream']}"
        end[t["stream"]] = t["end_ns"]
        at[t["node"]] = t
    for e in report["events"]:
        if e["send"] in at and e["recv"] in at:
            assert at[e["send"]]["end_ns"] <= at[e["recv"]]["start_ns"], f"event {e['id']} is not waited for"
    if timeline["tasks"]:
        assert timeline["makespan_ns"] == max(t["end_ns"] for t in timeline["tasks"])
