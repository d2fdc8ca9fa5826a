"""Multi-stream plans: parts, built-in ones, how they enter the graph, and the comparison of their strengths."""

from ge_explorer.plan.model import CoreLimit, Plan, StreamSpec, SyncPoint

__all__ = ["CoreLimit", "Plan", "StreamSpec", "SyncPoint"]
