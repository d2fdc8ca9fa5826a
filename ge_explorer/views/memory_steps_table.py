"""GE's planner at one step as tables: what happened, the pool before it, the blocks it concerns, the nesting tree."""

from __future__ import annotations

from ge_explorer.ids import node
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import Mark, number, size
from ge_explorer.views.memory_steps import ACTIONS, BlockLine, GeStep, TreeLine
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, thing, words

NAMES = 4
"""Buffers named on a block; the rest is a count."""
_LEVEL = Text("step, level {n}", "步，第 {n} 层")
_SIZE = Column(Text("final size", "最终大小"), "right", True)
_CHOSEN = Text("chosen", "选中")


def picture(g: GeStep, marks: dict[int, Mark]) -> TablePicture:
    """Tables of a step; ``marks``: GE stream id -> mark."""
    if not g.total:
        return TablePicture("memory-steps", (), (), g.sentence, (g.sentence,))
    what = ACTIONS.get(g.action, Text(g.action))
    figures = (
        Figure(
            Text(f"{g.index + 1} / {number(g.total)}"),
            _LEVEL.format(n=g.level),
            Origin.GE_RULE,
        ),
        Figure(Text(g.subject), what),
        Figure(what_size(g), g.why, Origin.GE_RULE),
    )
    tables = [_blocks(g, marks)]
    if g.level == 1:
        tables.append(_pool(g, marks))
    tables.append(_tree(g, marks))
    return TablePicture("memory-steps", figures, tuple(tables), g.sentence)


def what_size(g: GeStep) -> Text:
    """Size of the block the step ends with."""
    return Text(size(g.block.size)) if g.block is not None and g.block.size else Text("–")


def _names(members: tuple[str, ...]) -> Part:
    more = len(members) - NAMES
    tail = f" +{more}" if more > 0 else ""
    return words(", ".join(members[:NAMES]) + tail)


def _block(b: BlockLine, marks: dict[int, Mark]) -> tuple[Part, ...]:
    return (Part(Text(f"block {b.uid}", f"块 {b.uid}"), mark=marks.get(b.stream), tone="strong" if b.chosen else ""),)


def _blocks(g: GeStep, marks: dict[int, Mark]) -> Table:
    rows = []
    second = Text("larger one", "较大的块") if g.action == "nest" else Text("new part", "新部分")
    roles = ((_CHOSEN, g.block), (second, g.other))
    for word, b in roles:
        if b is not None:
            subject = thing(g.subject, node(g.node)) if word is _CHOSEN else words("")
            rows.append(Row(((Part(word), subject), _block(b, marks), (words(size(b.size)),), (_names(b.members),))))
    columns = (
        Column(Text("step", "步骤")), Column(Text("block", "块"), "left", True), _SIZE,
        Column(Text("buffers on it", "其上的缓冲区")),
    )  # fmt: skip
    return Table(Text("blocks", "块"), columns, tuple(rows))


def _pool(g: GeStep, marks: dict[int, Mark]) -> Table:
    rows = []
    for b in g.pool:
        fate = words("chosen", "选中", tone="strong") if b.chosen else Part(b.why, tone="muted") if b.why else words("")
        rows.append(Row((_block(b, marks), (words(size(b.size)),), (fate,), (_names(b.members),))))
    columns = (
        Column(Text("pool before, latest release first", "之前的池（后释放者在前）")), _SIZE,
        Column(Text("offer", "候选结果")), Column(Text("buffers on it", "其上的缓冲区")),
    )  # fmt: skip
    empty = Text("The pool of this stream is empty before this step.", "此步之前本流的池为空。")
    return Table(Text("pool before", "之前的池"), columns, tuple(rows), g.pool_count - len(g.pool), empty)


def _tree(g: GeStep, marks: dict[int, Mark]) -> Table:
    rows = []
    for t in g.tree:
        name = Part(_indented(t), mark=marks.get(t.stream), tone="strong" if t.current else "")
        rows.append(Row(((name,), (words(number(t.head)),), (words(size(t.size)),), (_names(t.members),))))
    columns = (
        Column(Text("nesting at the end", "最终嵌套"), "left", True), Column(Text("offset", "偏移"), "right", True),
        Column(Text("size", "大小"), "right", True), Column(Text("buffers on it", "其上的缓冲区")),
    )  # fmt: skip
    return Table(Text("nesting", "嵌套"), columns, tuple(rows), g.tree_left)


def _indented(t: TreeLine) -> Text:
    lead = "\u2003" * t.depth + ("└ " if t.depth else "")
    return Text(f"{lead}block {t.uid}", f"{lead}块 {t.uid}")
