"""Streams and events of dynamic-shape graphs: one stream per engine for the whole model, events as id lists on nodes.

Off unless the environment variable ``ENABLE_DYNAMIC_SHAPE_MULTI_STREAM`` is 1; every node then stays on stream 0.
Source: compiler/graph/build/stream/dynamic_stream_allocator.cc.
"""

from __future__ import annotations

_P = "ge_explorer.passes.dynamic."

DYNAMIC_STEPS: tuple[tuple[str, str], ...] = (
    ("dynamic-start", _P + "start:DynamicStart"),
    # per graph, the root first; subgraphs of known shapes are left out
    ("dynamic-assign-owning-engines", _P + "assign_owning_engines:AssignOwningEngines"),
    ("dynamic-assign-aicpu", _P + "assign_aicpu:AssignAicpu"),
    ("dynamic-assign-with-reuse", _P + "assign_with_reuse:AssignWithReuse"),
    ("dynamic-assign-remaining", _P + "assign_remaining:AssignRemaining"),
    ("dynamic-node-update", _P + "node_update:NodeUpdate"),
    ("dynamic-reassign-by-label", _P + "reassign_by_label:ReassignByLabel"),
    # once
    ("dynamic-refresh-by-engine-priority", _P + "refresh_by_engine_priority:RefreshByEnginePriority"),
    ("dynamic-mini-dag", _P + "mini_dag:DynamicMiniDag"),
    ("dynamic-refresh-by-node", _P + "refresh_by_node:RefreshByNode"),
    ("dynamic-insert-events", _P + "insert_events:DynamicInsertEvents"),
    ("dynamic-optimize-by-send", _P + "optimize_by_send:DynamicOptimizeBySend"),
    ("dynamic-optimize-by-recv", _P + "optimize_by_recv:DynamicOptimizeByRecv"),
    ("dynamic-renumber", _P + "renumber_events:DynamicRenumber"),
    ("dynamic-attached-streams", _P + "attached_streams:DynamicAttachedStreams"),
    ("dynamic-attached-notifies", _P + "attached_notifies:DynamicAttachedNotifies"),
)
"""(pass name, "module:Class") in run order. They follow the partition steps of the static path, last of them the second sort."""
