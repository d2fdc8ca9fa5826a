"""What every candidate shares: the view, its symbols and flags, streams and their edges, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.memory.ge.continuous import cascade_begins, chains
from ge_explorer.memory.ge.options import GeOptions
from ge_explorer.memory.ge.reuse_flags import ReuseFlags, reuse_flags
from ge_explorer.memory.ge.size_classes import largest_label
from ge_explorer.memory.ge.stream_edges import StreamEdges, build_stream_edges
from ge_explorer.memory.ge.stream_ids import StreamIds, effective_streams
from ge_explorer.memory.ge.symbols import Symbol, Symbols, measure
from ge_explorer.memory.ge.view import MERGE, Anchor, Op, Source, View


@dataclass(frozen=True, slots=True)
class Strategy:
    """One candidate (hybrid_mem_assigner.cc). ``first_release``: the buffer released first is taken first."""

    name: str
    use_range: bool = False
    ascending: bool = True
    first_release: bool = False
    priority: bool = False
    level2: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Read-only input of all candidates."""

    view: View
    symbols: Symbols
    flags: Mapping[Anchor, ReuseFlags]
    ids: StreamIds
    edges: StreamEdges
    options: GeOptions
    largest_label: str
    cascade: Mapping[Source, int]
    chains: Mapping[Source, tuple[Source, ...]]
    differing_merge: frozenset[Anchor]
    last_clean: int = -1

    def flags_of(self, s: Symbol) -> ReuseFlags:
        """Reuse flags of a symbol."""
        return self.flags[s.key]

    def in_label(self, label: str) -> bool:
        """True for buffers that count in the statistics: no batch label or the largest one."""
        return label in ("", self.largest_label)


def build_context(view: View, symbols: Symbols, options: GeOptions) -> Context:
    """Everything that is prepared once before the candidates run."""
    measure(view, symbols)
    ids = effective_streams(view)
    flags = {k: reuse_flags(view, s, ids, options) for k, s in symbols.by_key.items()}
    return Context(
        view, symbols, flags, ids, build_stream_edges(view, ids.of), options, largest_label(view), cascade_begins(view),
        chains(view), _differing_merges(view, symbols, ids), _last_clean(view),
    )  # fmt: skip


def _differing_merges(view: View, symbols: Symbols, ids: StreamIds) -> frozenset[Anchor]:
    """Keys of symbols with a merge whose inputs come from different streams: they take over nobody's bytes (A12)."""
    out: set[Anchor] = set()
    for op in view.ops:
        if op.type in MERGE:
            made = [s for s in op.inputs if s is not None]
            if len({ids.output(view.ops[s.op], s.index) for s in made}) > 1:
                out.update(symbols.output(s).key for s in made)
    return frozenset(out)


def _last_clean(view: View) -> int:
    """Topological id of the last node that fills memory with zeros, -1 for none."""
    cleaners: list[Op] = [op for op in view.ops if op.type in ("AtomicAddrClean", "MemSet")]
    return max((op.id for op in cleaners), default=-1)
