"""Hints per operator type: PREFER_INPLACE, PREFER_FRESH, DONT_REUSE_OUTPUT, PREFER_SHARED.

Idea (article, memory.md B14). GE has no such call; the attributes that come closest are in ``REAL_COUNTERPART``. A hint is a wish:
in place only where it is proven safe, sharing only between buffers that are ordered anyway. "Read by many" is no reason to forbid
reuse, and equal shapes alone are no reason to share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from ge_explorer.errors import OptionError
from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.memory.lifetimes import NEVER, Spans, before_masks, lifetimes, spans
from ge_explorer.memory.model import Buffer, MemoryProblem
from ge_explorer.memory.teaching.inplace import WHY, check_inplace
from ge_explorer.text import Text


class Hint(Enum):
    """The four wishes."""

    PREFER_INPLACE = "PREFER_INPLACE"
    PREFER_FRESH = "PREFER_FRESH"
    DONT_REUSE_OUTPUT = "DONT_REUSE_OUTPUT"
    PREFER_SHARED = "PREFER_SHARED"


REAL_COUNTERPART: Mapping[Hint, str] = MappingProxyType(
    {
        Hint.PREFER_INPLACE: "_output_inplace_ability",
        Hint.PREFER_FRESH: "no_reuse_mem_flag",
        Hint.DONT_REUSE_OUTPUT: "no_reuse_mem_flag, OP_NO_REUSE_MEM",
        Hint.PREFER_SHARED: "",
    }
)
"""Attribute or variable of GE that comes closest; the flag forbids taking and giving at once."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A hint with the user's reason (kept for reports)."""

    hint: Hint
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Hinted:
    """The problem with the hints in it. ``partners``: buffer id -> earlier buffers of the same size it should sit on, if free.
    ``refused``: (node id, hint, reason). Buffer ids are those of ``problem``.
    """

    problem: MemoryProblem
    partners: Mapping[int, tuple[int, ...]]
    refused: tuple[tuple[int, Hint, Text], ...]
    merged: int


def hint(name: str) -> Hint:
    """Hint by name. OptionError for an unknown one."""
    try:
        return Hint(name)
    except ValueError:
        raise OptionError(f"no memory hint named {name!r}", todo="Known: " + ", ".join(h.value for h in Hint)) from None


def apply_hints(
    graph: Graph, problem: MemoryProblem, hb: HappensBefore, order: IntArray, wishes: Mapping[str, Wish], *,
    training: bool = False,
) -> Hinted:  # fmt: skip
    """Put hints by operator type into a problem. ``hb`` and ``order`` (topological id per node id) are those it was built with."""
    buffers = list(problem.buffers)
    refused: list[tuple[int, Hint, Text]] = []
    merged = 0
    current = problem
    for n in sorted(graph, key=lambda n: int(order[n.id])):
        wish = wishes.get(n.op)
        if wish is None or wish.hint is not Hint.PREFER_INPLACE:
            continue
        v = check_inplace(graph, current, hb, n, training=training, types=frozenset({n.op}))
        if not v.ok:
            refused.append((n.id, wish.hint, WHY[v.why]))
            continue
        buffers = [_joined(b, buffers[v.target]) if b.id == v.source else b for b in buffers if b.id != v.target]
        buffers = [replace(b, id=k) for k, b in enumerate(buffers)]
        current = replace(current, buffers=tuple(buffers))
        merged += 1
    makers = [{graph.node(d).op for d in b.producers} if b.kind == "feature" else set[str]() for b in buffers]
    asked = [{wishes[op].hint for op in ops if op in wishes} for ops in makers]
    fresh = [Hint.PREFER_FRESH in a for a in asked]
    keep = [Hint.DONT_REUSE_OUTPUT in a for a in asked]
    held, new = _flags(problem, hb)
    keep = [k or not held.isdisjoint(b.producers) for k, b in zip(keep, buffers, strict=True)]
    fresh = [f or not new.isdisjoint(b.producers) for f, b in zip(fresh, buffers, strict=True)]
    plain = spans(hb, [b.producers for b in buffers], [b.accessors for b in buffers])
    strict = Spans(plain.need.copy(), plain.start.copy())
    strict.need[[k for k, x in enumerate(keep) if x]] = NEVER
    strict.start[[k for k, x in enumerate(fresh) if x]] = -1
    before = before_masks(strict)
    life = lifetimes(hb, plain, [b.accessors for b in buffers], order, keep)
    partners = {
        y: tuple(x for x in range(len(buffers)) if before[y] >> x & 1 and buffers[x].size == buffers[y].size)
        for y in range(len(buffers))
        if Hint.PREFER_SHARED in asked[y]
    }
    done = replace(problem, buffers=tuple(buffers), before=before, lifetimes=life)
    return Hinted(done, MappingProxyType(partners), tuple(refused), merged)


def _joined(a: Buffer, b: Buffer) -> Buffer:
    """Input and output of an in-place node as one buffer: first written by the input's producer."""
    readers = tuple(dict.fromkeys((*a.readers, *b.producers, *b.readers)))
    return replace(
        a, tensors=(*a.tensors, *b.tensors), readers=readers, size=max(a.size, b.size), raw_size=max(a.raw_size, b.raw_size),
        alias_rules=tuple(dict.fromkeys((*a.alias_rules, *b.alias_rules, "in-place hint"))),
    )  # fmt: skip


def _flags(problem: MemoryProblem, hb: HappensBefore) -> tuple[set[int], set[int]]:
    """(producers whose buffer must not be given away, producers whose buffer must not take bytes) in the problem as it is."""
    buffers = problem.buffers
    plain = before_masks(spans(hb, [b.producers for b in buffers], [b.accessors for b in buffers]))
    given = could = 0
    for y in range(len(buffers)):
        given |= problem.before[y]
        could |= plain[y]
    held = {d for b in buffers if could >> b.id & 1 and not given >> b.id & 1 for d in b.producers}
    return held, {d for b in buffers if plain[b.id] and not problem.before[b.id] for d in b.producers}
