"""Common subexpressions: nodes that surely compute the same value, and the graph without the copies.

Idea (article, memory.md B4): a fingerprint of type, inputs and attributes. In GE this is a graph pass, not a step of the memory
planner (common_subexpression_elimination_pass.cc). Keys here are compared as a whole instead of as a short hash, a source equals
only itself, output index, data types, shapes, control inputs and scope count, and whatever is random, keeps state, communicates or
has side effects is left alone. A copy is removed and its readers are rewired: two nodes that both stay must never share one buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph, Node

_UNSAFE_WORDS = ("random", "dropout", "genmask", "dsa", "hcom", "horovod", "allreduce", "allgather", "broadcast", "send", "recv",
                 "variable", "assign", "stack", "queue", "getnext", "print", "assert", "summary", "enter", "merge", "switch",
                 "nextiteration", "exit", "sort", "topk", "reduce", "multinomial", "netoutput", "stream", "label")  # fmt: skip
"""Parts of type names that mark a node as not safe to merge: random, stateful, collective, control flow, order-dependent."""


@dataclass(frozen=True, slots=True)
class Common:
    """``keep`` computes what every node of ``copies`` computes."""

    keep: int
    copies: tuple[int, ...]


def is_safe(n: Node) -> bool:
    """False for a node that must run as often as it stands in the graph."""
    name = n.op.lower()
    return not (n.is_source or n.subgraphs or not n.outputs or any(w in name for w in _UNSAFE_WORDS))


def common_subexpressions(graph: Graph) -> tuple[Common, ...]:
    """Groups of equal nodes, in graph order."""
    first: dict[Any, int] = {}
    same: dict[int, list[int]] = {}
    value: dict[int, tuple[int, int]] = {}
    stand: dict[int, int] = {}
    for v in graph.walk():
        n = graph.node(v)
        keep = v
        if is_safe(n) and all(t is None or t in value for t in n.inputs):
            keep = first.setdefault(_key(graph, n, value, stand), v)
        stand[v] = keep
        for k, t in enumerate(n.outputs):
            value[t] = (keep, k)
        if keep != v:
            same.setdefault(keep, []).append(v)
    return tuple(Common(k, tuple(c)) for k, c in sorted(same.items()))


def _key(graph: Graph, n: Node, value: Mapping[int, tuple[int, int]], stand: Mapping[int, int]) -> Any:
    outs = tuple((graph.tensor(t).dtype, graph.tensor(t).shape, _frozen(graph.tensor(t).attrs)) for t in n.outputs)
    return (
        n.op, n.scope, tuple(None if t is None else value[t] for t in n.inputs), outs,
        frozenset(stand.get(c, c) for c in n.control_in), _frozen(n.attrs),
    )  # fmt: skip


def _frozen(x: Any) -> Any:
    """Hashable form that keeps types apart: 1, 1.0 and True are three values, "a=1+b=2" is one text."""
    if isinstance(x, Mapping):
        return "map", tuple(sorted((k, _frozen(v)) for k, v in x.items()))
    if isinstance(x, list | tuple):
        return "list", tuple(_frozen(v) for v in x)
    return type(x).__name__, x if isinstance(x, str | int | float | bool | bytes) else repr(x)


def without_copies(graph: Graph, found: tuple[Common, ...]) -> Graph:
    """Rewire the readers of every copy to the node that stays, then remove the copies."""
    editor = GraphEditor(graph)
    for c in found:
        keep = graph.node(c.keep)
        for copy in c.copies:
            for old, new in zip(graph.node(copy).outputs, keep.outputs, strict=True):
                editor.redirect(old, new)
            for after in graph.control_out[copy]:
                editor.add_control(c.keep, after)
    editor.remove_nodes([copy for c in found for copy in c.copies])
    return editor.freeze()
