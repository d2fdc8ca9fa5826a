"""The 14 invariants of a synchronised graph, one entry each: what it says, its codes, its checks, when it applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ge_explorer.checks import (
    activation,
    attached,
    branches,
    completion,
    counts,
    deadlock,
    dependencies,
    event_ids,
    minimality,
    pairing,
    split,
    split_groups,
    streams,
    topology,
)
from ge_explorer.checks.context import Context
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot

Status = Literal["pass", "warning", "fail", "not applicable"]
Check = Callable[[Context], Iterable[Issue]]
Reason = Callable[[Context], Text | None]
STATUS: Mapping[Status, Text] = MappingProxyType(
    {
        "pass": Text("pass", "通过"), "warning": Text("warning", "警告"), "fail": Text("fail", "不满足"),
        "not applicable": Text("not applicable", "不适用"),
    }
)  # fmt: skip
NO_STREAMS = Text("no streams are assigned yet", "尚未分配流")
NO_ORDER = Text("tasks wait for each other in a circle (invariant 1)", "任务循环等待（见不变式 1）")
NO_EVENTS = Text("there are no events yet", "尚无事件")


@dataclass(frozen=True, slots=True)
class Invariant:
    """One invariant. ``not_for`` says why it does not apply to a snapshot (None: it does); ``ordered``: it needs a deadlock-free
    order. Invariant 14 needs no streams and is checked first.
    """

    number: int
    title: Text
    codes: tuple[str, ...]
    checks: tuple[Check, ...]
    not_for: Reason | None = None
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """Outcome for one snapshot. ``status`` is fail with an error, warning with a warning, else pass; notes do not count.

    ``reason`` says why it is not applicable.
    """

    number: int
    title: Text
    status: Status
    issues: tuple[Issue, ...] = ()
    reason: Text | None = None


def _no_events(c: Context) -> Text | None:
    return None if c.plan.events or c.final_sync.owned else NO_EVENTS


def _no_sync_nodes(c: Context) -> Text | None:
    return None if c.plan.events or any(n.op in SYNC_OPS for n in c.s.graph) else NO_EVENTS


def _no_activation(c: Context) -> Text | None:
    return None if c.plan.active or c.final_sync.activated else Text("no node starts a stream", "没有节点激活流")


def _no_branches(c: Context) -> Text | None:
    return None if branches.is_exclusive(c.s.graph) else Text("no branches exclude each other", "没有互斥分支")


def _no_split(c: Context) -> Text | None:
    return None if c.s.physical is not None else Text("streams are not physical yet", "尚未切分为物理流")


_ROWS = (
    Invariant(1, Text("Nothing waits in a circle", "无死锁"), ("GX111", "GX128"), (deadlock.no_deadlock, deadlock.senders_run)),
    Invariant(2, Text("Every dependency is ordered", "依赖全部有序"), ("GX110", "GX124"),
              (dependencies.ordered_dependencies, attached.attached_values), ordered=True),
    Invariant(3, Text("Every stream ends before the output", "各流在输出前结束"), ("GX115", "GX121", "GX125", "GX126"),
              (completion.subgraph_bodies, completion.joined_streams, attached.attached_ends, completion.joined_at_load),
              ordered=True),
    Invariant(4, Text("Event ids without holes", "事件编号连续"), ("GX113", "GX127", "GX134"),
              (event_ids.dense_ids, event_ids.notify_types, event_ids.name_order), _no_events),
    Invariant(5, Text("One Send and one Recv per id", "每个编号一收一发"), ("GX113", "GX129"),
              (pairing.one_pair_an_id, pairing.paired_nodes), _no_sync_nodes),
    Invariant(6, Text("Sends and Recvs on their nodes' streams", "收发节点位于正确的流"), ("GX112", "GX120"),
              (pairing.ends_fit, pairing.two_streams), _no_events),
    Invariant(7, Text("Events as few as GE leaves", "事件不多于 GE 的保证"), ("GX116", "GX135"),
              (minimality.surplus_events, minimality.redundant_events), _no_events),
    Invariant(8, Text("No StreamSwitch sends", "StreamSwitch 不发送事件"), ("GX117",), (minimality.switch_senders,), _no_events),
    Invariant(9, Text("Streams are started properly", "激活正确"),
              ("GX119", "GX136", "GX137", "GX138", "GX139", "GX140", "GX141"),
              (activation.activation_lists, activation.switch_lists, activation.activators_exist, activation.early_users,
               activation.started_at_once), _no_activation),
    Invariant(10, Text("Exclusive branches keep their order", "互斥分支各自有序"), ("GX142",), (branches.branch_cover,),
              _no_branches, ordered=True),
    Invariant(11, Text("Streams are split by the rules", "切分符合规则"),
              ("GX143", "GX144", "GX145", "GX146", "GX147", "GX152"),
              (split.parts_fit, split.chain_events, split.mapping_total, split_groups.groups_together,
               split_groups.split_quirks), _no_split),
    Invariant(12, Text("Numbers stay within limits", "数量不超限"), ("GX114", "GX148", "GX149"),
              (streams.dense_stream_ids, counts.compiler_counts, counts.chip_counts)),
    Invariant(13, Text("Every node has a stream", "每个节点都有流"), ("GX118",), (streams.streamless_nodes,)),
    Invariant(14, Text("The order respects dependencies", "顺序满足依赖"), ("GX122", "GX123"), ()),
)  # fmt: skip
INVARIANTS: Mapping[int, Invariant] = MappingProxyType({i.number: i for i in _ROWS})
"""Number -> invariant, in order."""


def check_invariants(s: Snapshot) -> tuple[InvariantResult, ...]:
    """All 14 on one snapshot, computed or imported. An order with missing nodes (GX123) stops the rest: nothing else is sure."""
    return results(s, Context(s) if s.streams is not None else None)


def results(s: Snapshot, c: Context | None) -> tuple[InvariantResult, ...]:
    """The same with the shared context at hand; None: there are no streams yet."""
    order = _result(INVARIANTS[14], tuple(topology.topological_order(s)))
    broken = any(i.code == topology.INCOMPLETE for i in order.issues)
    return (*_others(c if not broken else None, broken), order)


def _others(c: Context | None, broken: bool) -> Iterator[InvariantResult]:
    for row in _ROWS[:-1]:
        reason = NO_STREAMS if c is None and not broken else None
        if broken:
            reason = Text("the order does not list every node (invariant 14)", "顺序没有列出全部节点（见不变式 14）")
        if c is not None:
            reason = row.not_for(c) if row.not_for is not None else None
            if reason is None and row.ordered and c.deadlock is not None:
                reason = NO_ORDER
        if c is None or reason is not None:
            yield InvariantResult(row.number, row.title, "not applicable", (), reason)
        else:
            yield _result(row, tuple(i for check in row.checks for i in check(c)))


def _result(row: Invariant, issues: tuple[Issue, ...]) -> InvariantResult:
    levels = {i.severity for i in issues}
    status: Status = "fail" if "error" in levels else "warning" if "warning" in levels else "pass"
    return InvariantResult(row.number, row.title, status, issues)
