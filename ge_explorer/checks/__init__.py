"""Independent verification of snapshots and traces. Nothing here imports a pass: a pass cannot vouch for itself.

Codes (GX1xx order, streams, deadlock; GX2xx memory): GX110 dependency nobody orders, GX111 deadlock, GX112 event inside one
stream, GX113 event ids, GX114 stream ids, GX115 stream not joined, GX116 more events than GE leaves, GX117 StreamSwitch sends,
GX118 node without a stream, GX119 activation list, GX120 event that does not fit its nodes, GX121 subgraph body on another
stream, GX122 order not topological, GX123 sequence incomplete, GX190 a step failed, GX201-GX205 memory (memory/verify.py),
GX206-GX207 layout of single tensors (memory_layout.py), GX208 pairs a log leaves open (memory_log.py).
"""

from ge_explorer.checks.memory import events_behind_plan, verify_change, verify_plan, with_offsets, without_events
from ge_explorer.checks.memory_layout import verify_layout
from ge_explorer.checks.snapshot import check_snapshot, check_trace

__all__ = [
    "check_snapshot",
    "check_trace",
    "events_behind_plan",
    "verify_change",
    "verify_layout",
    "verify_plan",
    "with_offsets",
    "without_events",
]
