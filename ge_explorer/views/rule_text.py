"""Sentences for rule keys: what a decision's or a removed event's rule says, and which source it comes from."""

from __future__ import annotations

from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.trace import Trace

CAUSES = {
    "data": Text("data: the receiver reads what the sender wrote", "数据：接收方读取发送方写出的张量"),
    "control": Text("control edge", "控制边"),
    "boundary": Text("edge of a subgraph: its first or last node runs on another stream", "子图边界：首尾节点在另一条流上"),
    "attached": Text("attached stream of the node", "节点的附属流"),
    "manual": Text("manual sync point of the plan (C3)", "方案中的手工同步点（C3）"),
    "split": Text("the stream was split here", "流在此处被拆分"),
    "active": Text("the stream is activated here", "流在此处被激活"),
}  # fmt: skip


def cause_text(key: str) -> Text:
    """Why an event exists; an unknown key is shown as it is."""
    return CAUSES.get(key, Text(key))


def rule_of(trace: Trace | None, step: str, key: str) -> Rule:
    """Rule ``key`` of the pass that ran as ``step`` (step or pass name); the bare key where no pass explains it."""
    for s in trace.steps if trace is not None else ():
        if (s.name == step or s.pass_.name == step) and key in s.pass_.rules:
            return s.pass_.rules[key]
    return Rule(Text(key))
