"""Which order GE's engine sort really ends in. Its comparator is no order, so the answer depends on the container.

GE puts engines, alphabetically, into a ``std::map`` whose comparator says "cheaper, or earlier in the alphabet". Of a cheap
engine late in the alphabet and a dear early one each counts as smaller than the other; an insertion may then overwrite a link
of the tree. ``_Map`` is a model of that container, pointer by pointer (libstdc++, C++17: lower bound, then insertion with that
place as a hint); its answers agree with gcc 12 on all 32,767 subsets of GE's engine table.
Source: dynamic_stream_allocator.cc (RefreshContinuousStreams).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ge_explorer.device.engines import Engine

_NONE, _HEADER = -2, -1
_LEFT, _RIGHT = 0, 1


def intended_order(engines: Iterable[Engine]) -> list[Engine]:
    """What GE means: by compute cost, then by name."""
    return sorted(engines, key=lambda e: (e.cost, e.id.encode()))


def device_order(engines: Iterable[Engine]) -> list[Engine]:
    """Order in which GE's own code walks the engines; shorter than the input where it loses some."""
    keys = sorted(engines, key=lambda e: e.id.encode())
    tree = _Map(lambda a, b: keys[a].cost < keys[b].cost or a < b)
    for k in range(len(keys)):
        tree.emplace(k)
    return [keys[k] for k in tree.walk()]


class _Map:
    """``std::map`` of small integers for any ``less``, consistent or not. -1 is the header, -2 the null pointer."""

    def __init__(self, less: Callable[[int, int], bool]) -> None:
        self.less = less
        self.parent = {_HEADER: _NONE}
        self.child = {_HEADER: [_HEADER, _HEADER]}
        self.red = {_HEADER: True}

    def walk(self) -> list[int]:
        """Keys from begin() to end(); stops where a damaged tree would go round in circles."""
        out: list[int] = []
        x = self.child[_HEADER][_LEFT]
        while x not in (_HEADER, _NONE) and len(out) < len(self.parent):
            out.append(x)
            x = self._step(x, _RIGHT)
        return out

    def emplace(self, k: int) -> None:
        """Insert ``k`` unless its lower bound is not greater than it."""
        hint, x = _HEADER, self.parent[_HEADER]
        while x != _NONE:
            if self.less(x, k):
                x = self.child[x][_RIGHT]
            else:
                hint, x = x, self.child[x][_LEFT]
        if hint != _HEADER and not self.less(k, hint):
            return
        place = self._near(hint, k)
        if place is not None:
            self._insert(k, *place)

    def _near(self, hint: int, k: int) -> tuple[int, bool] | None:
        """(parent, surely left) beside the hint; None when the key counts as present."""
        first, last = self.child[_HEADER]
        if hint == _HEADER:
            return (last, False) if last != _HEADER and self.less(last, k) else self._search(k)
        if hint == first:
            return first, True
        before = self._step(hint, _LEFT)
        if not self.less(before, k):
            return self._search(k)
        return (before, False) if self.child[before][_RIGHT] == _NONE else (hint, True)

    def _search(self, k: int) -> tuple[int, bool] | None:
        """The place from the root down."""
        x, y, left = self.parent[_HEADER], _HEADER, True
        while x != _NONE:
            y, left = x, self.less(k, x)
            x = self.child[x][_LEFT if left else _RIGHT]
        j = y
        if left:
            if j == self.child[_HEADER][_LEFT]:
                return y, y == _HEADER
            j = self._step(j, _LEFT)
        return (y, False) if self.less(j, k) else None

    def _step(self, x: int, side: int) -> int:
        """Neighbour in order: iterator ++ (right) or -- (left)."""
        if self.child[x][side] != _NONE:
            x = self.child[x][side]
            while self.child[x][1 - side] != _NONE:
                x = self.child[x][1 - side]
            return x
        y = self.parent[x]
        while x == self.child[y][side]:
            x, y = y, self.parent[y]
        return y if side == _LEFT or self.child[x][side] != y else x

    def _insert(self, k: int, p: int, surely_left: bool) -> None:
        """Link ``k`` under ``p``, whatever hung there, then restore the colours."""
        header = self.child[_HEADER]
        self.parent[k], self.child[k], self.red[k] = p, [_NONE, _NONE], True
        if surely_left or p == _HEADER or self.less(k, p):
            self.child[p][_LEFT] = k
            if p == _HEADER:
                self.parent[_HEADER] = header[_RIGHT] = k
            elif p == header[_LEFT]:
                header[_LEFT] = k
        else:
            self.child[p][_RIGHT] = k
            if p == header[_RIGHT]:
                header[_RIGHT] = k
        self._rebalance(k)

    def _rebalance(self, x: int) -> None:
        while x != self.parent[_HEADER] and self.red[self.parent[x]]:
            up = self.parent[x]
            top = self.parent[up]
            side = _LEFT if up == self.child[top][_LEFT] else _RIGHT
            uncle = self.child[top][1 - side]
            if uncle != _NONE and self.red[uncle]:
                self.red[up] = self.red[uncle] = False
                self.red[top] = True
                x = top
                continue
            if x == self.child[up][1 - side]:
                x = up
                self._rotate(x, side)
            self.red[self.parent[x]], self.red[top] = False, True
            self._rotate(top, 1 - side)
        self.red[self.parent[_HEADER]] = False

    def _rotate(self, x: int, side: int) -> None:
        """Move ``x`` down to ``side``; its other child takes its place."""
        y = self.child[x][1 - side]
        inner, top = self.child[y][side], self.parent[x]
        self.child[x][1 - side] = inner
        if inner != _NONE:
            self.parent[inner] = x
        self.parent[y] = top
        if x == self.parent[_HEADER]:
            self.parent[_HEADER] = y
        else:
            self.child[top][_LEFT if x == self.child[top][_LEFT] else _RIGHT] = y
        self.child[y][side], self.parent[x] = x, y
