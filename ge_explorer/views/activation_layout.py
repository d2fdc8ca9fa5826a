"""Places of the activation graph: columns model → streams → activators → streams …, edges as corner points.

A stream stands one column after the activator that starts it first; a loop's edges run back over the top.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.views.activation_graph import ActivationPicture

MODEL_W, STREAM_W, NODE_W, GAP, ROW, BOX_H, TOP = 64, 130, 124, 31, 46, 34, 6
DRAWN = 60
"""Streams drawn; the list below the picture names all."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Left, top and width of a box; ``kind`` model, stream, activator or more (folded heads); ``index`` into the picture."""

    kind: str
    index: int
    x: int
    y: int
    w: int


@dataclass(frozen=True, slots=True)
class Wire:
    """Edge from spot to spot, corner points; ``back``: a loop that starts streams again."""

    src: int
    dst: int
    points: tuple[tuple[int, int], ...]
    back: bool = False


@dataclass(frozen=True, slots=True)
class ActivationLayout:
    """Spots, wires and size in px. ``folded`` head streams stand behind one box because they start nothing."""

    spots: tuple[Spot, ...]
    wires: tuple[Wire, ...]
    width: int
    height: int
    folded: tuple[int, ...] = ()


def place(p: ActivationPicture, drawn: int = DRAWN) -> ActivationLayout:
    """Places of everything drawn. Cost: linear in boxes and edges."""
    active = {a.home for a in p.activators} | {t for a in p.activators for t in a.targets}
    quiet = [k for k in p.heads if k not in active]
    folded = tuple(quiet[6:]) if len(quiet) > 8 else ()
    shown = [k for k in range(len(p.boxes)) if k not in set(folded)][:drawn]
    kept = set(shown)
    depth = _depths(p, kept)
    columns: dict[int, list[tuple[str, int]]] = {}
    for k in shown:
        columns.setdefault(2 * depth[k], []).append(("stream", k))
    if folded:
        columns.setdefault(0, []).append(("more", 0))
    for m, a in enumerate(p.activators):
        if any(t in kept for t in a.targets):
            columns.setdefault(2 * depth.get(a.home, 0) + 1, []).append(("activator", m))
    loops = any(a.kind == "loop" for a in p.activators)
    top = TOP + (18 if loops else 0)
    x = MODEL_W + GAP
    rows = max((len(c) for c in columns.values()), default=1)
    spots = [Spot("model", 0, 0, top + (min(rows, 3) - 1) * ROW // 2, MODEL_W)]
    at: dict[tuple[str, int], int] = {}
    for c in sorted(columns):
        w = NODE_W if c % 2 else STREAM_W
        for r, (kind, k) in enumerate(_ordered(p, columns[c], at, spots)):
            at[kind, k] = len(spots)
            spots.append(Spot(kind, k, x, top + r * ROW, w))
        x += w + GAP
    return ActivationLayout(
        tuple(spots), tuple(_wires(p, spots, at)), max(x - GAP, MODEL_W), top + rows * ROW, folded,
    )  # fmt: skip


def _depths(p: ActivationPicture, kept: set[int]) -> dict[int, int]:
    """Box -> number of starts before it. Those nothing leads to (their starter is not drawn) stand one after the heads."""
    depth = {k: 0 for k in kept if p.boxes[k].with_model}
    frontier = list(depth)
    by_home: dict[int, list[int]] = {}
    for m, a in enumerate(p.activators):
        by_home.setdefault(a.home, []).append(m)
    homeless = [t for m in by_home.get(-1, ()) for t in p.activators[m].targets if t in kept and t not in depth]
    for t in homeless:
        depth[t] = 1
    frontier += homeless
    while frontier:
        after = []
        for k in frontier:
            for m in by_home.get(k, ()):
                for t in p.activators[m].targets:
                    if t in kept and t not in depth:
                        depth[t] = depth[k] + 1
                        after.append(t)
        frontier = after
    return {k: depth.get(k, 1) for k in kept}


def _ordered(
    p: ActivationPicture, column: list[tuple[str, int]], at: dict[tuple[str, int], int], spots: list[Spot]
) -> list[tuple[str, int]]:
    """Rows near what leads to them."""

    def key(item: tuple[str, int]) -> tuple[float, int, int]:
        kind, k = item
        if kind == "more":
            return (float("inf"), 0, 0)
        before = (
            [("stream", p.activators[k].home)]
            if kind == "activator"
            else [("activator", m) for m in p.boxes[k].starters]
        )
        ys = [spots[at[b]].y for b in before if b in at]
        letter = p.boxes[k].mark.index if kind == "stream" else 0
        return (sum(ys) / len(ys) if ys else -1.0, letter, k)

    return sorted(column, key=key)


def _wires(p: ActivationPicture, spots: list[Spot], at: dict[tuple[str, int], int]) -> list[Wire]:
    out = []
    for n, spot in enumerate(spots):
        if spot.kind == "more" or (spot.kind == "stream" and p.boxes[spot.index].with_model):
            out.append(_wire(spots, 0, n))
        elif spot.kind == "activator":
            a = p.activators[spot.index]
            if ("stream", a.home) in at:
                out.append(_wire(spots, at["stream", a.home], n))
            out += [_wire(spots, n, at["stream", t]) for t in a.targets if ("stream", t) in at]
    return out


def _wire(spots: list[Spot], a: int, b: int) -> Wire:
    src, dst = spots[a], spots[b]
    x0, y0, x1, y1 = src.x + src.w, src.y + BOX_H // 2, dst.x, dst.y + BOX_H // 2
    if x1 > x0:
        mid = x1 - GAP // 2
        return Wire(a, b, ((x0, y0), (mid, y0), (mid, y1), (x1, y1)) if y0 != y1 else ((x0, y0), (x1, y1)))
    up = 6
    out, into = x0 + 8, dst.x - 12
    return Wire(a, b, ((x0, y0), (out, y0), (out, up), (into, up), (into, y1 - 8), (dst.x, y1 - 8)), True)
