"""Dynamic shapes: plan once for the largest size every buffer can have.

Idea (the article on GE's graph optimisation, memory.md B19): upper bounds, a pool laid out in advance, one pool per model. GE plans
static graphs only and allocates at run time otherwise. The maximum is taken per buffer over given shape cases, so the plan holds
for each of them; a shape outside the cases is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.problem import build_problem


@dataclass(frozen=True, slots=True, eq=False)
class UpperBound:
    """``problem`` with the largest sizes; ``live`` bytes of every single case; ``of_all`` bytes of the largest sizes together."""

    problem: MemoryProblem
    live: tuple[int, ...]
    of_all: int

    @property
    def slack(self) -> int:
        """Bytes more than the largest single case needs: what planning once costs. 0 when one case is largest everywhere."""
        return self.of_all - max(self.live)


def with_dims(graph: Graph, dims: Mapping[str, int]) -> Graph:
    """The graph with symbolic dimensions replaced. OptionError for a negative value or a symbol that stays open."""
    if any(v < 0 for v in dims.values()):
        raise OptionError("a dimension is at least 0", got=dict(dims))
    editor = GraphEditor(graph)
    for t in graph.tensors:
        if t is None or t.shape is None or all(isinstance(d, int) for d in t.shape):
            continue
        open_ = [d for d in t.shape if not isinstance(d, int) and d not in dims]
        if open_:
            raise OptionError("a dimension has no value in this shape case", where=t.name, got=open_[0],
                              todo="Give every symbol a value in every case.")  # fmt: skip
        editor.set_tensor(t.id, shape=tuple(dims[d] if isinstance(d, str) else d for d in t.shape))
    return editor.freeze()


def upper_bound(
    graph: Graph, sequence: Sequence[int], stream: IntArray, cases: Sequence[Mapping[str, int]]
) -> UpperBound:
    """Largest size per buffer over the shape cases. OptionError without a case."""
    if not cases:
        raise OptionError("give at least one shape case, such as {'batch': 8}")
    problems = [build_problem(with_dims(graph, c), sequence, stream) for c in cases]
    first = problems[0]
    if any([b.tensors for b in p.buffers] != [b.tensors for b in first.buffers] for p in problems):
        raise OptionError("the shape cases give different buffers, so they cannot share one plan",
                          todo="An in-place pair holds in one case only: plan the cases apart.")  # fmt: skip
    buffers = tuple(
        replace(
            b,
            size=max(p.buffers[b.id].size for p in problems),
            raw_size=max(p.buffers[b.id].raw_size for p in problems),
        )
        for b in first.buffers
    )
    merged = replace(first, buffers=buffers)
    return UpperBound(merged, tuple(serial_live(p).bytes for p in problems), serial_live(merged).bytes)


def isolated_pools(models: Mapping[str, int]) -> tuple[dict[str, tuple[int, int]], int]:
    """One pool per model: (model -> (base, bytes), bytes that isolation costs compared with models taking turns)."""
    out, base = {}, 0
    for name, size in models.items():
        if size < 0:
            raise OptionError("a pool has at least 0 bytes", where=name, got=size)
        out[name] = (base, size)
        base += size
    return out, base - max(models.values(), default=0)
