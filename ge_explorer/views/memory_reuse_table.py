"""Reuse reports in words: one buffer's story, and the verdict about a pair with its proof."""

from __future__ import annotations

from ge_explorer.ids import Ref, node
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.ids import event as event_ref
from ge_explorer.memory.ge.decisions import Decision
from ge_explorer.memory.ge.wording import WHY
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import node_name, number, size
from ge_explorer.views.memory_life import Lives
from ge_explorer.views.memory_reuse import BufferReport, Hop, PairReport
from ge_explorer.views.memory_steps import ACTIONS
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, thing, words

LISTED = 8
HELP = Text(
    "Select a buffer (map, lifetimes, shares) to see when its bytes are free and who takes them. Pin it, then select another "
    "one: the verdict says whether the two may share, and why.",
    "选择一个缓冲区（内存图、生命期、占比）可查看其字节何时空闲、由谁接用。固定它再选另一个：结论会说明两者能否共用及其原因。",
)
_WHY = {
    "stream": Text("issue order on the stream", "流内下发次序"),
    "data": Text("data dependency", "数据依赖"),
    "control": Text("control dependency", "控制依赖"),
    "border": Text("subgraph border", "子图边界"),
    "holder": Text("subgraph holder", "子图持有者"),
    "event": Text("event", "事件"),
}


def _buffer(v: Lives, i: int) -> Part:
    return thing(v.names[i], buffer_ref(v.buffer(i).id), v.mark(i))


def _node(v: Lives, i: int) -> Part:
    return thing(node_name(v.snapshot, i, 60), node(i))


def _stream(v: Lives, stream: int) -> Part:
    m = v.marks.get(stream)
    return words(f"stream {stream}", f"流 {stream}") if m is None else Part(Text(""), mark=m)


def buffer_picture(v: Lives, r: BufferReport, ge: tuple[tuple[int, Decision], ...] | None = None) -> TablePicture:
    """One buffer. ``ge``: (step, decision) of GE's planner about it; None when GE's planner has not been asked."""
    b = v.buffer(r.buffer)
    figures = (
        Figure(Text(size(b.size)), Text(f"{v.names[r.buffer]} @ {number(int(v.offset[r.buffer]))} B"), Origin.MODEL),
        Figure(Text(number(r.may_follow)), Text("buffers may take its bytes", "个缓冲区可接用其字节"), Origin.MODEL),
        Figure(Text(number(r.may_precede)), Text("may leave theirs to it", "个可把字节让给它"), Origin.MODEL),
        Figure(Text(number(r.conflicts)), Text("must keep apart", "个必须分开"), Origin.MODEL),
    )
    tables = [_uses(v, r), _neighbours(v, r)]
    if ge is not None:
        tables.append(_decisions(ge))
    alt = Text(
        f"{v.names[r.buffer]}, {size(b.size)}: {r.may_follow} buffers may follow on its bytes, {r.conflicts} must keep apart.",
        f"{v.names[r.buffer]}，{size(b.size)}：{r.may_follow} 个缓冲区可接用其字节，{r.conflicts} 个必须分开。",
    )
    return TablePicture("memory-reuse", figures, tuple(tables), alt)


def _uses(v: Lives, r: BufferReport) -> Table:
    rows = []
    never = words(
        "never: nothing there is ordered after its last read", "永不：该流上没有任务必在最后一次读取之后", tone="strong"
    )
    for u in sorted(r.uses, key=lambda u: v.marks[u.stream].index if u.stream in v.marks else 0):
        last = _node(v, u.last) if u.last >= 0 else words("not used here", "此流不使用", tone="muted")
        rows.append(Row(((_stream(v, u.stream),), (last,), (_node(v, u.free) if u.free >= 0 else never,))))
    columns = (
        Column(Text("stream", "流"), "left", True), Column(Text("last use", "最后使用")),
        Column(Text("first task that may take the bytes", "首个可接用字节的任务")),
    )  # fmt: skip
    return Table(Text("streams", "流"), columns, tuple(rows))


def _neighbours(v: Lives, r: BufferReport) -> Table:
    rows = []
    for word, found in ((Text("took from", "取自"), r.took), (Text("passed on to", "交给"), r.gave)):
        for other, n in found[:LISTED]:
            ref = buffer_ref(v.buffer(other).id)
            rows.append(Row(((Part(word),), (_buffer(v, other),), (words(size(n)),)), ref, (ref,)))
    empty = Text("Nobody had its bytes before and nobody takes them after it.", "其字节此前无人使用，之后也无人接用。")
    columns = (
        Column(Text("in this plan", "本规划中"), "left", True), Column(Text("buffer", "缓冲区")),
        Column(Text("bytes", "字节"), "right", True),
    )  # fmt: skip
    left = max(0, len(r.took) - LISTED) + max(0, len(r.gave) - LISTED)
    return Table(Text("in this plan", "本规划中"), columns, tuple(rows), left, empty)


def _decisions(ge: tuple[tuple[int, Decision], ...]) -> Table:
    rows = []
    for k, d in ge[:LISTED]:
        refused = f", {d.offers} offers refused" if d.offers else ""
        refused_zh = f"，拒绝了 {d.offers} 个候选" if d.offers else ""
        why = WHY.get(d.why, Text(d.why))
        rows.append(Row((
            (words(number(k + 1)),), (Part(ACTIONS.get(d.action, Text(d.action))),),
            (Part(Text(why.en + refused, why.get("zh") + refused_zh), origin=Origin.GE_RULE),),
        )))  # fmt: skip
    columns = (
        Column(Text("GE step", "GE 步骤"), "right", True), Column(Text("what", "动作"), "left", True), Column(Text("why", "原因")),
    )  # fmt: skip
    empty = Text("GE's planner gives it no block.", "GE 规划器未给它分配块。")
    return Table(Text("GE's decisions", "GE 的决策"), columns, tuple(rows), max(0, len(ge) - LISTED), empty)


# ---------------------------------------------------------------- pairs
def verdict(v: Lives, r: PairReport) -> Text:
    """The verdict about a pair in one sentence."""
    x, y = v.names[r.x], v.names[r.y]
    if r.verdict == "same":
        return Text("The same buffer.", "同一个缓冲区。")
    if r.verdict == "excluded":
        return Text(
            f"{x} and {y} are ordered, but one of them takes no part in reuse (its operator type or no_reuse_mem_flag).",
            f"{x} 与 {y} 有先后顺序，但其中之一不参与复用（算子类型或 no_reuse_mem_flag）。",
        )
    if r.verdict == "unordered":
        return _unordered(v, r, x, y)
    first, second = (x, y) if r.verdict == "first-then-second" else (y, x)
    return Text(
        f"May share: every task that touches {first} is done before {second} is first written.",
        f"可以共用：使用 {first} 的所有任务都在首次写入 {second} 之前完成。",
    )


def _unordered(v: Lives, r: PairReport, x: str, y: str) -> Text:
    if r.missing is None:
        return Text(f"{x} and {y} may not share.", f"{x} 与 {y} 不能共用。")
    user, writer = (node_name(v.snapshot, i, 60) for i in r.missing)
    if r.missing[0] == r.missing[1]:
        return Text(
            f"May not share: {user} needs both at once, it uses the one while it writes the other.",
            f"不能共用：{user} 同时需要两者，使用其一时正写入另一个。",
        )
    if not r.curable:
        return Text(
            f"May not share: {writer} writes the one before {user} uses the other for the last time, so both are alive at once.",
            f"不能共用：{writer} 写入其一早于 {user} 最后一次使用另一个，两者同时存活。",
        )
    return Text(
        f"May not share: nothing orders {user} before {writer}. An event from {user} to {writer} would.",
        f"不能共用：没有任何机制保证 {user} 先于 {writer}。从 {user} 到 {writer} 加一个事件即可。",
    )


def pair_picture(v: Lives, r: PairReport) -> TablePicture:
    """Verdict, then the proof as paths."""
    said = verdict(v, r)
    yes = r.verdict in ("first-then-second", "second-then-first")
    answer = Text("may share", "可以共用") if yes else Text("may not share", "不能共用")
    shared = Text("shared in this plan", "本规划中共用")
    if r.unsafe:
        shared = Text("shared in this plan although unsafe: a race", "本规划中共用但不安全：竞争")
    figures = (
        Figure(answer, Text(f"{v.names[r.x]} · {v.names[r.y]}"), Origin.MODEL, tone="error" if r.unsafe else ""),
        Figure(Text(size(r.shared)), shared, Origin.MODEL, tone="error" if r.unsafe else ""),
        Figure(
            Text(size(min(r.sizes))),
            Text("the smaller one, the most they could share", "较小者，即最多可共用"),
            Origin.MODEL,
        ),
    )
    rows = []
    for w in r.witnesses:
        for k, h in enumerate(w.hops):
            cells = (
                (_node(v, w.user) if k == 0 else words(""),), (_hop(v, h),), (_node(v, h.last),), _carried(h),
            )  # fmt: skip
            refs: tuple[Ref, ...] = (event_ref(h.event.uid),) if h.event is not None else ()
            rows.append(Row(cells, None, refs))
    columns = (
        Column(Text("last use", "最后使用")), Column(Text("then", "经由"), "left", True), Column(Text("reaches", "到达")),
        Column(Text("carried by", "承载"), "left", True),
    )  # fmt: skip
    empty = Text("There is no path.", "没有路径。")
    tables = (Table(Text("proof", "证明"), columns, tuple(rows), 0, empty),) if rows or not yes else ()
    return TablePicture("memory-pair", figures, tables, said, (said,))


def _hop(v: Lives, h: Hop) -> Part:
    word = _WHY.get(h.why, Text(h.why))
    stream = v.snapshot.streams
    mark = v.marks.get(int(stream.node[h.last])) if stream is not None else None
    return Part(word, mark=mark)


def _carried(h: Hop) -> tuple[Part, ...]:
    if h.event is not None:
        return (thing(f"event {h.event.id}", event_ref(h.event.uid)),)
    if h.why == "stream":
        return (words("–", tone="muted"),)
    return (words("event comes later", "事件稍后插入", tone="muted"),)
