"""The graphs of a comparison: both in the lane layout, with equal columns for equal nodes, the same lanes and common ids."""

from __future__ import annotations

from dataclasses import replace

from ge_explorer.graph.model import CONST_LIKE, SOURCE_LIKE, VARIABLE_LIKE
from ge_explorer.text import Text
from ge_explorer.trace.trace import Trace
from ge_explorer.views import graph
from ge_explorer.views.comparison import Comparison
from ge_explorer.views.drawn import drawn
from ge_explorer.views.layout import Links, rank_nodes
from ge_explorer.views.picture import Frame, GraphPicture, LayoutName

EVENT_SHIFT = 1 << 20
"""Added to the ids of events that only A has, so that selecting one selects nothing in B."""


def pictures(c: Comparison, layout: LayoutName = "lanes") -> tuple[GraphPicture, GraphPicture]:
    """Pictures of A and B, each of one state (step -1). Sizes are equal, so that both fit at one scale."""
    columns = _columns(c)
    back = {v: k for k, v in c.to_common.items()}
    keys = sorted({i for side in (c.a, c.b) if side.identities for i in side.identities.by_step[-1].values()})
    out = []
    for n, side in enumerate((c.a, c.b)):
        own = {back[k]: v for k, v in columns.items() if k in back} if n == 0 else columns
        p = graph.build(Trace(side.state, ()), -1, None, layout, side.identities, own, keys)
        out.append(_titled(p, "AB"[n], side.title))
    a, b = out
    a = _in_common(c, a)
    size = tuple(
        tuple(max(x, y) for x, y in zip(a.frames[0].size[k], b.frames[0].size[k], strict=True)) for k in (0, 1)
    )
    return _marked(_sized(a, size), c), _marked(_sized(b, size), c)


def _columns(c: Comparison) -> dict[int, int]:
    """Common id -> column: longest-path rank over the edges of both graphs together."""
    index: dict[int, int] = {}
    src, dst = [], []
    sources = SOURCE_LIKE | CONST_LIKE | VARIABLE_LIKE
    for n, side in enumerate((c.a, c.b)):
        g = drawn([side.state])[0].graph
        name = c.to_common if n == 0 else None
        for i in g.node_ids:
            index.setdefault(name[i] if name is not None else i, len(index))
        for x, y in g.dependencies:
            if g.node(x).op in sources or g.node(y).op in sources:
                continue
            src.append(index[name[x] if name is not None else x])
            dst.append(index[name[y] if name is not None else y])
    if not index:
        return {}
    rank = rank_nodes(Links.of(len(index), list(dict.fromkeys(zip(src, dst, strict=True)))))
    return {k: int(rank[v]) for k, v in index.items()}


def _titled(p: GraphPicture, letter: str, title: Text) -> GraphPicture:
    """What the picture says about itself: the side instead of "before the first step"."""
    only = p.steps[0]
    before = {"en": "Before the first step: ", "zh": "第一步之前："}
    said = {lang: only.alt.get(lang).removeprefix(before[lang]) for lang in ("en", "zh")}
    alt = Text(f"{letter}, {title.en}: {said['en']}", f"{letter}，{title.get('zh')}：{said['zh']}")
    return replace(p, steps=(replace(only, title=title, alt=alt),), alone=True)


def _in_common(c: Comparison, p: GraphPicture) -> GraphPicture:
    """Node and event ids of A as common ones. The order of the node table stays."""
    there = {(e.send, e.recv): e.uid for e in (c.b.state.sync.events if c.b.state.sync else ())}
    ids = tuple(c.to_common.get(i, c.bound + i) for i in p.ids)
    events = tuple(replace(e, uid=there.get((ids[e.src], ids[e.dst]), EVENT_SHIFT + e.uid)) for e in p.events)
    return replace(p, ids=ids, events=events, rules={})


def _sized(p: GraphPicture, size: object) -> GraphPicture:
    def grown(f: Frame) -> Frame:
        return replace(f, size=size)  # type: ignore[arg-type]  # pairs of floats, as in the frame

    return replace(p, frames=tuple(grown(f) for f in p.frames))


def _marked(p: GraphPicture, c: Comparison) -> GraphPicture:
    at = {i: k for k, i in enumerate(p.ids)}
    return replace(p, marks={at[i]: sign for i, sign in c.signs.items() if i in at})
