"""Peak explainer: who holds the bytes at one position, by buffer, op type, stream, layer, scope and kind.

Every split sums to the same bytes, and its whole percentages to 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ge_explorer.ids import Ref
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.text import Text
from ge_explorer.views.marks import NO_MARK, Mark, plain, whole_percent
from ge_explorer.views.memory_life import Lives

SHARES = 8


@dataclass(frozen=True, slots=True)
class Share:
    """Part of the live bytes at the peak. ``percent`` are whole numbers that add up to 100 over a list of shares."""

    name: Text
    mark: Mark
    nbytes: int
    percent: int
    ref: Ref | None = None


@dataclass(frozen=True, slots=True)
class PeakExplained:
    """Bytes taken at ``at``: ``in_use`` between first write and last read, ``waiting`` after it. All splits cover both."""

    at: int
    total: int
    in_use: int
    waiting: int
    buffers: tuple[Share, ...]
    by_op: tuple[Share, ...]
    by_stream: tuple[Share, ...]
    by_layer: tuple[Share, ...]
    by_scope: tuple[Share, ...]
    by_kind: tuple[Share, ...]
    by_use: tuple[Share, ...]


def taken_at(v: Lives, at: int) -> list[int]:
    """Buffers that hold bytes at a position."""
    return np.flatnonzero((v.begin <= at) & (at < np.maximum(v.free, v.begin + 1))).tolist()


def explain(v: Lives, at: int, limit: int = SHARES) -> PeakExplained:
    """Who holds bytes at ``at``; at most ``limit`` named shares a split, the rest is one line."""
    ids = taken_at(v, at)
    total = int(v.size[ids].sum())
    in_use = int(v.size[[i for i in ids if at < max(int(v.last[i]), int(v.begin[i]) + 1)]].sum())

    def split(key: Callable[[int], tuple[Text, Mark]]) -> tuple[Share, ...]:
        return _grouped(v, ids, key, limit)

    def stream(i: int) -> tuple[Text, Mark]:
        m = v.mark(i)
        return (Text(m.letter) if m.letter else m.role), m

    def use(i: int) -> tuple[Text, Mark]:
        return (_IN_USE if at < max(int(v.last[i]), int(v.begin[i]) + 1) else _WAITING), NO_MARK

    return PeakExplained(
        at, total, in_use, total - in_use, _largest(v, ids, limit), split(lambda i: (Text(_op(v, i)), NO_MARK)), split(stream),
        split(lambda i: (Text(layer(v.names[i])), NO_MARK)), split(lambda i: (_scope(v, i), NO_MARK)),
        split(lambda i: (_KINDS.get(v.buffer(i).kind, Text(v.buffer(i).kind)), NO_MARK)), split(use),
    )  # fmt: skip


_IN_USE = Text("in use", "使用中")
_WAITING = Text("read for the last time, not yet reusable", "已最后一次读取，尚不可复用")
_KINDS = {"feature": Text("feature map", "特征图"), "workspace": Text("workspace", "工作区")}


def _largest(v: Lives, ids: list[int], limit: int) -> tuple[Share, ...]:
    ranked = sorted(ids, key=lambda i: (-int(v.size[i]), int(v.begin[i]), i))
    head, tail = ranked[:limit], ranked[limit:]
    parts = [int(v.size[i]) for i in head] + ([int(v.size[tail].sum())] if tail else [])
    percent = whole_percent(parts)
    out = [
        Share(Text(v.names[i]), v.mark(i), int(v.size[i]), p, buffer_ref(v.buffer(i).id))
        for i, p in zip(head, percent, strict=False)
    ]
    if tail:
        out.append(Share(Text(f"{len(tail)} smaller", f"其余 {len(tail)} 个"), NO_MARK, parts[-1], percent[-1]))
    return tuple(out)


def _grouped(v: Lives, ids: list[int], key: Callable[[int], tuple[Text, Mark]], limit: int) -> tuple[Share, ...]:
    total: Counter[Text] = Counter()
    marks: dict[Text, Mark] = {}
    for i in ids:
        name, mark = key(i)
        total[name] += int(v.size[i])
        marks[name] = mark
    ranked = total.most_common()
    head, rest = ranked[:limit], ranked[limit:]
    parts = [n for _, n in head] + ([sum(n for _, n in rest)] if rest else [])
    percent = whole_percent(parts)
    out = [Share(k, marks[k], n, p) for (k, n), p in zip(head, percent, strict=False)]
    if rest:
        out.append(Share(Text(f"{len(rest)} more", f"其余 {len(rest)} 类"), NO_MARK, parts[-1], percent[-1]))
    return tuple(out)


def _first(v: Lives, i: int) -> int:
    """First writer of a buffer that still exists; -1 when it does not."""
    nodes, first = v.snapshot.graph.nodes, (*v.buffer(i).accessors, -1)[0]
    return first if 0 <= first < len(nodes) and nodes[first] is not None else -1


def _op(v: Lives, i: int) -> str:
    first = _first(v, i)
    return plain(v.snapshot.graph.node(first).op, 40) if first >= 0 else "(none)"


def _scope(v: Lives, i: int) -> Text:
    first = _first(v, i)
    scope = v.snapshot.graph.node(first).scope if first >= 0 else 0
    if scope == 0:
        return Text("root graph", "根图")
    return Text(plain(v.snapshot.graph.scope(scope).name, 40))


def layer(name: str) -> str:
    """Leading name parts (``layers.3`` of ``layers.3.mlp.up:0``): what the exporter called the layer."""
    parts = [p for p in name.split(":")[0].replace("/", ".").split(".") if p]
    if len(parts) < 2:
        return "(top)"
    for k, p in enumerate(parts[:4]):
        if p.isdigit():
            return ".".join(parts[: k + 1])
    return parts[0]
