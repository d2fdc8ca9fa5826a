"""From a graph with streams to a ``MemoryProblem``: buffers with GE's sizes, lifetimes, and who may follow whom.

Source of the rules: memory.md A2 (sizes, what gets no block), A3 (alias classes), A7 (reuse flags), C1 and C2 (order).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from ge_explorer.graph.happens_before import HappensBefore, dependency_orders, happens_before
from ge_explorer.graph.model import CONST_LIKE, Graph, IntArray, Node
from ge_explorer.memory.aliases import SOURCE_KINDS, WHILE_LIKE, Aliases, alias_classes, is_body_input
from ge_explorer.memory.lifetimes import NEVER, Spans, before_masks, lifetimes, spans
from ge_explorer.memory.model import Buffer, MemoryProblem
from ge_explorer.memory.sizes import BLOCK_ALIGNMENT, aligned, padded_size, payload_bytes

WORKSPACE = "workspace_bytes"
"""Scratch bytes of a node, one number per workspace (field of GE's OpDef)."""
LOOP_LIKE = WHILE_LIKE | {"Loop", "Scan", "For", "_For", "StatelessFor"}
NO_REUSE = "no_reuse_mem_flag"
NOT_GIVEN_AWAY = frozenset(
    {
        "Enter",
        "RefEnter",
        "NextIteration",
        "RefNextIteration",
        "GetNext",
        "AdpGetNext",
        "DynamicGetNext",
        "DropOutGenMask",
    }
)
"""Producer types whose memory nobody may take later (A7, block_mem_assigner.cc InitReuseFlag)."""
NOT_TAKEN = frozenset({"GetNext", "AdpGetNext", "DynamicGetNext", "DropOutGenMask", "Proposal"})
"""Producer types that must not take somebody else's memory (A7)."""
HELD = "held for all rounds of a loop"
_PRECEDENCE = ("variable", "weight", "input", "output")


_Row = tuple[
    str, int, tuple[int, ...], tuple[int, ...], tuple[int, ...], str, int, int, bool, tuple[str, ...], Mapping[int, int]
]  # fmt: skip
"""Fields of a Buffer behind its id, which is known once all are found."""
_PRODUCERS: Final = 3
NOTHING_INSIDE: Final[Mapping[int, int]] = MappingProxyType({})


@dataclass(slots=True)
class _Class:
    """An alias class while it is collected."""

    tensors: list[int] = field(default_factory=list)
    writers: dict[int, None] = field(default_factory=dict)
    readers: dict[int, None] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    size: int = 0
    raw: int = 0
    assumed: bool = False
    inside: dict[int, int] = field(default_factory=dict)


def order_before_events(graph: Graph, sequence: Sequence[int], stream: IntArray) -> HappensBefore:
    """Happens-before at the point where GE plans memory: streams and dependencies, no event yet."""
    return happens_before(sequence, stream, dependency_orders(graph, stream))


def build_problem(
    graph: Graph,
    sequence: Sequence[int],
    stream: IntArray,
    order: IntArray | None = None,
    hb: HappensBefore | None = None,
) -> MemoryProblem:
    """Buffers of the feature map and their constraints.

    ``sequence``: node ids in issue order over all scopes; ``stream``: stream per node id; ``order``: topological id per node id
    (default: place in ``sequence``); ``hb``: the order to plan for (default: GE's, before events). Weights, inputs, outputs and
    variables are counted in ``excluded``. Raises DeadlockError when the order is circular.
    """
    if order is None:
        order = np.full(graph.id_bound, -1, dtype=np.int32)
        order[list(sequence)] = np.arange(len(sequence), dtype=np.int32)
    hb = hb or order_before_events(graph, sequence, stream)
    classes = alias_classes(graph, order, stream)
    groups = _collect(graph, classes)
    for root, wanted in classes.needs().items():
        _lay_out(groups[root], classes, wanted)
    names, place = graph.unique_names, order.tolist()
    excluded: dict[str, int] = {}
    found: list[_Row] = []
    flags: list[tuple[bool, bool]] = []
    for root, c in groups.items():
        kind = next((k for k in _PRECEDENCE if k in c.kinds), "")
        if kind:
            excluded[kind] = excluded.get(kind, 0) + aligned(c.size)
            continue
        found.append(_feature(graph, root, c, classes, names, place, stream))
        flags.append(_flags(graph, c))
    for n in graph:
        for i, size in enumerate(n.attrs.get(WORKSPACE, ())):
            if size > 0:
                name = f"{names[n.id]}.workspace{i}"
                found.append(
                    (
                        name,
                        aligned(int(size)),
                        (),
                        (n.id,),
                        (),
                        "workspace",
                        int(stream[n.id]),
                        int(size),
                        False,
                        (),
                        NOTHING_INSIDE,
                    )
                )
                reusable = list(n.attrs.get("workspace_reuse_flag", ()))
                off = bool(n.attrs.get(NO_REUSE)) or (i < len(reusable) and not reusable[i])
                flags.append((off, off))
    rank = sorted(range(len(found)), key=lambda k: place[found[k][_PRODUCERS][0]])  # stable: ties as they were found
    buffers = tuple(Buffer(i, *found[k]) for i, k in enumerate(rank))
    held = _loop_ends(graph, hb, buffers)
    if held:
        buffers = tuple(
            replace(b, readers=tuple(dict.fromkeys(b.readers + held[b.id])), alias_rules=(*b.alias_rules, HELD))
            if b.id in held
            else b
            for b in buffers
        )
    users = [b.accessors for b in buffers]
    plain = spans(hb, [b.producers for b in buffers], users)
    keep = [flags[k][1] for k in rank]
    fresh = [flags[k][0] for k in rank]
    strict = Spans(plain.need.copy(), plain.start.copy())
    strict.need[np.array(keep, dtype=bool)] = NEVER
    strict.start[np.array(fresh, dtype=bool)] = -1
    unknown = sum(b.assumed for b in buffers)
    notes = (f"{unknown} buffers have unknown dimensions, counted as 1",) if unknown else ()
    return MemoryProblem(
        buffers, before_masks(strict), lifetimes(hb, plain, users, order, keep), BLOCK_ALIGNMENT,
        MappingProxyType(dict(sorted(excluded.items()))), notes,
    )  # fmt: skip


def _collect(graph: Graph, classes: Aliases) -> dict[int, _Class]:
    """Alias classes by root tensor, with writers, readers, kind marks and sizes."""
    groups: dict[int, _Class] = {}
    for t in graph.tensors:
        if t is None:
            continue
        root = classes.find(t.id)
        c = groups.setdefault(root, _Class())
        c.tensors.append(t.id)
        producer = graph.node(t.producer)
        if producer.is_source and not is_body_input(producer):
            c.kinds.add(SOURCE_KINDS[producer.op])
        payload, assumed = payload_bytes(t)
        if not (
            producer.op in CONST_LIKE and len(c.tensors) > 1
        ):  # Const-like sizes do not count for a shared symbol (A3)
            c.size, c.raw = max(c.size, padded_size(payload)), max(c.raw, payload)
        c.assumed |= assumed
        if not producer.is_source and not producer.subgraphs:
            c.writers[producer.id] = None
        elif producer.op in WHILE_LIKE:
            initial = producer.inputs[t.index] if t.index < len(producer.inputs) else None
            if initial is not None and classes.find(initial) != root:
                c.writers[producer.id] = None  # the copy of a read-only initial value
    for n in graph:
        for tensor in n.inputs:
            if tensor is None:
                continue
            c = groups[classes.find(tensor)]
            if n.op == "NetOutput" and n.scope == 0:
                c.kinds.add("output")
            if not n.subgraphs:
                c.readers[n.id] = None
    return groups


def _lay_out(c: _Class, classes: Aliases, wanted: Sequence[tuple[int, int]]) -> None:
    """Places of the tensors of a class in which not all begin at the same byte, and its size."""
    at = {t: classes.shift(t) for t in c.tensors}
    first = min(at.values())
    c.inside = {t: k - first for t, k in at.items() if k > first}
    c.size = max(c.size, *(at[t] - first + size for t, size in wanted))


def _feature(
    graph: Graph,
    root: int,
    c: _Class,
    classes: Aliases,
    names: Mapping[int, str],
    order: Sequence[int],
    stream: IntArray,
) -> _Row:
    """Buffer of a class. First writers are the producers whose own inputs are not in the class; a view or in-place node
    comes later and counts as a reader.
    """
    inside = set(c.tensors)
    first = [w for w in c.writers if not any(t in inside for t in graph.node(w).inputs)]
    writers = sorted(first or c.writers, key=order.__getitem__)
    later = [w for w in c.writers if w not in writers]
    readers = sorted({*c.readers, *later}, key=order.__getitem__)
    if not writers:  # only subgraph holders produce it (a body that returns nothing we know)
        writers = [graph.tensor(root).producer]
    lead = graph.tensor(min(c.tensors, key=lambda t: (order[graph.tensor(t).producer], t)))
    return (
        f"{names[lead.producer]}:{lead.index}", aligned(c.size), tuple(c.tensors), tuple(writers), tuple(readers),
        "feature", int(stream[writers[0]]), c.raw, c.assumed, classes.rules(root),
        MappingProxyType(c.inside) if c.inside else NOTHING_INSIDE,
    )  # fmt: skip


def _flags(graph: Graph, c: _Class) -> tuple[bool, bool]:
    """(must not take over bytes, must not give bytes away) of a class, by its writers."""
    fresh = keep = False
    for w in c.writers:
        n: Node = graph.node(w)
        off = bool(n.attrs.get(NO_REUSE))
        fresh |= off or n.op in NOT_TAKEN
        keep |= off or n.op in NOT_GIVEN_AWAY
    return fresh, keep


def _loop_ends(graph: Graph, hb: HappensBefore, buffers: Sequence[Buffer]) -> dict[int, tuple[int, ...]]:
    """Buffers made outside a loop and read inside it must live through every round, so they also wait for the last task of
    each stream inside the loop. Buffer id -> those tasks.
    """
    out: dict[int, tuple[int, ...]] = {}
    for n in graph:
        if n.op not in LOOP_LIKE or not n.subgraphs:
            continue
        inside = _inside(graph, n)
        last = {int(hb.column[hb.row[v]]): v for v in hb.nodes if v in inside}
        for b in buffers:
            touched = [v in inside for v in b.accessors]
            outside = any(graph.tensor(t).producer not in inside for t in b.tensors)
            if any(touched) and (outside or not all(touched)):
                out[b.id] = tuple(dict.fromkeys((*out.get(b.id, ()), *last.values())))
    return out


def _inside(graph: Graph, holder: Node) -> frozenset[int]:
    found: set[int] = set()
    todo = list(holder.subgraphs)
    while todo:
        for i in graph.scope(todo.pop()).nodes:
            found.add(i)
            todo.extend(graph.node(i).subgraphs)
    return frozenset(found)
