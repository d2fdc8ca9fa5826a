"""19.1: no circle of waiting tasks inside one round, and nobody waits for a sender that does not run."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.branches import choices, is_exclusive
from ge_explorer.checks.context import Context
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text

HANGS = "GX128"
SOURCE = "sync.md 19.1"


def no_deadlock(c: Context) -> Iterator[Issue]:
    """GX111 for a circle. Activations that start the next round of a loop are no part of this round and are left out."""
    if c.deadlock is not None:
        yield c.deadlock


def senders_run(c: Context) -> Iterator[Issue]:
    """GX128 where a receiver runs although its sender's branch was not taken.

    The end of a body is exempt: a later receiver waits for whichever branch ran (GE marks one end node).
    """
    g = c.s.graph
    if not is_exclusive(g):
        return
    for e in c.plan.events:
        if not (c.node_ref(e.send) and c.node_ref(e.recv)):
            continue
        missed = choices(g, e.send) - choices(g, e.recv)
        if not missed or g.node(e.send).attrs.get("_subgraph_end_node") or e.cause in ("attached-end", "loop-end"):
            continue
        holder, scope = max(missed)
        a, b = c.name(e.send), c.name(e.recv)
        branch, name = g.scope(scope).name, c.name(holder)
        yield Issue(
            HANGS, "warning",
            Text(
                f"{b} waits for event {e.id} of {a}, which only runs in branch {branch} of {name}: another branch never sends it",
                f"{b} 等待 {a} 的事件 {e.id}，但 {a} 只在 {name} 的分支 {branch} 中运行：走其他分支时不会发送",
            ),
            (Ref("event", e.uid), Ref("node", e.recv), Ref("node", e.send)),
            Text(f"Let {b} wait for {name} instead.", f"让 {b} 改为等待 {name}。"), SOURCE,
        )  # fmt: skip
