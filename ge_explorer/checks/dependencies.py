"""19.2: is every dependency kept? Decided by reachability over streams and events, never by "an event exists"."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ge_explorer.checks.context import Context, rest
from ge_explorer.checks.schedule import streams_of
from ge_explorer.graph.happens_before import ENTER_LIKE, NEXT_LIKE, HappensBefore, border_pairs
from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS

UNORDERED = "GX110"
LIMIT = 100
MERGE_LIKE = frozenset({"Merge", "RefMerge", "StreamMerge"})
THREAD_SCOPE = "_thread_scope_id"
FFTS = ("_ffts_sub_graph", "_ffts_plus_sub_graph")
SOURCE = "sync.md 19.2"
DATA, CONTROL = Text("data", "数据边"), Text("control", "控制边")
ENTRY, END = Text("subgraph entry", "子图入口"), Text("subgraph end", "子图出口")


def ordered_dependencies(c: Context) -> Iterator[Issue]:
    """GX110 for every data or control edge, and every subgraph border pair, whose ends no stream, event or activation orders."""
    hb, of = c.hb, c.plan.of_node
    if hb is None:
        return
    count = 0
    for u, v, why in _suspects(c, hb):
        if _by_activation(c, hb, u, v):
            continue
        count += 1
        if count > LIMIT:
            continue
        a, b = c.name(u), c.name(v)
        i, j = c.plan.say(of[u]), c.plan.say(of[v])
        far, quirk = missing_path(c, hb, u, v), c.excuse(u, v)
        if quirk is not None:
            far = Text(f"{far.en}: {quirk.en}", f"{far.zh}：{quirk.zh}")
        yield Issue(
            UNORDERED, "error" if quirk is None else "warning",
            Text(
                f"{b} (stream {j}) needs {a} (stream {i}), but may start before it is done ({why.en}); {far.en}",
                f"{b}（流 {j}）依赖 {a}（流 {i}），但可能在其完成之前启动（{why.zh}）；{far.zh}",
            ),
            (Ref("node", u), Ref("node", v)),
            Text(
                f"Add an event from {a} to {b} (stream {i} to stream {j}).",
                f"在 {a} 与 {b} 之间加一个事件（流 {i} 到流 {j}）。",
            ),
            SOURCE,
        )  # fmt: skip
    if count > LIMIT:
        yield rest(UNORDERED, count - LIMIT, Text("unordered dependencies", "没有顺序保证的依赖"), SOURCE)


def missing_path(c: Context, hb: HappensBefore, u: int, v: int) -> Text:
    """How far the order gets: the last task of ``u``'s stream that task ``v`` surely waits for."""
    tasks = c.plan.tasks
    column = int(hb.column[hb.row[u]])
    done = int(hb.clocks[hb.row[v], column])
    if done == 0:
        return Text("it waits for nothing on that stream", "它不等待该流上的任何任务")
    last = c.name(tasks.node(hb.on_stream(hb.streams[column])[done - 1]))
    far = int(hb.position[hb.row[u]]) + 1 - done
    return Text(
        f"on that stream it only waits for {last}, {far} tasks earlier",
        f"在该流上它只等到 {last}，还差 {far} 个任务",
    )  # fmt: skip


def _suspects(c: Context, hb: HappensBefore) -> Iterator[tuple[int, int, Text]]:
    """Pairs GE must order that streams, events and single activations do not order."""
    g = c.s.graph
    pairs = [*dict.fromkeys((*((e.src, e.dst) for e in g.edges), *g.control))]
    borders = [] if g.root.dynamic else list(dict.fromkeys(border_pairs(g, streams_of(c.s).node)))
    both = [*pairs, *borders]
    if not both:
        return
    row = np.full(g.id_bound, -1, dtype=np.int64)
    for v, r in hb.row.items():
        if 0 <= v < g.id_bound:
            row[v] = r
    ends = np.array(both, dtype=np.int64)
    ru, rv = row[ends[:, 0]], row[ends[:, 1]]
    tasks = (ru >= 0) & (rv >= 0)
    tasks &= (hb.column[ru] >= 0) & (hb.column[rv] >= 0)
    bad = tasks & (hb.column[ru] != hb.column[rv])
    if hb.clocks.size:
        bad &= hb.clocks[rv, np.maximum(hb.column[ru], 0)] <= hb.position[ru]
    data = {(e.src, e.dst) for e in g.edges} if bad.any() else set()
    hidden = hidden_scopes(g) if bad.any() else set()
    for k in np.flatnonzero(bad).tolist():
        u, v = both[k]
        a, b = g.node(u), g.node(v)
        if (a.op in ENTER_LIKE and b.op != "StreamActive") or (a.op in NEXT_LIKE and b.op in MERGE_LIKE):
            continue
        if a.op in SYNC_OPS or b.op in SYNC_OPS or THREAD_SCOPE in b.attrs:
            continue
        if c.inside_static(u) or (a.scope in hidden and k < len(pairs)):
            continue
        if k < len(pairs):
            yield u, v, DATA if (u, v) in data else CONTROL
        else:
            yield u, v, END if g.pred[v] else ENTRY


def hidden_scopes(g: Graph) -> set[int]:
    """Scopes inside FFTS holders, at any depth: the hardware orders their nodes."""
    out: set[int] = set()
    todo = [x for n in g if any(k in n.attrs for k in FFTS) for x in n.subgraphs]
    while todo:
        scope = todo.pop()
        if scope not in out:
            out.add(scope)
            todo.extend(x for v in g.scope(scope).nodes for x in g.node(v).subgraphs)
    return out


def _by_activation(c: Context, hb: HappensBefore, u: int, v: int) -> bool:
    """True if an activator of v's stream runs after u. One is enough: when another branch started the stream, u's branch did
    not run (sync.md 5.3 rule 5).
    """
    label = c.s.graph.node(v).attrs.get("_stream_label")
    by_label = c.sync.label_activators.get(str(label), ())
    starters = dict.fromkeys((*by_label, *c.started_by.get(c.plan.of_node[v], ())))
    return any(a == u or hb.ordered(u, a) for a in starters)
