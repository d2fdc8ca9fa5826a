"""GE's static memory planner from a graph with streams to offsets (memory.md part A; memory_assigner.cc AssignMemory)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph
from ge_explorer.memory.ge.blocks import Block, Entry, Kind
from ge_explorer.memory.ge.buffers import planned_buffers
from ge_explorer.memory.ge.candidates import Candidate, run_candidate, strategies
from ge_explorer.memory.ge.cleaned import place_cleaned
from ge_explorer.memory.ge.context import Context, build_context
from ge_explorer.memory.ge.final_offsets import block_offsets, final_outputs, place_user_blocks
from ge_explorer.memory.ge.inplace import Pair, apply_inplace, find_inplace
from ge_explorer.memory.ge.layout import parents_first
from ge_explorer.memory.ge.level1 import workspace_type
from ge_explorer.memory.ge.options import GeOptions
from ge_explorer.memory.ge.result import GeBlock, GeCandidate, GeMember, GeMemoryResult
from ge_explorer.memory.ge.reuse_check import check_reuse
from ge_explorer.memory.ge.stream_edges import Steps
from ge_explorer.memory.ge.symbols import HBM, HOST, HOST_SVM, build_symbols
from ge_explorer.memory.ge.view import Source, View, build_view

Table = Mapping[int, Mapping[int, tuple[tuple[int, int], ...]]]


def plan_ge(
    graph: Graph,
    stream: Sequence[int],
    order: Sequence[int] | None = None,
    options: Mapping[str, str] | None = None,
    *,
    sequence: Sequence[int] | None = None,
    local: Collection[int] = (),
    references: Mapping[int, int] | None = None,
    copied: Collection[int] = (),
) -> GeMemoryResult:
    """Plan the memory of ``graph`` as GE does.

    ``stream`` and ``order`` (topological ids, GE's time) are per node id; ``options`` are literal GE keys (``OP_NO_REUSE_MEM``
    is taken like one). ``sequence`` is the traversal (default: GE's walk), ``local`` the nodes of the GE-local engine;
    ``references`` and ``copied`` add declared references and loop copies (see ``build_view``). Raises PassFailed when GE stops
    before there is a plan; a plan that GE's last checks refuse is returned with ``failure`` set.
    """
    wanted = GeOptions.of(options or {})
    view = build_view(graph, stream, order, sequence, local, references, copied)
    symbols = build_symbols(view)
    pairs = find_inplace(view, symbols)
    view = apply_inplace(view, symbols, pairs)
    _check_sizes(view)
    ctx = build_context(view, symbols, wanted)
    found = [run_candidate(ctx, s) for s in strategies(wanted.priority)]
    chosen = min(range(len(found)), key=lambda k: (found[k].size, k))
    frozen = tuple(_candidate(c) for c in found)
    return _finish(graph, ctx, found[chosen], frozen, chosen, pairs)


def _check_sizes(view: View) -> None:
    for op in view.ops:
        for x in op.outputs:
            if x.size < 0:
                raise PassFailed(
                    "a tensor has a negative size", where=op.name, got=x.size,
                    todo="The static planner needs known shapes.",
                )  # fmt: skip


def _finish(
    graph: Graph, ctx: Context, best: Candidate, frozen: tuple[GeCandidate, ...], chosen: int, pairs: tuple[Pair, ...]
) -> GeMemoryResult:
    view, symbols = ctx.view, ctx.symbols
    ends = dict(best.ends)
    cleaned, cleaned_work, start = place_cleaned(view, ctx.options, ends.get(HBM, 0))
    end = place_user_blocks(view, best.blocks, start)
    if end:
        ends[HBM] = end
    placed, work = block_offsets(best.blocks)
    work |= cleaned_work
    outputs = final_outputs(view, ctx.chains, placed | cleaned)
    types = {Source(op.place, w): workspace_type(op, w)[0] for op in view.ops for w in range(len(op.workspaces))}
    kinds = {s: symbols.output(s).memory_type for s in outputs}
    buffers, plan = planned_buffers(graph, view, symbols, outputs, work, ctx.ids.of, types, end)
    node = [op.node for op in view.ops]
    return GeMemoryResult(
        frozen, chosen, _blocks(best.blocks),
        MappingProxyType({op.node: tuple(outputs[Source(op.place, o)] for o in range(len(op.outputs))) for op in view.ops}),
        MappingProxyType({
            op.node: tuple(work.get(Source(op.place, w), 0) for w in range(len(op.workspaces))) for op in view.ops
        }),
        MappingProxyType(ends), end - start,
        MappingProxyType({op.node: ctx.ids.of[op.place] for op in view.ops}),
        MappingProxyType({node[p]: s for p, s in ctx.ids.rewritten.items()}),
        _table(ctx.edges.into), _table(ctx.edges.out_of),
        tuple((node[made.op], made.index, i) for made, i in pairs),
        len(symbols.by_key), buffers, plan, _failure(ctx, outputs, kinds, ends),
    )  # fmt: skip


def _failure(ctx: Context, outputs: Mapping[Source, int], kinds: Mapping[Source, int], ends: Mapping[int, int]) -> str:
    options = ctx.options
    used = sum(n for t, n in ends.items() if t not in (HOST, HOST_SVM))
    if options.device_bytes and used > options.device_bytes and not options.priority:
        return f"the plan needs {used} bytes, the device has {options.device_bytes}"
    wrong = check_reuse(ctx.view, ctx.symbols, outputs, kinds, max(ends.values(), default=0))
    return (
        f"{wrong.reader} cannot reach {wrong.producer}, but their outputs share offset {wrong.offset}" if wrong else ""
    )


def _table(rows: Mapping[int, Mapping[int, Steps]]) -> Table:
    return MappingProxyType(
        {a: MappingProxyType({b: tuple(s.items()) for b, s in sorted(row.items())}) for a, row in sorted(rows.items())}
    )


def _candidate(c: Candidate) -> GeCandidate:
    view, s = c.state.ctx.view, c.state
    return GeCandidate(
        c.strategy.name, c.size, c.classes, MappingProxyType(s.counters.result()), MappingProxyType(dict(c.ends)),
        _blocks(c.blocks), tuple(s.decisions),
        tuple((view.ops[m.op].node, m.index) for m in s.marks),
        tuple((view.ops[z.op].node, z.index) for z in s.zero),
    )  # fmt: skip


def _blocks(blocks: Iterable[Block]) -> tuple[GeBlock, ...]:
    return tuple(
        GeBlock(
            b.uid, b.size, b.head, b.stream, b.memory_type, b.batch, -1 if b.parent is None else b.parent.uid,
            tuple(_member(e) for e in b.entries), b.reusable, b.zero_copy, b.continuous, b.made_by,
        )
        for b in parents_first(list(blocks))
    )  # fmt: skip


def _member(e: Entry) -> GeMember:
    return GeMember(
        e.op.node, e.op.name, "output" if e.kind is Kind.OUTPUT else "workspace", e.index, e.start, e.end, e.real, e.payload, e.ref,
        tuple(e.foreign.items()), e.out_count,
    )  # fmt: skip
