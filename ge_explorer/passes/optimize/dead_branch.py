"""What dies with a branch that is never taken: everything behind it, up to the Merge nodes where live branches come in."""

from __future__ import annotations

from collections.abc import Iterable

from ge_explorer.graph.model import Edge
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import MERGE
from ge_explorer.passes.optimize.work import Work


def delete_branch(
    w: Work, start: Iterable[Edge], first: tuple[int, ...], rule: str, evidence: tuple[Ref, ...] = ()
) -> bool:
    """Delete nodes ``first`` and all that the edges ``start`` lead to; a Merge only loses the input.

    False, with nothing changed, when the branch reaches a NetOutput: the graph would lose a result.
    """
    dead = dict.fromkeys(first)
    todo, cut = list(start), list[Edge]()
    while todo:
        e = todo.pop()
        r = w.node(e.dst)
        if r.op == "NetOutput":
            return False
        if r.op in MERGE:
            cut.append(e)
        elif r.id not in dead:
            dead[r.id] = None
            todo += w.readers(r)
    for e in cut:
        w.e.disconnect(e.dst, e.dst_in)
        w.touch(e.dst)
    for i in dead:
        w.delete(w.node(i), rule, list(evidence))
    return True
