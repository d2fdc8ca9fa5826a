"""GE's memory planner step by step: pool before the step, what was offered and refused, the chosen block, and the nesting tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ge_explorer.ids import Ref
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.memory.ge.decisions import Decision, pool_before
from ge_explorer.memory.ge.result import GeBlock, GeMemoryResult
from ge_explorer.memory.ge.wording import WHY
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.problem import WORKSPACE
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import node_name, plain

POOL_SHOWN = 24
TREE_SHOWN = 60
ACTIONS: dict[str, Text] = {
    "take": Text("takes a block from the pool", "从池中取块"),
    "new": Text("gets a new block", "新建块"),
    "refer": Text("joins a block by its symbol", "按符号并入已有块"),
    "zero": Text("needs no block", "不需要块"),
    "release": Text("gives its block to the pool", "把块放回池中"),
    "nest": Text("is nested in a larger block", "嵌套进较大的块"),
    "split": Text("is split", "被拆分"),
}
LEVELS = {"nest": 2, "split": 2}


@dataclass(frozen=True, slots=True)
class BlockLine:
    """A block in a list. ``members``: names of the buffers on it, in order; ``why``: reason when it was refused."""

    uid: int
    size: int
    stream: int
    members: tuple[str, ...]
    chosen: bool = False
    why: Text | None = None


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A block in the nesting tree, ``depth`` 0 for the outer ones. ``head`` is its offset in bytes."""

    uid: int
    depth: int
    head: int
    size: int
    stream: int
    members: tuple[str, ...]
    current: bool = False


@dataclass(frozen=True, slots=True)
class GeStep:
    """Step ``index`` of ``total``. ``pool``: blocks on offer before it, latest release first (level 1 only); ``refused`` those with
    their reasons; ``block``/``other`` what it ends with. Sizes are those of the final blocks: a split can make them smaller.
    """

    index: int
    total: int
    level: int
    action: str
    subject: str
    node: int
    buffer: Ref | None
    why: Text
    pool: tuple[BlockLine, ...]
    pool_count: int
    offers: int
    block: BlockLine | None
    other: BlockLine | None
    tree: tuple[TreeLine, ...]
    tree_left: int
    sentence: Text


def buffers_of(problem: MemoryProblem, s: Snapshot) -> dict[tuple[int, str, int], int]:
    """(node, output|workspace, index) -> buffer id, as GE's planner names its buffers."""
    out: dict[tuple[int, str, int], int] = {}
    used: dict[int, int] = {}
    for b in problem.buffers:
        for t in b.tensors:
            tensor = s.graph.tensor(t)
            out[tensor.producer, "output", tensor.index] = b.id
        if b.kind == "workspace":
            node = b.producers[0]
            places = [w for w, nbytes in enumerate(s.graph.node(node).attrs[WORKSPACE]) if nbytes > 0]
            k = used.get(node, 0)
            used[node] = k + 1
            out[node, "workspace", places[k]] = b.id
    return out


def find(result: GeMemoryResult, ids: dict[tuple[int, str, int], int], buffer: int) -> list[int]:
    """Steps about a buffer: its own, and those of the blocks that hold it."""
    uids = {b.uid for b in result.blocks for m in b.members if ids.get((m.node, m.kind, m.index)) == buffer}
    return [
        k
        for k, d in enumerate(result.decisions)
        if ids.get((d.node, d.kind, d.index)) == buffer or d.block in uids or d.other in uids
    ]


def next_of(result: GeMemoryResult, step: int, actions: frozenset[str], direction: int = 1) -> int:
    """Next step of one of these kinds in a direction; the same step when there is none."""
    k = step + direction
    while 0 <= k < len(result.decisions):
        if result.decisions[k].action in actions:
            return k
        k += direction
    return step


def build(s: Snapshot, result: GeMemoryResult, step: int, ids: dict[tuple[int, str, int], int]) -> GeStep:
    """One step of the chosen candidate; ``step`` is clipped to the decisions there are."""
    decisions = result.decisions
    blocks = {b.uid: b for b in result.blocks}
    if not decisions:
        empty = Text("GE's planner had nothing to decide.", "GE 规划器没有需要决定的事项。")
        return GeStep(0, 0, 1, "", "", -1, None, Text(""), (), 0, 0, None, None, (), 0, empty)
    k = max(0, min(step, len(decisions) - 1))
    d = decisions[k]
    level = LEVELS.get(d.action, 1)
    offered = pool_before(decisions, k).get(d.pool, ()) if level == 1 else ()
    reasons = {uid: WHY.get(why, Text(why)) for why, uid in d.refused}
    pool = tuple(
        line(blocks, uid, uid == d.block and d.action == "take", reasons.get(uid)) for uid in reversed(offered)
    )
    tree = list(_tree(result, {d.block, d.other}))
    name = node_name(s, d.node, 60) + _part(d)
    what = ACTIONS.get(d.action, Text(d.action))
    why = WHY.get(d.why, Text(d.why))
    sentence = Text(
        f"Step {k + 1} of {len(decisions)}, level {level}: {name} {what.en}: {why.en}.",
        f"第 {k + 1} / {len(decisions)} 步，第 {level} 层：{name} {what.get('zh')}：{why.get('zh')}。",
    )
    found = ids.get((d.node, d.kind, d.index))
    return GeStep(
        k, len(decisions), level, d.action, name, d.node, None if found is None else buffer_ref(found), why, pool[:POOL_SHOWN],
        len(pool), d.offers, line(blocks, d.block, True), line(blocks, d.other) if d.other >= 0 else None,
        _window(tree), max(0, len(tree) - TREE_SHOWN), sentence,
    )  # fmt: skip


def _part(d: Decision) -> str:
    return {"output": f":{d.index}", "workspace": f" workspace {d.index}"}.get(d.kind, "")


def line(blocks: dict[int, GeBlock], uid: int, chosen: bool = False, why: Text | None = None) -> BlockLine:
    """A block by number; one that no longer exists in the result has size 0."""
    b = blocks.get(uid)
    if b is None:
        return BlockLine(uid, 0, -1, (), chosen, why)
    return BlockLine(uid, b.size, b.stream, members(b), chosen, why)


def members(b: GeBlock) -> tuple[str, ...]:
    """Printable names of the buffers on a block."""
    return tuple(plain(m.name + (f":{m.index}" if m.kind == "output" else f" ws{m.index}"), 40) for m in b.members)


def _tree(result: GeMemoryResult, current: set[int]) -> Iterator[TreeLine]:
    """Outer blocks by offset, each with what is nested in it below."""
    blocks = {b.uid: b for b in result.blocks}
    inside = result.nesting
    todo = [
        (b, 0)
        for b in sorted(result.blocks, key=lambda b: (b.memory_type, b.head, b.uid), reverse=True)
        if b.parent < 0
    ]
    while todo:
        b, depth = todo.pop()
        yield TreeLine(b.uid, depth, b.head, b.size, b.stream, members(b), b.uid in current)
        children = sorted((blocks[c] for c in inside.get(b.uid, ())), key=lambda c: (c.head, c.uid), reverse=True)
        todo.extend((c, depth + 1) for c in children)


def _window(tree: list[TreeLine]) -> tuple[TreeLine, ...]:
    """The part of the tree around the current block."""
    at = next((i for i, t in enumerate(tree) if t.current), 0)
    start = max(0, min(at - TREE_SHOWN // 2, len(tree) - TREE_SHOWN))
    return tuple(tree[start : start + TREE_SHOWN])
