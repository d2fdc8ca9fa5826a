"""GE's own static memory planner, step by step (memory.md part A).

``view`` (operators as GE's planner sees them) -> ``symbols`` (alias classes) -> ``inplace`` -> ``stream_ids`` and ``stream_edges``
-> per candidate: ``level1`` (free list) -> ``level2`` (nesting by lifetime) -> ``layout`` (offsets) -> the smallest candidate
-> ``zero_copy`` -> ``final_offsets`` -> ``reuse_check`` (GE's own proof). ``planner.plan_ge`` is the entry.
"""
