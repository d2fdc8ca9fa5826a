"""One id space over several dumps: a node that keeps its name keeps its id, so that any two stages can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from ge_explorer.graph.model import Edge, Graph, Node, Scope, Tensor
from ge_explorer.loaders.ge_recorded import Recorded
from ge_explorer.loaders.report import LoadResult

ORIGINAL_NAMES = "_datadump_original_op_names"
"""GE's list of the operators a fused one was made of."""
V = TypeVar("V")


@dataclass
class _Ids:
    """Ids given so far: scope by name, node by (scope, name), tensor by (node, output)."""

    scopes: dict[str, int] = field(default_factory=lambda: {"": 0})
    nodes: dict[tuple[int, str], int] = field(default_factory=dict)
    tensors: dict[tuple[int, int], int] = field(default_factory=dict)
    by_name: dict[str, int] = field(default_factory=dict)


def align(results: Sequence[LoadResult]) -> list[LoadResult]:
    """The same results with common ids. A new node that GE made of earlier ones gets them as ``origin``."""
    ids = _Ids()
    return [_renumber(r, ids) for r in results]


def _renumber(result: LoadResult, ids: _Ids) -> LoadResult:
    g = result.graph
    scope_of = {s.id: ids.scopes.setdefault(s.name if s.id else "", len(ids.scopes)) for s in g.scopes if s is not None}
    known = set(ids.by_name)
    node_of: dict[int, int] = {}
    for n in g:
        node_of[n.id] = ids.nodes.setdefault((scope_of[n.scope], n.name), len(ids.nodes))
    tensor_of = {
        t.id: ids.tensors.setdefault((node_of[t.producer], t.index), len(ids.tensors))
        for t in g.tensors
        if t is not None
    }
    origin: dict[int, tuple[int, ...]] = {}
    for n in g:
        if n.name not in known:
            names = n.attrs.get(ORIGINAL_NAMES, ())
            found = (ids.by_name[x] for x in (names if isinstance(names, tuple) else ()) if x in known)
            origin[n.id] = tuple(dict.fromkeys(found))
    for n in g:
        ids.by_name.setdefault(n.name, node_of[n.id])
    nodes: list[Node | None] = [None] * len(ids.nodes)
    for n in g:
        nodes[node_of[n.id]] = replace(
            n, id=node_of[n.id], inputs=tuple(None if t is None else tensor_of[t] for t in n.inputs),
            outputs=tuple(tensor_of[t] for t in n.outputs), control_in=tuple(node_of[c] for c in n.control_in),
            scope=scope_of[n.scope], subgraphs=tuple(scope_of[s] for s in n.subgraphs), origin=origin.get(n.id, ()),
        )  # fmt: skip
    tensors: list[Tensor | None] = [None] * len(ids.tensors)
    for t in g.tensors:
        if t is not None:
            tensors[tensor_of[t.id]] = replace(t, id=tensor_of[t.id], producer=node_of[t.producer])
    scopes: list[Scope | None] = [None] * len(ids.scopes)
    for s in g.scopes:
        if s is not None:
            parent = node_of[s.parent] if s.parent >= 0 else -1
            scopes[scope_of[s.id]] = replace(
                s, id=scope_of[s.id], nodes=tuple(node_of[i] for i in s.nodes), parent=parent
            )
    graph = Graph(
        g.name, tuple(nodes), tuple(tensors), tuple(scopes),
        tuple(Edge(node_of[e.src], e.src_out, node_of[e.dst], e.dst_in) for e in g.edges),
        tuple((node_of[a], node_of[b]) for a, b in g.control), g.attrs, g.notes,
    )  # fmt: skip
    r = result.recorded
    return replace(result, graph=graph, recorded=None if r is None else _facts(r, node_of, tensor_of))


def _facts(r: Recorded, node_of: Mapping[int, int], tensor_of: Mapping[int, int]) -> Recorded:
    node = node_of.__getitem__

    def end(i: int) -> int:
        return node_of[i] if i >= 0 else -1

    return replace(
        r, order=_keys(r.order, node), streams=_keys(r.streams, node), logic_streams=_keys(r.logic_streams, node),
        attached=_keys(r.attached, node), active=_keys(r.active, node), workspace=_keys(r.workspace, node),
        offsets=_keys(r.offsets, tensor_of.__getitem__), sizes=_keys(r.sizes, tensor_of.__getitem__),
        events=tuple(
            replace(e, send=node(e.send), recv=node(e.recv), send_node=end(e.send_node), recv_node=end(e.recv_node))
            for e in r.events
        ),
    )  # fmt: skip


def _keys(m: Mapping[int, V], to: Callable[[int], int]) -> Mapping[int, V]:
    out: dict[int, Any] = {to(k): v for k, v in m.items()}
    return MappingProxyType(out)
