"""Tasks of a schedule in issue order, and the two tasks that each event joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ge_explorer.trace.state import SYNC_OPS, Event

if TYPE_CHECKING:
    from ge_explorer.checks.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks in issue order, and where the ends of events went.

    A task is a node id (its main stream), or a negative number: node ``owner[t]`` on an attached stream. Send and Recv nodes that
    stand right beside an operator are one with it; ``ends`` maps an event's uid to (sending task, receiving task).
    """

    sequence: tuple[int, ...]
    stream: Mapping[int, int]
    owner: Mapping[int, int]
    first: Mapping[int, int]
    last: Mapping[int, int]
    attached: Mapping[tuple[int, int], int]
    ends: Mapping[int, tuple[int, int]]

    @staticmethod
    def of(plan: Schedule) -> Tasks:
        """Walk the nodes once."""
        return _Walk(plan).result()

    def node(self, task: int) -> int:
        """Node of a task."""
        return self.owner.get(task, task)


class _Walk:
    def __init__(self, plan: Schedule) -> None:
        self.plan = plan
        self.sequence: list[int] = []
        self.stream: dict[int, int] = {}
        self.owner: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.attached: dict[tuple[int, int], int] = {}
        self.stands_for: dict[int, int] = {}
        self.waiting: dict[int, list[int]] = {}
        self.chain_recvs = {plan.recvs[u] for u in plan.second if u in plan.recvs} if plan.merged else set()

    def result(self) -> Tasks:
        plan, nodes = self.plan, self.plan.s.graph.nodes
        of, column = plan.of_node, plan.merged
        real = {*plan.sends.values(), *plan.recvs.values()}
        for i in plan.sequence:
            n = nodes[i]
            st = of[i]
            if n is None or st < 0:
                continue
            if i in real:
                self._sync_node(i, st, column.get(st, st), sends=n.op.startswith("Send"))
                continue
            if n.op in SYNC_OPS and real:
                continue  # of another batch, or without a partner (GX129)
            self._task(i, i, st, column.get(st, st))
            for x in plan.attached.get(i, ()):
                if x >= 0 and (i, x) not in self.attached:
                    task = -2 - len(self.owner)
                    self.owner[task] = i
                    self.attached[(i, x)] = task
                    self._task(task, i, x, column.get(x, x))
        for rows in self.waiting.values():
            for i in rows:
                self._row(i, of[i], column.get(of[i], of[i]))
        ends = {e.uid: both for e in plan.events if (both := self._event(e)) is not None}
        return Tasks(
            tuple(self.sequence), self.stream, self.owner, self.first, self.last, self.attached, ends
        )  # fmt: skip

    def _row(self, task: int, st: int, column: int) -> None:
        self.sequence.append(task)
        self.stream[task] = column
        self.first.setdefault(st, task)
        self.last[column] = task

    def _task(self, task: int, node: int, st: int, column: int) -> None:
        """An operator: the receives in front of it are one with it."""
        for i in self.waiting.pop(column, ()):
            self.stands_for[i] = task
            self.first.setdefault(self.plan.of_node[i], task)
        self._row(task, st, column)

    def _sync_node(self, i: int, st: int, column: int, *, sends: bool) -> None:
        if not sends:
            self.waiting.setdefault(column, []).append(i)
            return
        before = self.last.get(column)
        open_ = [r for r in self.waiting.get(column, ()) if r not in self.chain_recvs]
        if before is not None and not open_:
            self.stands_for[i] = before
            return
        for r in self.waiting.pop(column, ()):
            self._row(r, self.plan.of_node[r], column)
        self._row(i, st, column)

    def _event(self, e: Event) -> tuple[int, int] | None:
        a = self._end(e, e.send, self.plan.sends.get(e.uid), e.send_stream, e.send_on != "main")
        b = self._end(e, e.recv, self.plan.recvs.get(e.uid), e.recv_stream, e.recv_on != "main")
        return None if a is None or b is None else (a, b)

    def _end(self, e: Event, node: int, sync: int | None, stream: int, beside: bool) -> int | None:
        """Task that sends or receives; None where the event does not fit its node."""
        if sync is not None:
            task = self.stands_for.get(sync, sync)
            return task if task in self.stream else None
        plan = self.plan
        second = e.uid in plan.second
        if not beside and node in self.stream:
            own = plan.of_node[node] if second or not plan.split else int(plan.logical_node[node])
            if own == stream:
                return node
        for x in plan.attached.get(node, ()):
            if (x if second or not plan.split else plan.logical(x)) == stream:
                return self.attached.get((node, x))
        return None
