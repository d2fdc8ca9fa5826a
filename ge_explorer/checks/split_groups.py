"""19.11, groups that must stay together, and two habits of GE after a split that look like defects (sync.md 22)."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.checks.schedule import CONTINUOUS, streams_of
from ge_explorer.checks.split import GROUP, HUGE, OLD_TASKS, SOURCE
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text


def groups_together(c: Context) -> Iterator[Issue]:
    """GX146: the nodes of one continuous group must share a physical stream (sync.md 11.5)."""
    physical, logical = c.s.physical, streams_of(c.s).node
    if physical is None:
        return
    groups: dict[tuple[str, int], dict[int, int]] = {}
    for i in c.plan.sequence:
        label = c.s.graph.node(i).attrs.get(CONTINUOUS)
        if label and logical[i] >= 0:
            groups.setdefault((str(label), int(logical[i])), {}).setdefault(int(physical.node[i]), i)
    for (label, whole), on in groups.items():
        if len(on) > 1:
            heads = [i for i, part in physical.heads.items() if part in on]
            loose = any(c.s.graph.node(i).attrs.get(CONTINUOUS) != label for i in heads)
            why = Text(
                ": the cut fell on a node without the label, such as a Send",
                "：切分点落在没有该标签的节点上，例如 Send",
            )
            quirk = why if loose else Text("")
            yield Issue(
                GROUP, "warning" if loose else "error",
                Text(f"continuous group {label} of stream {whole} is divided over {len(on)} physical streams{quirk.en}",
                     f"流 {whole} 的连续组 {label} 被分到 {len(on)} 条物理流{quirk.zh}"),
                (Ref("stream", whole), *(Ref("node", i) for i in on.values())),
                Text("Shorten the group, or raise gx.maxTasksPerStream.", "请缩短该组，或提高 gx.maxTasksPerStream。"), SOURCE,
            )  # fmt: skip


def split_quirks(c: Context) -> Iterator[Issue]:
    """GX147 and GX152: two habits of GE after a split that look like defects (sync.md 22)."""
    physical, s = c.s.physical, c.s
    if physical is None:
        return
    huge = [x for x in physical.huge if physical.parts.get(x)]
    if huge:
        yield Issue(
            HUGE, "warning",
            Text(f"huge stream {huge[0]} was split: GE sizes all parts by the huge limit, but creates only the first as huge",
                 f"超长流 {huge[0]} 仍被切分：GE 按超长流上限切分，但只把第一段创建为超长流"),
            tuple(Ref("stream", x) for x in huge), Text("Use several streams.", "请改用多流。"), "sync.md 22",
        )  # fmt: skip
    table = physical.task_table
    stale = [
        i
        for i, groups in (table.of.items() if table is not None and physical.parts else ())
        if CONTINUOUS in s.graph.node(i).attrs
        and not physical.attached.get(i)
        and any(g.stream != physical.node[i] for g in groups)
    ]
    if stale:
        yield Issue(
            OLD_TASKS, "warning",
            Text(
                f"{len(stale)} nodes of a continuous group moved, but their tasks keep the old stream (such as "
                f"{c.name(stale[0])}): GE rewrites only the tasks of the node that overflowed",
                f"连续组的 {len(stale)} 个节点已移动，但其任务仍记录旧流（如 {c.name(stale[0])}）：GE 只改写溢出节点的任务",
            ),
            tuple(Ref("node", i) for i in stale[:50]),
            Text("Keep the group shorter than a stream.", "请让该组短于一条流的容量。"), "sync.md 22",
        )  # fmt: skip
