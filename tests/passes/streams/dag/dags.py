"""Random DAGs for property tests: successor lists, edges from lower to higher index."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 16) -> list[list[int]]:
    """Successors of each node, in no particular order."""
    n = draw(st.integers(1, max_nodes))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3 * n)) if pairs else []
    succ: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        succ[a].append(b)
    return succ
