"""A run that stands still: the chain of tasks that wait for each other, as a coded finding."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.errors import GxError
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.simulator.program import NOT_RECORDED, Program
from ge_explorer.text import Text


class SimulationDeadlock(GxError):
    """No task can start any more. ``issue`` is the coded finding, ``chain`` the blocked tasks, each waiting for the next.

    ``cycle`` True: the last task of the chain waits for the first; False: it waits for an event that nobody records.
    """

    exit_code = 1

    def __init__(self, issue: Issue, chain: tuple[int, ...], cycle: bool) -> None:
        super().__init__(issue.message.en, todo=issue.fix.en if issue.fix else "")
        self.issue, self.chain, self.cycle = issue, chain, cycle


def deadlock(program: Program, end: Sequence[int]) -> SimulationDeadlock:
    """The error for a run that stands still; ``end`` is -1 for tasks that did not run."""
    order = program.by_stream
    head = {s: sum(end[i] >= 0 for i in queue) for s, queue in order.items()}
    tasks, ids, sender = program.tasks, program.event_ids, program.senders()

    def open_wait(i: int) -> int | None:
        """Key of the first event task ``i`` still waits for."""
        return next((k for k in tasks[i].waits if sender[k] == NOT_RECORDED or end[sender[k]] < 0), None)

    def blocked_on(i: int) -> int:
        """Task that has to run before task ``i``, NOT_RECORDED where there is none."""
        starter = program.starts.get(tasks[i].stream)
        if starter is not None and not head[tasks[i].stream] and end[starter] < 0:
            return starter
        key = open_wait(i)
        return NOT_RECORDED if key is None else sender[key]

    stuck = [q[head[s]] for s, q in order.items() if head[s] < len(q)]
    chain: list[int] = []
    at = stuck[0]
    cycle = True
    while at not in chain:
        chain.append(at)
        on = blocked_on(at)
        if on == NOT_RECORDED:
            cycle = False
            break
        stream = tasks[on].stream
        at = order[stream][head[stream]]
    if cycle:
        chain = chain[chain.index(at) :]
    parts_en, parts_zh, refs = [], [], []
    for i in chain:
        t = tasks[i]
        key = open_wait(i)
        name = f"event {ids[key]}" if key is not None and ids[key] >= 0 else "a dependency"
        name_zh = f"事件 {ids[key]}" if key is not None and ids[key] >= 0 else "依赖"
        parts_en.append(f"stream {t.stream} stands at node {t.node} waiting for {name}")
        parts_zh.append(f"流 {t.stream} 停在节点 {t.node}，等待{name_zh}")
        refs += [Ref("node", t.node), Ref("stream", t.stream)]
        if key is not None and ids[key] >= 0:
            refs.append(Ref("event", ids[key]))
    tail = ("which leads back to the first", "又回到第一个") if cycle else ("which nobody records", "但没有任务记录它")
    issue = Issue(
        "GX151",
        "error",
        Text(f"deadlock: {'; '.join(parts_en)}, {tail[0]}", f"死锁：{'；'.join(parts_zh)}，{tail[1]}"),
        tuple(dict.fromkeys(refs)),
        Text("Swap the waits or remove one of the events of the chain.", "交换等待的次序，或去掉链上的一个事件。")
        if cycle
        else Text(
            "Record the event before it is waited for, or drop the wait.", "在等待之前记录该事件，或去掉该等待。"
        ),
        source="runtime: in-order streams",
    )
    return SimulationDeadlock(issue, tuple(chain), cycle)
