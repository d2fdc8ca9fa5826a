"""Compile state and its history: facets, snapshots, passes, steps, traces, diffs."""

from ge_explorer.trace.diff import Diff, diff_snapshots
from ge_explorer.trace.passes import Decision, Pass, PassContext, Rule
from ge_explorer.trace.pipeline import Pipeline, parse_pipeline
from ge_explorer.trace.runner import TraceCache, run_trace
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Step, Trace

__all__ = [
    "Decision", "Diff", "Pass", "PassContext", "Pipeline", "Rule", "Snapshot", "Step", "Trace", "TraceCache",
    "diff_snapshots", "parse_pipeline", "run_trace",
]  # fmt: skip
