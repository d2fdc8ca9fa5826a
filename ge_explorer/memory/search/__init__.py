"""Search for smaller memory plans, with a proof where one is reached.

``instance``: the placement problem as arrays; ``exact``: depth-first search under a limit; ``beam``: many half-built plans side
by side; ``solve``: which of them runs when, and what may be claimed afterwards.
"""

from ge_explorer.memory.search.solve import DEFAULT_STEPS, SearchResult, improve, plan_search, search

__all__ = ["DEFAULT_STEPS", "SearchResult", "improve", "plan_search", "search"]
