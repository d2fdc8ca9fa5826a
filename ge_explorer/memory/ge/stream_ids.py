"""Effective streams: the stream the planner counts an operator on (memory.md A8.1; mem_reuse_strategy.cc)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.graph.model import DATA_LIKE
from ge_explorer.memory.ge.view import MERGE, SUB_STREAM, THREAD_SCOPE, Anchor, Op, Source, View

NONE = -1
PRIOR_HOPS = 2
"""A detour of at least this many operators makes its buffer wait for level 2 instead of level 1."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamIds:
    """``of``: effective stream per operator place. ``rewritten``: operators whose stream the planner changed (detours, Data).

    ``result``: stream of each output of a node that owns graphs, None where its branches differ (then it takes nobody's bytes).
    """

    of: tuple[int, ...]
    rewritten: Mapping[int, int]
    result: Mapping[Anchor, int | None]

    def output(self, op: Op, o: int) -> int:
        """Stream on which output ``o`` is made."""
        found = self.result.get(Anchor(op.place, o, True))
        return self.of[op.place] if found is None else found

    def branches_agree(self, op: Op, o: int) -> bool:
        """False for the result of a node whose graphs make it on different streams."""
        return self.result.get(Anchor(op.place, o, True), NONE) is not None


def given_stream(op: Op) -> int:
    """Stream from the attributes alone (MemReuseUtils::GetStreamId)."""
    if SUB_STREAM in op.attrs:
        return int(op.attrs[SUB_STREAM])
    return NONE if THREAD_SCOPE in op.attrs else op.stream


def effective_streams(view: View) -> StreamIds:
    """One pass over the operators; later ones see the rewrites of earlier ones."""
    of = [given_stream(op) for op in view.ops]
    rewritten: dict[int, int] = {}
    for op in view.ops:
        if op.type in DATA_LIKE and of[op.place] == NONE and op.outputs:
            streams = {of[r.op] for r in op.outputs[0].readers}
            if len(streams) == 1:
                of[op.place] = rewritten[op.place] = streams.pop()
        hops, back = detour(view, op, of)
        if back is not None and hops and view.ops[back].id - op.id - 1 == len(hops):
            for h in hops:
                of[h] = rewritten[h] = of[op.place]
    return StreamIds(tuple(of), MappingProxyType(rewritten), MappingProxyType(_results(view, of)))


def detour(view: View, op: Op, of: list[int] | tuple[int, ...]) -> tuple[list[int], int | None]:
    """Follow the only consumer while it is on another stream. Returns (operators on the way, where it came back or None)."""
    hops: list[int] = []
    at = op
    while len(hops) <= len(view.ops):
        readers = [r for x in at.outputs for r in x.readers]
        if len(readers) != 1 or (at is not op and sum(s is not None for s in at.inputs) != 1):
            return hops, None
        c = view.ops[readers[0].op]
        if of[op.place] == NONE or c.type in MERGE or THREAD_SCOPE in c.attrs or of[c.place] == NONE:
            return hops, None
        if of[c.place] == of[op.place]:
            return hops, c.place
        hops.append(c.place)
        at = c
    return hops, None


def _results(view: View, of: list[int]) -> dict[Anchor, int | None]:
    """Stream of the real producers behind the outputs of nodes that own graphs, innermost first."""
    out: dict[Anchor, int | None] = {}
    for op in reversed(view.ops):
        made: dict[int, set[int | None]] = {}
        for body in op.bodies:
            for m in body:
                if view.ops[m].type == "NetOutput":
                    for i, s in enumerate(view.ops[m].inputs):
                        result = view.result_index(view.ops[m], i)
                        if s is not None and result >= 0:
                            made.setdefault(result, set()).add(_maker(s, of, out))
        for i, streams in made.items():
            out[Anchor(op.place, i, True)] = streams.pop() if len(streams) == 1 else None
    return out


def _maker(s: Source, of: list[int], known: Mapping[Anchor, int | None]) -> int | None:
    a = Anchor(s.op, s.index, True)
    return known[a] if a in known else of[s.op]
