"""Why a node is on its route and its stream: the candidates with their scores, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from ge_explorer.passes.streams.dag.allocator import Cover
from ge_explorer.passes.streams.dag.main_stream import ALONE, ONLY_NODE
from ge_explorer.passes.streams.dag.merger import Placement, RepairMove
from ge_explorer.passes.streams.dag.mode import Strategy
from ge_explorer.passes.streams.dag.units import EPS, Candidate
from ge_explorer.text import Text

SHOWN = 3
"""Names listed before a text says how many more there are."""

TERMS: Mapping[str, Text] = MappingProxyType(
    {
        "events": Text("events", "事件"),
        "balance": Text("balance", "均衡"),
        "load": Text("load", "负载"),
        "overlap": Text("overlap", "并行冲突"),
        "time overlap": Text("time overlap", "时间重叠"),
        "time": Text("µs", "µs"),
        "new": Text("new stream", "新流"),
        "solo": Text("solo nodes", "独占节点"),
        "id": Text("the lower number", "较小编号"),
    }
)
TIES: Mapping[Strategy, tuple[str, ...]] = MappingProxyType(
    {
        "LoadBalance": ("events", "balance", "load", "id"),
        "MainStream": ("events", "overlap", "new", "solo"),
        "WeightedLoadBalance": ("time overlap", "events", "time", "id"),
    }
)
FORCED: Mapping[str, Text] = MappingProxyType(
    {ONLY_NODE: Text(ONLY_NODE, "该层只有它"), ALONE: Text(ALONE, "各层均独占")}
)
RULE: Mapping[Strategy, str] = MappingProxyType(
    {"LoadBalance": "load-balance", "MainStream": "main-stream", "WeightedLoadBalance": "weighted"}
)

Number = Callable[[int], int]
"""Stream of the merger -> id in the graph, -1 for one that repair moves emptied."""


def join(*parts: Text, sep: tuple[str, str] = (", ", "，")) -> Text:
    """Texts side by side in both languages."""
    return Text(sep[0].join([p.en for p in parts]), sep[1].join([p.zh or p.en for p in parts]))


def placement_text(strategy: Strategy, p: Placement, number: Number) -> Text:
    """``level 1: stream 3 scores 36 = 3·0 events + 4·7 balance + 1·8 load, new stream 4 scores 28 = …: lower wins``."""
    at = Text(f"level {p.level}: ", f"第 {p.level} 层：")
    if p.forced:
        return join(at, FORCED.get(p.forced, Text(p.forced)), sep=("", ""))
    ranked = sorted(p.candidates, key=lambda c: (c.stream == p.stream, c.total))
    end = Text(": the only candidate", "：唯一候选")
    if len(ranked) > 1:
        close = [c for c in ranked[:-1] if abs(c.total - ranked[-1].total) <= EPS]
        end = _tie(strategy, ranked[-1], close) if close else Text(": lower wins", "：低者胜")
    return join(at, join(*(score_text(c, number) for c in ranked)), end, sep=("", ""))


def score_text(c: Candidate, number: Number) -> Text:
    """One candidate with the sum its score is made of."""
    k = number(c.stream)
    total = f"{c.total:g} ="
    if c.is_new:
        en, zh = (f"new stream {k}", f"新流 {k}") if k >= 0 else ("a new stream", "新流")
    else:
        en, zh = (f"stream {k}", f"流 {k}") if k >= 0 else ("an emptied stream", "已清空的流")
    en, zh = f"{en} scores {total}", f"{zh} 得分 {total}"
    sign = ""
    for name, weight, value in c.parts:
        if not value and name in ("new", "solo"):
            continue
        product = f"{' −' if weight < 0 else sign} {abs(weight):g}·{value:g} "
        en, zh = en + product + TERMS[name].en, zh + product + TERMS[name].zh
        sign = " +"
    return Text(en, zh)


def _tie(strategy: Strategy, winner: Candidate, close: list[Candidate]) -> Text:
    for k, name in enumerate(TIES[strategy]):
        if any(abs(c.ties[k] - winner.ties[k]) > EPS for c in close):
            term = TERMS[name]
            if name == "id":
                return Text(f": equal scores, {term.en} wins", f"：同分，{term.zh}者胜")
            return Text(f": equal scores, fewer {term.en} wins", f"：同分，{term.zh}较少者胜")
    return Text(": equal scores, the first one wins", "：同分，先列者胜")


def repair_text(m: RepairMove, number: Number) -> Text:
    """A repair move with both scores."""
    there, here = score_text(m.there, number), score_text(m.here, number)
    return Text(f"moved afterwards: {here.en}, {there.en}", f"随后调整：{here.zh}，{there.zh}")


def route_texts(cover: Cover, name: Callable[[int], str]) -> Iterator[tuple[int, int, Text]]:
    """(position, route, text) wherever the path cover had a choice: where a route starts, and at every fork.

    Positions are those of the DAG; ``name`` gives a node's name.
    """
    rest = cover.residual
    index = {i: k for k, i in enumerate(rest.nodes)}
    follows = {a: b for route in cover.routes for a, b in pairwise(route)}
    before: dict[int, list[int]] = {}
    for a, b in rest.edges():
        before.setdefault(b, []).append(a)
    count = len(cover.routes)
    for r, route in enumerate(cover.routes):
        ends = " → ".join(name(i) for i in dict.fromkeys((route[0], route[-1])))
        start = Text(
            f"route {r + 1} of {count}, {len(route)} nodes ({ends}), starts here: ",
            f"路径 {r + 1}/{count}，{len(route)} 个节点（{ends}），从这里开始：",
        )
        earlier = before.get(route[0], [])
        why = Text("nothing runs before it", "之前没有节点")
        if earlier:
            taken = _some([f"{name(a)} → {name(follows[a])}" for a in earlier if a in follows])
            why = Text(f"what runs before it goes on elsewhere: {taken}", f"前面的节点都走向别处：{taken}")
        said = {route[0]: join(start, why, sep=("", ""))}
        for i in route:
            out = [rest.nodes[k] for k in rest.succ[index[i]]]
            nxt = follows.get(i, -1)
            others = [j for j in out if j != nxt]
            if not others:
                continue
            listed = _some([name(j) for j in others])
            if nxt < 0:
                text = Text(
                    f"route {r + 1} ends here: {listed} run behind other nodes",
                    f"路径 {r + 1} 到此为止：{listed} 接在别的节点后",
                )
            else:
                text = Text(
                    f"route {r + 1} goes on to {name(nxt)}, {listed} on other routes",
                    f"路径 {r + 1} 接 {name(nxt)}，{listed} 在别的路径上",
                )
            said[i] = join(said[i], text, sep=("; ", "；")) if i in said else text
        for i, text in said.items():
            yield i, r, text


def cover_text(cover: Cover) -> Text:
    """Why there are no fewer routes."""
    nodes, count = len(cover.residual.nodes), len(cover.routes)
    return Text(
        f"{count} routes = {nodes} nodes − {nodes - count} edges, the most that share no end",
        f"{count} 条路径 = {nodes} 个节点 − {nodes - count} 条互不共端的边（最大匹配）",
    )


def _some(names: list[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" (+{rest})" if rest > 0 else "")
