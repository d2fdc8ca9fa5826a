"""Expectations of a memory case by name, checked against a plan."""

from __future__ import annotations

import itertools
import re
from typing import Any

from conformance.build import build_snapshot
from conformance.registry import Case, Report, Unsupported
from ge_explorer.graph.model import Graph
from ge_explorer.memory.ge.continuous import has_no_block
from ge_explorer.memory.ge.result import GeBlock, GeMember, GeMemoryResult
from ge_explorer.memory.ge.symbols import HBM, P2P, SESSION_HBM, build_symbols
from ge_explorer.memory.ge.view import SIZE, SUB_STREAM, build_view

ASSIGN, BINARY, HYBRID = "MemoryAssigner::AssignMemory", "BinaryBlockMemAssigner", "HybridMemAssigner::Assign"
MAX = "MaxBlockMemAssigner"
INSIDE = "BinaryBlockMemAssigner::GetMemoryRanges"
NEVER = 4294967294
"""Ends from here on are "max": not known to end."""


class Facts:
    """The expectations of a memory case by name."""

    def __init__(self, case: Case, graph: Graph, result: GeMemoryResult) -> None:
        self.case, self.graph, self.result = case, graph, result
        state = build_snapshot(case, graph)
        assert state.order is not None
        self.ids = {n.name: int(state.order[n.id]) for n in graph}
        # the hybrid assigner picks a candidate; the binary one is the first
        fixed = {BINARY: 0, INSIDE: 0, MAX: 1}.get(case.run)
        self.candidate = result.best if fixed is None else result.candidates[fixed]
        placed = result.blocks if case.run == ASSIGN else self.candidate.blocks
        self.blocks = {b.uid: b for b in placed}
        self.of: dict[tuple[str, str, int], tuple[GeBlock, GeMember]] = {}
        for b in placed:
            for m in b.members:
                self.of.setdefault((m.name, m.kind, m.index), (b, m))

    def compare(self, key: str, value: Any, report: Report) -> None:
        """One expectation."""
        check = getattr(self, f"_{key}", None)
        if check is not None:
            check(value, report)
        elif re.fullmatch(r"(in|out)_edges?_(counts?|nums?)", key):
            self._edge_counts(key, value, report)
        else:
            raise Unsupported(f"expectation {key}")

    def _status(self, value: str, report: Report) -> None:
        failed = bool(self.result.failure) and self.case.run == ASSIGN
        report.equal("status", "failed" if failed else "success", value.lower())

    def _size(self, memory_type: int) -> int:
        return (self.result.ends if self.case.run == ASSIGN else self.candidate.ends).get(memory_type, 0)

    def _total_size(self, value: int, report: Report) -> None:
        report.equal("total_size", self._size(HBM), value)

    def _session_size(self, value: int, report: Report) -> None:
        report.equal("session_size", self._size(SESSION_HBM), value)

    def _p2p_size(self, value: int, report: Report) -> None:
        report.equal("p2p_size", self._size(P2P), value)

    def _zero_copy_size(self, value: int, report: Report) -> None:
        report.equal("zero_copy_size", self.result.zero_copy, value)

    # ---------------------------------------------------------------- address ranges
    def _range(self, item: list[Any]) -> tuple[int, int]:
        """Bytes [begin, end) of the block of an output; of the tensor itself where it has no block."""
        name, index = item[0], int(item[1])
        found = self.of.get((name, "output", index))
        if found is not None:
            return found[0].head, found[0].head + found[0].size
        node = self.graph.node(name)
        at = self.result.offsets[node.id][index]
        return at, at + int(self.graph.tensor(node.outputs[index]).attrs.get(SIZE, 0))

    def _is_within(self, group: list[list[Any]]) -> bool:
        ranges = sorted((self._range(x) for x in group), key=lambda r: (r[0], -(r[1] - r[0])))
        return all(ranges[0][0] <= a and b <= ranges[0][1] for a, b in ranges[1:])

    def _within(self, value: list[Any], report: Report) -> None:
        for group in value:
            report.true(f"within {group}", self._is_within(group), [self._range(x) for x in group])

    def _not_within(self, value: list[Any], report: Report) -> None:
        for group in value:
            report.true(f"not within {group}", not self._is_within(group), [self._range(x) for x in group])

    def _no_overlap(self, value: list[Any], report: Report) -> None:
        for group in value:
            ranges = sorted(self._range(x) for x in group)
            apart = all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
            report.true(f"no overlap {group}", apart, ranges)

    def _workspace_reuses_zero_copy(self, value: Any, report: Report) -> None:
        def inside(b: GeBlock) -> bool:
            while b.parent >= 0:
                b = self.blocks[b.parent]
                if b.zero_copy:
                    return True
            return False

        found = {(name, i) for (name, kind, i), (b, _) in self.of.items() if kind == "workspace" and inside(b)}
        if isinstance(value, bool):
            report.equal("workspace_reuses_zero_copy", bool(found), value)
            return
        items = value.items() if isinstance(value, dict) else [(x, True) for x in value]
        for x, yes in items:
            name, _, index = x.partition(":") if isinstance(x, str) else (x[0], "", str(x[1]))
            report.equal(f"workspace of {x} in user memory", (name, int(index or 0)) in found, bool(yes))

    # ---------------------------------------------------------------- lifetimes
    def _member(self, where: str) -> tuple[GeBlock, GeMember]:
        name, _, index = where.rpartition(":")
        found = self.of.get((name, "output", int(index)))
        if found is None:
            raise Unsupported(f"{where} has no block")
        return found

    def _last(self, where: str) -> tuple[GeBlock, GeMember]:
        """The block of an output and its last buffer, from which GE reads a block's end."""
        block, _ = self._member(where)
        return block, block.members[-1]

    def _life_end(self, value: dict[str, Any], report: Report) -> None:
        for where, ends in value.items():
            _, m = self._last(where)
            got = {s: _shown(m.end_on(int(s))) for s in ends}
            report.equal(f"life_end {where}", got, ends)

    def _life_end_stream(self, value: dict[str, Any], report: Report) -> None:
        for where, ends in value.items():
            b, m = self._last(where)
            got = {s: list(m.end_with_stream(int(s), b.stream)) for s in ends}
            got = {s: [_shown(e), t] for s, (e, t) in got.items()}
            report.equal(f"life_end_stream {where}", got, {s: list(x) for s, x in ends.items()})

    def _out_stream_count(self, value: dict[str, int], report: Report) -> None:
        report.equal("out_stream_count", {k: self._last(k)[1].out_count for k in value}, value)

    def _real_size(self, value: dict[str, int], report: Report) -> None:
        report.equal("real_size", {k: self._member(k)[1].real for k in value}, value)

    def _block_stream(self, value: dict[str, int], report: Report) -> None:
        report.equal("block_stream", {k: self._member(k)[0].stream for k in value}, value)

    # ---------------------------------------------------------------- streams and attributes
    def _stream_of(self, name: str) -> int:
        return self.result.streams[self.graph.node(name).id]

    def _memory_stream(self, value: dict[str, int], report: Report) -> None:
        report.equal("memory_stream", {k: self._stream_of(k) for k in value}, value)

    def _memory_stream_equal(self, value: list[list[str]], report: Report) -> None:
        for group in value:
            report.true(f"one memory stream {group}", len({self._stream_of(x) for x in group}) == 1)

    def _node_attrs(self, value: dict[str, dict[str, Any]], report: Report) -> None:
        for name, attrs in value.items():
            for key, want in attrs.items():
                if key != SUB_STREAM:
                    raise Unsupported(f"attribute {key}")
                got = self.result.moved.get(self.graph.node(name).id)
                report.equal(f"{name}.{key}", got, want)

    def _input_attrs(self, value: dict[str, dict[str, Any]], report: Report) -> None:
        marks = set(self.result.best.last_uses)
        for where, attrs in value.items():
            name, _, index = where.rpartition(":")
            for key, want in attrs.items():
                if key != "is_end_of_inputmem_lifecycle":
                    raise Unsupported(f"attribute {key}")
                got = (self.graph.node(name).id, int(index)) in marks
                report.equal(f"{where} ends here", got, bool(want))

    def _in_edges(self, value: dict[str, Any], report: Report) -> None:
        _compare_edges("in_edges", self.result.into, value, report)

    def _out_edges(self, value: dict[str, Any], report: Report) -> None:
        _compare_edges("out_edges", self.result.out_of, value, report)

    def _edge_counts(self, key: str, value: Any, report: Report) -> None:
        table = self.result.into if key.startswith("in_") else self.result.out_of
        counts = {str(a): {str(b): len(x) for b, x in row.items()} for a, row in table.items()}
        if isinstance(value, int):
            report.equal(key, sum(sum(row.values()) for row in counts.values()), value)
            return
        for a, want in value.items():
            row = counts.get(a, {})
            report.equal(
                f"{key} {a}", sum(row.values()) if isinstance(want, int) else {b: row.get(b, 0) for b in want}, want
            )

    # ---------------------------------------------------------------- symbols
    def _reuse_input_index(self, value: dict[str, int | None], report: Report) -> None:
        got = {f"{self.graph.node(n).name}:{o}": i for n, o, i in self.result.inplace}
        report.equal("reuse_input_index", {k: got.get(k) for k in value}, value)

    def _merged_symbols(self, value: int, report: Report) -> None:
        report.equal("merged_symbols", len(self.result.inplace), value)

    def _no_own_memory(self, value: dict[str, bool], report: Report) -> None:
        compare_own_memory(self.graph, value, report)


def _shown(end: int) -> int | str:
    return "max" if end >= NEVER else end


def _compare_edges(what: str, table: Any, value: dict[str, Any], report: Report) -> None:
    for a, row in value.items():
        for b, want in row.items():
            got = [list(x) for x in table.get(int(a), {}).get(int(b), ())]
            report.equal(f"{what} {a} {b}", got, [list(x) for x in want])


def compare_own_memory(graph: Graph, value: dict[str, bool], report: Report) -> None:
    view = build_view(graph, [0] * graph.id_bound)
    symbols = build_symbols(view)
    got = {}
    for where in value:
        name, _, index = where.rpartition(":")
        got[where] = has_no_block(view, symbols, view.ops[view.by_name[name]], int(index))
    report.equal("no_own_memory", got, value)
