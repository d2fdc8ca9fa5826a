"""What GE writes on the model, the graph and the nodes when streams are done (ModelBuilder::BuildModelDefForStream).

The compile ends with numbers on the model that the runtime reads back; this is the same set from a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ge_explorer.passes.physical.state import begin
from ge_explorer.trace.state import NO_STREAM, SYNC_OPS, Snapshot

SOURCE = "compiler/graph/build/model_builder.cc: ModelBuilder::BuildModelDefForStream"
LOGIC, LOGIC_ATTACHED, LOGIC_ATTACHED_LIST = (
    "_logic_stream_id",
    "_logic_attached_stream_id",
    "_logic_attached_stream_ids",
)
SPLIT_MAP, CUSTOM_IDS = "_split_logic_stream_2_origin_logic_stream", "_custom_logical_stream_ids"


@dataclass(frozen=True, slots=True)
class ModelAttributes:
    """Attributes by literal GE key: of the model, of the graph, and of each node by unique name."""

    model: Mapping[str, Any]
    graph: Mapping[str, str]
    nodes: Mapping[str, Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "model": dict(self.model),
            "graph": dict(self.graph),
            "nodes": {k: dict(v) for k, v in self.nodes.items()},
        }


def model_attributes(s: Snapshot) -> ModelAttributes:
    """Attributes of a snapshot that has streams; before the split the physical streams are the logical ones.

    ``stream_num`` is at least 1; ``huge_stream_list`` is [] or [0]; the split map reads ``physical:logical,…``. Nodes made
    after the logical stage have no ``_logic_stream_id``. ValueError for a snapshot without streams.
    """
    if s.streams is None:
        raise ValueError("the snapshot has no streams yet")
    p = begin(s)
    names = s.graph.unique_names
    nodes: dict[str, dict[str, Any]] = {}
    for n in s.graph:
        own: dict[str, Any] = {}
        logical = int(s.streams.node[n.id])
        beside = [x for x in s.streams.attached.get(n.id, ()) if x != NO_STREAM]
        if logical != NO_STREAM and n.op not in SYNC_OPS:
            own[LOGIC] = logical
            if len(beside) == 1:
                own[LOGIC_ATTACHED] = beside[0]
            elif beside:
                own[LOGIC_ATTACHED_LIST] = beside
        if p.sync.active_streams.get(n.id):
            own["active_stream_list"] = list(p.sync.active_streams[n.id])
        own |= {
            k: n.attrs[k] for k in ("_active_label_list", "event_id", "notify_id") if n.attrs.get(k) not in (None, ())
        }
        if own:
            nodes[names[n.id]] = own
    model = {
        "stream_num": max(p.count, 1),
        "event_num": p.sync.event_num,
        "notify_num": p.sync.notify_num,
        "notify_types": list(p.sync.notify_types),
        "huge_stream_list": list(p.huge),
    }
    graph = {SPLIT_MAP: ",".join(f"{i}:{x}" for i, x in enumerate(p.logic_of) if x != NO_STREAM)}
    if s.streams.custom:
        graph[CUSTOM_IDS] = ",".join(map(str, s.streams.custom))
    return ModelAttributes(model, graph, nodes)
