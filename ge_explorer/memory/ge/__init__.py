"""GE's own static memory planner, step by step (memory.md part A).

``view`` (operators as GE's planner sees them) -> ``symbols`` (alias classes) -> ``inplace`` -> ``context`` (``stream_ids``,
``stream_edges``, ``reuse_flags``, ``continuous``) -> per candidate: ``size_classes``, ``level1`` with ``outputs`` and ``release``
(free lists), ``level2`` (nesting by lifetime), ``groups``, ``batches``, ``layout`` (offsets) -> the smallest candidate ->
``cleaned`` and ``zero_copy`` -> ``final_offsets`` -> ``reuse_check`` (GE's own proof).

``planner.plan_ge`` is the entry, ``bridge.plan_problem`` the same for a ``MemoryProblem``; ``decisions`` and ``wording`` are what
the planner says about each step.
"""
