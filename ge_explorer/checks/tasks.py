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
        self.last_of_part: dict[int, int] = {}
        self.attached: dict[tuple[int, int], int] = {}
        self.stands_for: dict[int, int] = {}
        self.waiting: dict[int, list[int]] = {}
        closed = plan.merged
        cuts = (e.uid for e in plan.events if e.cause == "split" and closed)
        self.chain_recvs = {r for u in cuts if (r := plan.recvs.get(u, -1)) >= 0 and plan.of_node[r] in closed}

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
        for into, rows in self.waiting.items():
            for i in rows:
                if i in self.chain_recvs and into in self.last:  # the stream ends with sends that were cut off
                    self.stands_for[i] = self.last[into]
                    continue
                self._row(i, of[i], column.get(of[i], of[i]))
        ends = {e.uid: both for e in plan.events if (both := self._event(e)) is not None}
        return Tasks(
            tuple(self.sequence), self.stream, self.owner, self.first, self.last, self.attached, ends
        )  # fmt: skip

    def _row(self, task: int, st: int, column: int) -> None:
        self.sequence.append(task)
        self.stream[task] = column
        self.first.setdefault(st, task)
        self.last[column] = self.last_of_part[st] = task

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
        # On its own part: where a holder sends, its bodies may have begun the next part before its Send is listed.
        before = self.last_of_part.get(st, self.last.get(column))
        rows = self.waiting.get(column, [])
        mine = [r for r in rows if self.plan.of_node[r] == st]
        if before is not None and all(r in self.chain_recvs for r in mine):
            self.stands_for[i] = before
            return
        for r in mine:
            rows.remove(r)
            self._row(r, st, column)
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
