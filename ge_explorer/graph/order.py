"""GE's topological orders: BFS, DFS, RDFS and StableRDFS, with the MemoryPriority variants and the delay step.

The state a sort starts from is the node *list* of each scope, never earlier ids. Source: graph_metadef/graph/normal_graph/
compute_graph.cc (ComputeGraphImpl::TopologicalSorting, SortNodes, DelayTopoSort), checked against recordings of GE.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ge_explorer.errors import OptionError, PassFailed, did_you_mean
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, DTYPE_BITS, VARIABLE_LIKE, Graph, IntArray, Tensor

SortMode = Literal["BFS", "DFS", "RDFS", "StableRDFS"]
SORT_MODES: tuple[SortMode, ...] = ("BFS", "DFS", "RDFS", "StableRDFS")
"""Index = value of ``ge.topoSortingMode``."""

FIRST_SOURCES = DATA_LIKE | {"Input", "Recv", "Send"}
"""Sources BFS and DFS emit before all others (SortNodes)."""
LONG_LIVED = DATA_LIKE | CONST_LIKE | VARIABLE_LIKE
"""Producers whose memory lives for the whole run; nodes fed by them alone may wait (DelayTopoSort)."""
LOOP_BACK = frozenset({"NextIteration", "RefNextIteration"})
"""Their data edges do not count as in-degree (GetInEdgeSize)."""


def sort_mode(option: str = "", *, run_mode: str = "", level: str = "") -> SortMode:
    """Mode from ``ge.topoSortingMode``, ``ge.graphRunMode`` and ``ge.oo.level``.

    An empty or out-of-range value falls back to BFS for training (run mode >= 1) and DFS else; level ``O1`` makes
    StableRDFS the default. Text without leading digits reads as 0, as GE's parser does
    (GetTopoSortingStrategy; option_register.cc).

    >>> sort_mode(""), sort_mode("3"), sort_mode("", run_mode="1"), sort_mode("", level="O1")
    ('DFS', 'StableRDFS', 'BFS', 'StableRDFS')
    """
    if not option and level == "O1":
        option = "3"
    if option:
        value = _leading_integer(option)
        if 0 <= value < len(SORT_MODES):
            return SORT_MODES[value]
    return "BFS" if _leading_integer(run_mode) >= 1 else "DFS"


def _leading_integer(text: str) -> int:
    text = text.lstrip()
    sign = -1 if text[:1] == "-" else 1
    digits = text[1:] if text[:1] in ("-", "+") else text
    end = 0
    while end < len(digits) and digits[end] in "0123456789":
        end += 1
    return sign * int(digits[:end]) if end else 0


def topological_sort(
    graph: Graph, *, mode: str = "DFS", memory_priority: bool = False
) -> tuple[Graph, IntArray, tuple[int, ...], tuple[int, ...]]:
    """Sort every scope alone, then number all nodes along the traversal.

    Returns the graph with sorted scope lists; ``order`` int32 ``[id_bound]`` (-1 where no node is); the node ids in
    traversal order (a holder, then the nodes of its subgraphs, first one first); the subgraph ids in GE's
    ``GetAllSubgraphs`` order (branches last to first).

    Raises OptionError for an unknown mode, PassFailed (code E18888) when a scope has a closed loop; the message names it.
    RDFS and StableRDFS accept many loops silently, as GE does: see ``backward_edges``.
    """
    if mode not in SORT_MODES:
        raise OptionError(f"no sort mode {mode!r}", todo=did_you_mean(mode, SORT_MODES))
    lists: dict[int, Sequence[int]] = {}
    for scope in graph.scopes:
        if scope is None:
            continue
        result = sort_list(graph, scope.nodes, mode=mode, memory_priority=memory_priority)
        if len(result) != len(scope.nodes):
            raise _closed_loop(graph, scope.name, set(scope.nodes) - set(result))
        if tuple(result) != scope.nodes:
            lists[scope.id] = result
    graph = graph.with_scope_order(lists) if lists else graph
    sequence = tuple(graph.walk())
    order = np.full(graph.id_bound, -1, dtype=np.int32)
    order[list(sequence)] = np.arange(len(sequence), dtype=np.int32)
    order.setflags(write=False)
    return graph, order, sequence, tuple(graph.subgraph_order())


def sort_list(graph: Graph, nodes: Sequence[int], *, mode: str, memory_priority: bool = False) -> list[int]:
    """Sorted copy of one scope's node list; shorter than the input when a loop keeps nodes from being emitted."""
    scope = _Scope(graph, nodes)
    if mode == "DFS":
        out = scope.dfs_by_size() if memory_priority else scope.dfs()
    elif mode == "BFS":
        out = scope.bfs_by_size() if memory_priority else scope.bfs()
    elif mode == "RDFS":
        out = scope.rdfs()
    else:
        out = scope.stable()
    delayed = mode == "RDFS" or (memory_priority and mode != "StableRDFS")
    return scope.delay(out) if delayed and len(out) == len(nodes) else out


def output_size(tensor: Tensor) -> int:
    """Bytes of one output as the sort counts them (TensorUtils CalcTensorMemSize): no padding; unknown = -1; empty = 0.

    Dimensions are read left to right and the first zero or unknown one decides.
    """
    bits = DTYPE_BITS.get(tensor.dtype or "")
    if bits is None or tensor.shape is None:
        return -1
    total = 1
    for d in tensor.shape:
        if not isinstance(d, int) or d < 0:
            return -1
        if d == 0:
            return 0
        total *= d
    return (total * bits + 7) // 8


def node_size(graph: Graph, node: int) -> int:
    """Sum of ``output_size`` over all declared outputs, connected or not."""
    return sum(output_size(graph.tensor(t)) for t in graph.node(node).outputs)


def backward_edges(graph: Graph, order: IntArray) -> list[tuple[int, int]]:
    """Dependencies whose consumer does not come after its producer, loop-back edges left out (empty for a good order)."""
    return [(a, b) for a, b in graph.dependencies if order[a] >= order[b] and graph.node(a).op not in LOOP_BACK]


def find_cycle(graph: Graph, nodes: set[int]) -> list[int]:
    """Nodes of one cycle inside ``nodes``, each feeding the next; empty when there is none."""
    state: dict[int, int] = {}
    for start in sorted(nodes):
        path: list[int] = []
        stack: list[tuple[int, int]] = [(start, 0)]
        while stack:
            x, k = stack.pop()
            if k == 0:
                if x in state:
                    continue
                state[x] = 1
                path.append(x)
            rest = graph.succ[x]
            while k < len(rest):
                y = rest[k]
                k += 1
                if y not in nodes:
                    continue
                if state.get(y) == 1:
                    return path[path.index(y) :]
                if y not in state:
                    stack += [(x, k), (y, 0)]
                    break
            else:
                state[x] = 2
                path.pop()
    return []


def _closed_loop(graph: Graph, scope: str, left: set[int]) -> PassFailed:
    cycle = find_cycle(graph, left)
    names = [graph.node(i).name for i in (cycle or sorted(left))]
    shown = " → ".join(names[:8]) + (" → …" if len(names) > 8 else f" → {names[0]}" if cycle else "")
    return PassFailed(
        "the graph has a closed loop and cannot be sorted",
        code="E18888",
        ge_status="GRAPH_FAILED",
        where=f"scope {scope}",
        got=shown,
        todo="Remove one of these edges.",
    )


@dataclass(slots=True)
class _Scope:
    """One sort of one node list."""

    graph: Graph
    nodes: Sequence[int]

    # ---------------------------------------------------------------- DFS and BFS
    def _start(self) -> tuple[dict[int, int], list[int]]:
        """In-degrees, and the sources: Data-like first, then all others, both in list order (SortNodes)."""
        graph, waiting = self.graph, {}
        first: list[int] = []
        rest: list[int] = []
        loops = {n.id for n in graph if n.op in LOOP_BACK}
        for i in self.nodes:
            count = len(graph.pred[i])
            if loops and count:
                count -= sum(e.src in loops for e in graph.data_in[i])
            waiting[i] = count
            if count == 0:
                (first if graph.nodes[i].op in FIRST_SOURCES else rest).append(i)  # type: ignore[union-attr]
        return waiting, first + rest

    def _release(self, waiting: dict[int, int], x: int) -> list[int]:
        """Successors of ``x`` that just became ready, one entry per releasing edge walk."""
        ready = []
        for y in self.graph.succ[x]:
            waiting[y] -= 1
            if waiting[y] == 0:
                ready.append(y)
        return ready

    def dfs(self) -> list[int]:
        """A stack: the successor that became ready last leaves first."""
        waiting, sources = self._start()
        stack, out, succ = sources[::-1], [], self.graph.succ
        while stack:
            x = stack.pop()
            out.append(x)
            for y in succ[x]:
                left = waiting[y] - 1
                waiting[y] = left
                if left == 0:
                    stack.append(y)
        return out

    def bfs(self) -> list[int]:
        """A queue fed by name-sorted batches; a source enters only when nothing else is ready."""
        waiting, source_list = self._start()
        sources, ready = deque(source_list), deque[int]()
        out: list[int] = []
        name = self._name
        while ready or sources:
            x = ready.popleft() if ready else sources.popleft()
            out.append(x)
            ready.extend(sorted(self._release(waiting, x), key=name))
        return out

    def dfs_by_size(self) -> list[int]:
        """MemoryPriority: one global queue, smallest (fan-out, bytes, name) first."""
        waiting, sources = self._start()
        heap = [self._key(i) for i in sources]
        heapq.heapify(heap)
        out: list[int] = []
        while heap:
            x = heapq.heappop(heap)[3]
            out.append(x)
            for y in self._release(waiting, x):
                heapq.heappush(heap, self._key(y))
        return out

    def bfs_by_size(self) -> list[int]:
        """MemoryPriority: ready nodes by (fan-out, bytes, name); sources still one by one."""
        waiting, source_list = self._start()
        sources = deque(source_list)
        heap: list[tuple[int, int, str, int]] = []
        out: list[int] = []
        while heap or sources:
            x = heapq.heappop(heap)[3] if heap else sources.popleft()
            out.append(x)
            for y in self._release(waiting, x):
                heapq.heappush(heap, self._key(y))
        return out

    def _name(self, i: int) -> str:
        return self.graph.nodes[i].name  # type: ignore[union-attr]

    def _key(self, i: int) -> tuple[int, int, str, int]:
        return len(self.graph.data_out[i]), node_size(self.graph, i), self._name(i), i

    # ---------------------------------------------------------------- RDFS
    def rdfs(self) -> list[int]:
        """Post-order from every dead end back to its producers, smallest (bytes, name) produced first."""
        key = {i: (node_size(self.graph, i), self._name(i)) for i in self.nodes}
        roots = [i for i in self.nodes if not self.graph.succ[i]]
        return self._post_order(
            roots, {i: r for r, i in enumerate(sorted(self.nodes, key=key.__getitem__))}, again=True
        )

    def stable(self) -> list[int]:
        """Post-order from every node in list order: an already topological list stays as it is."""
        return self._post_order(self.nodes, {i: p for p, i in enumerate(self.nodes)}, again=False)

    def _post_order(self, roots: Sequence[int], rank: dict[int, int], *, again: bool) -> list[int]:
        """GE's explicit stack. ``again``: inputs are pushed whatever their state, so a loop emits its node early."""
        pred, state, out = self.graph.pred, dict.fromkeys(self.nodes, 0), []
        for root in roots:
            stack = [root]
            while stack:
                x = stack[-1]
                if state[x] == 0:
                    state[x] = 1
                    inputs = {y for y in pred[x] if again or state[y] == 0}
                    stack.extend(sorted(inputs, key=rank.__getitem__, reverse=True))
                    continue
                stack.pop()
                if state[x] == 1:
                    state[x] = 2
                    out.append(x)
        return out

    # ---------------------------------------------------------------- delay
    def delay(self, order: list[int]) -> list[int]:
        """Move nodes that only long-lived data feeds to right before their first consumer (DelayTopoSort)."""
        graph = self.graph
        pos = {x: p for p, x in enumerate(order)}
        group: list[list[int]] = [[x] for x in order]
        free = [True] * len(order)
        lasting = [n is not None and n.op in LONG_LIVED for n in graph.nodes]
        for i, x in enumerate(order):
            if not free[i] or not group[i]:
                continue
            if len(group[i]) == 1:
                feeds = graph.data_in[x]
                if not feeds or not all(lasting[e.src] for e in feeds):
                    continue
            elif len(graph.node(x).inputs) != 1:
                continue
            users = graph.succ[x]
            if not users:
                continue
            target = 0
            for y in users:  # 0 doubles as "unset" in GE; it only shows on cyclic graphs
                if target == 0 or pos[y] < target:
                    target = pos[y]
            if target <= i + 1:
                continue
            group[target] = group[i] + group[target]
            group[i] = []
            if len(users) > 1:
                free[target] = False
        return [x for g in group for x in g]
