"""Order, streams, offsets and options of a dump, from its records."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ge_explorer.graph.model import Graph
from ge_explorer.loaders.ge_recorded import Recorded
from ge_explorer.loaders.ge_records import ModelRecord, OpRecord

OPTION_GROUPS = ("GlobalOptions", "SessionOptions", "GraphOptions")
"""Graph attributes with the compile options; a later one wins."""


def facts(model: ModelRecord, graph: Graph, records: Mapping[int, OpRecord]) -> Recorded:
    """Facts by node and tensor id (events are added by the caller)."""
    streams: dict[int, int] = {}
    logic: dict[int, int] = {}
    attached: dict[int, tuple[int, ...]] = {}
    active: dict[int, tuple[int, ...]] = {}
    order: dict[int, int] = {}
    offsets: dict[int, int] = {}
    sizes: dict[int, int] = {}
    workspace: dict[int, tuple[tuple[int, int], ...]] = {}
    known = streams_written(model)
    for i, op in records.items():
        node = graph.node(i)
        if op.id is not None:
            order[i] = op.id
        if known and op.stream is not None:
            streams[i] = op.stream
        if isinstance(op.attrs.get("_logic_stream_id"), int):
            logic[i] = op.attrs["_logic_stream_id"]
        also = _attached(op.attrs)
        if also:
            attached[i] = also
        listed = op.attrs.get("active_stream_list")
        if isinstance(listed, tuple) and node.op in ("StreamActive", "StreamSwitch", "StreamSwitchN"):
            active[i] = tuple(s for s in listed if isinstance(s, int))
        for k, t in enumerate(node.outputs):
            if k < len(op.output_offsets):
                offsets[t] = op.output_offsets[k]
            size = op.outputs[k].attrs.get("size") if k < len(op.outputs) else None
            if isinstance(size, int) and size > 0:
                sizes[t] = size
        if op.workspace:
            pairs = zip(op.workspace, op.workspace_bytes + [0] * len(op.workspace), strict=False)
            workspace[i] = tuple(pairs)
    ids = sorted(order.values())
    if len(ids) > 1 and ids[-1] == 0:  # a dump before the first sort: every id is left out
        order = {}
    return Recorded(
        MappingProxyType(order), MappingProxyType(streams), MappingProxyType(logic), MappingProxyType(attached), (),
        MappingProxyType(active), MappingProxyType(offsets), MappingProxyType(sizes), MappingProxyType(workspace),
        MappingProxyType({k: v for k, v in model.attrs.items() if isinstance(v, int | float | str | bool | tuple)}),
        MappingProxyType(options(model)),
    )  # fmt: skip


def streams_written(model: ModelRecord) -> bool:
    """Has the file been written after streams were assigned?

    A zero is left out by proto3, so a dump from before looks like "all on stream 0". It counts as assigned when any id was
    written, or when the model states its number of streams.
    """
    if any(op.stream is not None and not op.implicit_stream for g in model.graphs for op in g.ops):
        return True
    count = model.attrs.get("stream_num")
    return isinstance(count, int) and count > 0


def options(model: ModelRecord) -> dict[str, str]:
    """Compile options that a full dump carries on its root graph."""
    out: dict[str, str] = {}
    for group in OPTION_GROUPS:
        held = model.graphs[0].attrs.get(group)
        if isinstance(held, Mapping):
            out.update({k: v for k, v in held.items() if isinstance(k, str) and isinstance(v, str)})
    return out


def _attached(attrs: Mapping[str, Any]) -> tuple[int, ...]:
    many, one = attrs.get("_logic_attached_stream_ids"), attrs.get("_logic_attached_stream_id")
    if isinstance(many, tuple):
        return tuple(v for v in many if isinstance(v, int))
    return (one,) if isinstance(one, int) and one >= 0 else ()
