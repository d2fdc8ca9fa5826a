"""Symbols: classes of anchors that are one piece of memory (memory.md A3; graph_utils.cc GetRefMapping)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ge_explorer.memory.ge.view import MERGE, NO_BLOCK, Anchor, Op, Source, View, refers_to

HBM, P2P, HOST, HOST_SVM = 2, 17, 129, 144
SESSION_HBM = 1 << 32 | HBM
"""Memory types (rt_external_mem.h); session scope is the type with bit 32 set."""
TYPE_NAMES = {"HBM": HBM, "P2P_DDR": P2P, "HOST": HOST, "HOST_SVM": HOST_SVM, "L1": 65536, "UB": 131072}
OWN_AREA = frozenset({P2P, HOST, HOST_SVM})
"""Types that get an address space of their own; everything else is ordinary device memory."""


@dataclass(eq=False, slots=True)
class Symbol:
    """An ordered list of anchors with one address. ``key`` is the anchor that opened it."""

    key: Anchor
    anchors: list[Anchor]
    size: int = 0
    memory_type: int = HBM
    connected_inputs: int = 0

    @property
    def outputs(self) -> list[Anchor]:
        """Output anchors in list order."""
        return [a for a in self.anchors if a.out]


@dataclass(eq=False, slots=True)
class Symbols:
    """Anchor -> symbol, and symbols by their key (the output or input that opened them)."""

    of: dict[Anchor, Symbol] = field(default_factory=dict)
    by_key: dict[Anchor, Symbol] = field(default_factory=dict)

    def open(self, a: Anchor) -> None:
        """Start a symbol with one anchor."""
        self.of[a] = self.by_key[a] = Symbol(a, [a])

    def append(self, s: Symbol, a: Anchor) -> None:
        """Add an anchor at the end of a symbol."""
        s.anchors.append(a)
        self.of[a] = s

    def union(self, a: Symbol, b: Symbol) -> Symbol:
        """Join two symbols: the longer list absorbs the shorter, on a tie the second absorbs. Returns what is left."""
        if a is b:
            return a
        keep, gone = (a, b) if len(a.anchors) > len(b.anchors) else (b, a)
        self.merge(keep, gone)
        return keep

    def merge(self, keep: Symbol, gone: Symbol) -> None:
        """Append the anchors of ``gone`` to ``keep``."""
        for x in gone.anchors:
            self.of[x] = keep
        keep.anchors += gone.anchors
        del self.by_key[gone.key]

    def output(self, s: Source) -> Symbol:
        """Symbol of an output."""
        return self.of[Anchor(s.op, s.index, True)]


def build_symbols(view: View) -> Symbols:
    """Symbols of all anchors, operators in traversal order, inputs before outputs."""
    table = Symbols()
    for op in view.ops:
        _inputs(view, op, table)
        for o in range(len(op.outputs)):
            a = Anchor(op.place, o, True)
            if a in table.of:
                continue
            source = refers_to(op, o)
            if source >= 0:
                table.append(table.of[Anchor(op.place, source, False)], a)
            else:
                table.open(a)
    return table


def _inputs(view: View, op: Op, table: Symbols) -> None:
    if op.type in MERGE:
        _merge_inputs(view, op, table)
        return
    if op.body_input:
        source = view.feeding(op)
        a = Anchor(op.place, 0, False)
        if source is None:
            table.open(a)
        else:
            table.append(table.output(source), a)
        return
    for i, s in enumerate(op.inputs):
        a = Anchor(op.place, i, False)
        if s is None:
            table.open(a)
            continue
        symbol = table.output(s)
        if op.type == "NetOutput" and op.holder >= 0 and (result := view.result_index(op, i)) >= 0:
            symbol = table.union(symbol, table.of[Anchor(op.holder, result, True)])
        table.append(symbol, a)


def _merge_inputs(view: View, op: Op, table: Symbols) -> None:
    """All alternatives of a merge are one symbol. A loop's back edge is named, not drawn, and counts as a producer too."""
    producers: list[Source] = []
    mine: list[Anchor] = []
    for i, s in enumerate(op.inputs):
        a = Anchor(op.place, i, False)
        if s is None:
            back = view.by_name.get(str(op.attrs.get("_next_iteration_node", "")))
            if back is None or not view.ops[back].outputs:
                table.open(a)
                continue
            s = Source(back, 0)
            if Anchor(back, 0, True) not in table.of:
                table.open(Anchor(back, 0, True))
        producers.append(s)
        mine.append(a)
    if not producers:
        return
    longest = producers[0]
    for s in producers[1:]:
        if len(table.output(s).anchors) > len(table.output(longest).anchors):
            longest = s
    symbol = table.output(longest)
    for s in producers:
        symbol = table.union(table.output(longest), table.output(s))
    for a in mine:
        table.append(symbol, a)


def measure(view: View, table: Symbols) -> None:
    """Fill in size, memory type and number of connected inputs of every symbol (mem_assigner InitSymbolInfo)."""
    for s in table.by_key.values():
        wanted = [HBM]
        s.size = s.connected_inputs = 0
        for a in s.anchors:
            op = view.ops[a.op]
            wanted.append(requested_type(op, a.index, "_output_memory_type" if a.out else "_input_memory_type"))
            if not a.out:
                s.connected_inputs += a.index < len(op.inputs) and op.inputs[a.index] is not None
            elif op.type not in NO_BLOCK:
                s.size = max(s.size, op.outputs[a.index].size)
        s.memory_type = max(wanted) if max(wanted) in OWN_AREA else HBM


def requested_type(op: Op, index: int, key: str) -> int:
    """Memory type an operator asks for in a list attribute, HBM where it says nothing; names and numbers are understood."""
    values = op.attrs.get(key, ())
    if index >= len(values):
        return HBM
    value = values[index]
    return TYPE_NAMES.get(value, HBM) if isinstance(value, str) else int(value)
