"""Tensors that must lie side by side: inputs of a concat without a task, outputs of such a split, tensors of one collective.

Rules: memory.md A13. Without padding (``_no_padding_continuous_input`` / ``_output``) the tensors are pieces of the node's other
side, each right behind the one before it; padded (``continuous_input`` / ``continuous_output``) each starts on 512 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ge_explorer.graph.model import Graph, Node
from ge_explorer.memory.sizes import aligned, padded_size, payload_bytes

PADDED, PIECE = "side by side on 512 bytes", "piece of one buffer"
"""Why tensors of a group share a buffer; shown with the buffer."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Tensors of one node in one piece of memory of ``size`` bytes, the k-th at byte ``steps[k]`` of it."""

    node: int
    tensors: tuple[int, ...]
    steps: tuple[int, ...]
    size: int
    rule: str


def groups(graph: Graph) -> Iterator[SideBySide]:
    """Groups in node order.

    A group is left out when it cannot be laid out: a tensor stands in it twice, already belongs to another group, or is memory
    of its own (a weight, an input); GE copies those before it plans.
    """
    taken: set[int] = set()
    for n in graph:
        for found in _of(graph, n):
            mine = found.tensors
            if len(set(mine)) < len(mine) or taken.intersection(mine):
                continue
            if any(graph.node(graph.tensor(t).producer).is_source for t in mine):
                continue
            taken.update(mine)
            yield found


def _of(graph: Graph, n: Node) -> Iterator[SideBySide]:
    inputs = [t for t in n.inputs if t is not None]
    if n.attrs.get("_no_padding_continuous_input") and len(inputs) > 1 and len(n.outputs) == 1:
        yield _close(graph, n, inputs, n.outputs[0])
    elif n.attrs.get("_no_padding_continuous_output") and len(n.outputs) > 1 and inputs:
        yield _close(graph, n, n.outputs, inputs[0])
    if n.attrs.get("continuous_input") and len(inputs) > 1:
        yield _padded(graph, n, inputs)
    if n.attrs.get("continuous_output") and len(n.outputs) > 1:
        yield _padded(graph, n, n.outputs)


def _close(graph: Graph, n: Node, parts: Sequence[int], whole: int) -> SideBySide:
    """Pieces of ``whole``; it comes last, at byte 0."""
    steps, at = [], 0
    for t in parts:
        steps.append(at)
        at += payload_bytes(graph.tensor(t))[0]
    return SideBySide(n.id, (*parts, whole), (*steps, 0), padded_size(at), PIECE)


def _padded(graph: Graph, n: Node, parts: Sequence[int]) -> SideBySide:
    steps, at = [], 0
    for t in parts:
        steps.append(at)
        at += aligned(padded_size(payload_bytes(graph.tensor(t))[0]))
    return SideBySide(n.id, tuple(parts), tuple(steps), at, PADDED)
