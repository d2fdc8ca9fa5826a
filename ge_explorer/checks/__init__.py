"""Independent verification of snapshots and traces. Nothing here uses the logic of a pass: a pass cannot vouch for itself.

``check_invariants`` judges the 14 invariants one by one (``INVARIANTS`` is their table), ``check_snapshot`` lists all findings.

Codes (GX1xx order, streams, deadlock; GX2xx memory) by invariant:
1 GX111 deadlock, GX128 sender that does not run; 2 GX110 dependency nobody orders, GX124 value of an attached stream;
3 GX115 stream not joined, GX121 subgraph body on another stream, GX125 attached stream not joined, GX126 joined at load;
4 GX113 event ids, GX127 counters, GX134 name order; 5 GX113, GX129 Send and Recv nodes; 6 GX112 event inside one stream, GX120
event that does not fit its nodes; 7 GX116 more events than GE leaves, GX135 redundant, kept by GE; 8 GX117 StreamSwitch sends;
9 GX119 activation list, GX136 switch list, GX137 label without StreamActive, GX138 no activator, GX139 part not activated,
GX140 stream of a body used before it, GX141 started with the model; 10 GX142 exclusive branches; 11 GX143 part too long, GX144
chain event, GX145 mapping, GX146 continuous group, GX147 huge stream split, GX152 tasks left behind; 12 GX114 stream ids, GX148
limit of compiler or loader, GX149 limit of the chip; 13 GX118 node without a stream; 14 GX122 order not topological, GX123
sequence incomplete. GX190 a step failed; GX201-GX205 memory (memory/verify.py), GX206-GX207
and GX209 layout of single tensors (memory_layout.py), GX208 pairs a log leaves open (memory_log.py).
"""

from ge_explorer.checks.invariants import INVARIANTS, STATUS, Invariant, InvariantResult, check_invariants
from ge_explorer.checks.memory import events_behind_plan, verify_change, verify_plan, with_offsets, without_events
from ge_explorer.checks.memory_layout import verify_layout
from ge_explorer.checks.snapshot import check_snapshot, check_trace

__all__ = [
    "INVARIANTS",
    "STATUS",
    "Invariant",
    "InvariantResult",
    "check_invariants",
    "check_snapshot",
    "check_trace",
    "events_behind_plan",
    "verify_change",
    "verify_layout",
    "verify_plan",
    "with_offsets",
    "without_events",
]
