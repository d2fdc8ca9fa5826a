"""Does the plan that a GE log states hold together? Judged from its lines alone, since a log holds no graph.

On one stream a begin and an end say everything: bytes may pass on when the end lies before the next begin. Between streams a log
does not say what orders the tasks (its topological ids are comparable on one stream only, memory.md A2), so such pairs are counted
and left open; the dump of the same build decides them. References share their block by design and are left out, as are holders of
subgraphs and tensors of different batch gears.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ge_explorer.issue import Issue
from ge_explorer.loaders.ge_recorded import BufferLine
from ge_explorer.loaders.plog_memory import UNRELEASED
from ge_explorer.memory.sizes import aligned
from ge_explorer.memory.verify import MAX_RACES, RACE
from ge_explorer.text import Text

OPEN = "GX208"
SOURCE = "memory.md A2, A20"
HOLDERS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "If", "Case", "While"})


def verify_log(lines: Sequence[BufferLine]) -> tuple[Issue, ...]:
    """Issues of the memory lines of a log: GX201 for bytes in use twice on one stream, one note GX208 for pairs on several."""
    spaces: dict[tuple[str, int], list[BufferLine]] = defaultdict(list)
    for b in lines:
        if b.size > 0 and b.begin >= 0 and not b.is_ref and b.op not in HOLDERS:
            spaces[b.graph, b.memory_type].append(b)
    out: list[Issue] = []
    races = undecided = 0
    for (graph, _), members in spaces.items():
        for x, y in _sharing(members):
            if x.stream != y.stream:
                undecided += 1
                continue
            first, second = (x, y) if x.begin <= y.begin else (y, x)
            if _own_end(first) < second.begin:
                continue
            races += 1
            if races <= MAX_RACES:
                out.append(_race(graph, first, second))
    if races > MAX_RACES:
        more = races - MAX_RACES
        out.append(
            Issue(RACE, "error", Text(f"{more} more races of this kind", f"另有 {more} 处同类竞争"), source=SOURCE)
        )
    if undecided:
        out.append(
            Issue(
                OPEN, "note",
                Text(
                    f"{undecided} pairs of tensors on different streams share bytes; a log does not say what orders them",
                    f"{undecided} 对位于不同流的张量共用字节；日志未说明其先后顺序",
                ),
                (),
                Text("Load the ge_proto dump of the same build to check them.", "请加载同一次编译的 ge_proto 转储来检查。"), SOURCE,
            )
        )  # fmt: skip
    return tuple(out)


def _bytes(b: BufferLine) -> int:
    """What the tensor itself takes: a block may be larger because others use it too."""
    return min(aligned(b.real_size) or b.size, b.size)


def _own_end(b: BufferLine) -> int:
    """Last id on its own stream, which GE prints last."""
    end = b.ends[-1][1] if b.ends else b.end
    return UNRELEASED if end >= UNRELEASED else end


def _sharing(members: Sequence[BufferLine]) -> Iterator[tuple[BufferLine, BufferLine]]:
    """Pairs with a common byte that can be alive in one run, by offset."""
    active: list[BufferLine] = []
    for b in sorted(members, key=lambda b: (b.offset, b.line)):
        active = [a for a in active if a.offset + _bytes(a) > b.offset]
        for a in active:
            if not (a.batch and b.batch and a.batch != b.batch):
                yield a, b
        active.append(b)


def _race(graph: str, first: BufferLine, second: BufferLine) -> Issue:
    begin = max(first.offset, second.offset)
    end = min(first.offset + _bytes(first), second.offset + _bytes(second))
    until = "the end" if _own_end(first) >= UNRELEASED else str(_own_end(first))
    until_zh = "最后" if _own_end(first) >= UNRELEASED else str(_own_end(first))
    return Issue(
        RACE, "error",
        Text(
            f"{graph}: {first.name} and {second.name} share bytes {begin}..{end} on stream {first.stream}, but the first is in use "
            f"to {until} and the second from {second.begin} (lines {first.line} and {second.line})",
            f"{graph}：{first.name} 与 {second.name} 在流 {first.stream} 上共用字节 {begin}..{end}，但前者用到 {until_zh}，"
            f"后者从 {second.begin} 开始（第 {first.line} 行与第 {second.line} 行）",
        ),
        (), Text("Give the tensors separate bytes.", "请使用不同的字节。"), SOURCE,
    )  # fmt: skip
