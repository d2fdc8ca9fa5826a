"""From a compiled snapshot to what the runtime loads: stream, event and task numbers of the model, nothing else."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import Literal

from ge_explorer.errors import OptionError
from ge_explorer.runtime import Activator, DynamicModel, DynamicNode, StaticModel
from ge_explorer.runtime.model import AllocatorName, follow_of
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.ge_stream_dot import active_lists, stream_of
from ge_explorer.views.stream_summary import FOLLOWED

BRANCH_LABEL = "_switch_branch_node_label"
HCCL = "HCCL"


def model_of(s: Snapshot, name: str = "", *, external: tuple[AllocatorName, ...] = ()) -> StaticModel | DynamicModel:
    """The model a snapshot is loaded as: dynamic if the root graph is. ``name`` defaults to the graph's.

    OptionError while no stream is assigned.
    """
    if s.streams is None:
        raise OptionError("no stream is assigned yet", where=s.graph.name, todo="Run the pipeline first.")
    return dynamic_model(s, name, external=external) if s.graph.root.dynamic else static_model(s, name)


def static_model(s: Snapshot, name: str = "") -> StaticModel:
    """Physical streams where they are known, else the logical ones stand for them (one part each)."""
    assert s.streams is not None
    sync = s.physical.sync if s.physical is not None else s.sync
    ids = s.graph.node_ids
    last = max([stream_of(s, i) for i in ids] + [k for a in s.streams.attached.values() for k in a], default=-1)
    streams = s.physical.count if s.physical is not None else max(1, last + 1)
    hcom: set[int] = set()
    follow: dict[int, list[int]] = {}
    tasks: Counter[int] = Counter()
    order: dict[int, None] = {}
    table = s.physical.task_table if s.physical is not None and s.physical.task_table is not None else s.tasks
    for i in s.sequence or s.graph.walk():
        main = stream_of(s, i)
        groups = table.of.get(i, ()) if table is not None else ()
        for g in groups:
            tasks[g.stream] += g.count * (max(1, g.sqe) + g.wait)
            order.setdefault(g.stream)
        if table is None and main >= 0 and not s.graph.node(i).is_source:
            order.setdefault(main)
        if main >= 0 and s.placement is not None and i < len(s.placement.core) and s.placement.core[i] == HCCL:
            used = s.graph.node(i).attrs.get(FOLLOWED)
            hcom.add(main)
            hcom.update(k for k in _attached(s, i) if k >= 0)
            follow.setdefault(main, []).append(used if isinstance(used, int) and used > 0 else 0)
    inside = {k: n for k, n in tasks.items() if 0 <= k < streams}
    return StaticModel(
        name or s.graph.name, streams, 0 if sync is None else sync.event_num, 0 if sync is None else sync.notify_num,
        huge=s.physical.huge if s.physical is not None else (), hcom=tuple(sorted(k for k in hcom if k < streams)),
        follow=follow_of({k: v for k, v in follow.items() if k < streams}), activators=_activators(s, streams),
        task_order=tuple(k for k in order if 0 <= k < streams), tasks=MappingProxyType(inside),
        logic_of=s.physical.logic_of if s.physical is not None else tuple(range(streams)),
    )  # fmt: skip


def dynamic_model(s: Snapshot, name: str = "", *, external: tuple[AllocatorName, ...] = ()) -> DynamicModel:
    """Reusable and attached streams of the dynamic graphs. Static parts are left out: a snapshot has no model of their own."""
    assert s.streams is not None
    attached = {k for a in s.streams.attached.values() for k in a if k >= 0}
    main = {stream_of(s, i) for i in s.graph.node_ids} - attached - {-1}
    events = [e for e in (s.sync.events if s.sync is not None else ()) if e.kind == "event"]
    sends: dict[int, list[int]] = {}
    recvs: dict[int, list[int]] = {}
    for e in events:
        sends.setdefault(e.send, []).append(e.id)
        recvs.setdefault(e.recv, []).append(e.id)
    nodes = tuple(
        DynamicNode(
            s.graph.unique_names[i], stream_of(s, i), bool(s.graph.pred[i]), bool(s.graph.succ[i]), tuple(sends.get(i, ())),
            tuple(recvs.get(i, ())), s.graph.scope(s.graph.node(i).scope).dynamic, s.graph.node(i).scope == 0,
        )
        for i in s.graph.node_ids
    )  # fmt: skip
    reusable = max(main, default=0) + 1
    return DynamicModel(
        name or s.graph.name, reusable + len(attached), len(attached), len(events), 0 if s.sync is None else s.sync.notify_num,
        external=external, nodes=nodes,
    )  # fmt: skip


def _attached(s: Snapshot, node: int) -> tuple[int, ...]:
    assert s.streams is not None
    return (s.physical.attached if s.physical is not None else s.streams.attached).get(node, ())


def _activators(s: Snapshot, streams: int) -> tuple[Activator, ...]:
    out = []
    for i, listed in sorted(active_lists(s).items()):
        node = s.graph.node(i)
        kind: Literal["StreamSwitch", "StreamActive"] = "StreamSwitch" if node.op == "StreamSwitch" else "StreamActive"
        out.append(Activator(kind, tuple(k for k in listed if k < streams), BRANCH_LABEL in node.attrs))
    return tuple(out)
