"""Is a graph read from outside consistent? Every id points at something, and edges agree with the nodes' own lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ge_explorer.errors import GraphError
from ge_explorer.graph.model import Graph

DIM_KINDS = (int, str, type(None))


def check_graph(g: Graph) -> None:
    """GraphError naming the first node, tensor, scope or edge that is wrong."""
    if not g.scopes or g.scopes[0] is None:
        _fail("there is no root scope", "scopes")
    for i, s in enumerate(g.scopes):
        if s is None:
            continue
        _same(s.id, i, f"scope {i}")
        _kinds(f"scope {i}", (s.name, str), (s.nodes, tuple), (s.parent, int), (s.dynamic, bool), (s.attrs, Mapping))
        for n in s.nodes:
            _index(n, g.nodes, f"scope {i}")
        if s.parent != -1:
            _index(s.parent, g.nodes, f"scope {i}")
    for i, node in enumerate(g.nodes):
        if node is None:
            continue
        where = f"node {i}"
        _same(node.id, i, where)
        _kinds(
            where, (node.name, str), (node.op, str), (node.inputs, tuple), (node.outputs, tuple), (node.control_in, tuple),
            (node.attrs, Mapping), (node.scope, int), (node.subgraphs, tuple), (node.source_op, str), (node.origin, tuple),
        )  # fmt: skip
        for used in (*(x for x in node.inputs if x is not None), *node.outputs):
            _index(used, g.tensors, where)
        for before in node.control_in:
            _index(before, g.nodes, where)
        for scope in (node.scope, *node.subgraphs):
            _index(scope, g.scopes, where)
        if any(not isinstance(k, str) for k in node.attrs) or any(not isinstance(o, int) for o in node.origin):
            _fail("an attribute name is no text or an origin no id", where)
    for i, t in enumerate(g.tensors):
        if t is None:
            continue
        where = f"tensor {i}"
        _same(t.id, i, where)
        _kinds(where, (t.name, str), (t.producer, int), (t.index, int), (t.attrs, Mapping))
        if not (t.shape is None or (isinstance(t.shape, tuple) and all(isinstance(d, DIM_KINDS) for d in t.shape))):
            _fail("a shape is no tuple of sizes", where, t.shape)
        if not (t.dtype is None or isinstance(t.dtype, str)):
            _fail("a type is no text", where, t.dtype)
        _index(t.producer, g.nodes, where)
        outputs = g.node(t.producer).outputs
        if not (0 <= t.index < len(outputs) and outputs[t.index] == i):
            _fail("a tensor is not the output of its producer", where)
    _members(g)
    _edges(g)


def _members(g: Graph) -> None:
    """Each node is listed once, scopes form a tree, names are unique in a scope."""
    if sum(len(s.nodes) for s in g.scopes if s is not None) != len(g):
        _fail("a node is missing from the list of its scope, or listed twice", "scopes")
    for s in g.scopes:
        if s is None:
            continue
        names = [g.node(n).name for n in s.nodes]
        if len(set(names)) != len(names) or len(set(s.nodes)) != len(s.nodes):
            _fail("two nodes of a scope have one name or id", f"scope {s.id}")
        if any(g.node(n).scope != s.id for n in s.nodes):
            _fail("a scope lists a node of another scope", f"scope {s.id}")
        seen, at = {s.id}, s
        while at.parent >= 0:
            at = g.scope(g.node(at.parent).scope)
            if at.id in seen:
                _fail("a scope holds itself", f"scope {s.id}")
            seen.add(at.id)
    for n in g:
        for child in n.subgraphs:
            if g.scope(child).parent != n.id:
                _fail("a subgraph names another owner", f"node {n.id}")


def _edges(g: Graph) -> None:
    told = set()
    for e in g.edges:
        where = f"edge {e.src}:{e.src_out} -> {e.dst}:{e.dst_in}"
        _index(e.src, g.nodes, where)
        _index(e.dst, g.nodes, where)
        outputs, inputs = g.node(e.src).outputs, g.node(e.dst).inputs
        if not (
            0 <= e.src_out < len(outputs) and 0 <= e.dst_in < len(inputs) and inputs[e.dst_in] == outputs[e.src_out]
        ):
            _fail("an edge and the node's inputs disagree", where)
        told.add((e.dst, e.dst_in))
    if len(told) != len(g.edges) or len(told) != sum(t is not None for n in g for t in n.inputs):
        _fail("an input has no edge, or two", "edges")
    for a, b in g.control:
        _index(a, g.nodes, "control")
        _index(b, g.nodes, "control")
    if sorted(g.control) != sorted((c, n.id) for n in g for c in n.control_in):
        _fail("control edges and the nodes' lists disagree", "control")


def _fail(what: str, where: str, got: Any = None) -> NoReturn:
    raise GraphError(what, where=where, got=got)


def _same(a: Any, b: int, where: str) -> None:
    if a != b or isinstance(a, bool):
        _fail("an id is not its place", where, a)


def _kinds(where: str, *pairs: tuple[Any, Any]) -> None:
    for value, kind in pairs:
        if not isinstance(value, kind):
            _fail("a field has the wrong type", where, value)


def _index(i: Any, table: tuple[Any, ...], where: str) -> None:
    if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < len(table) or table[i] is None:
        _fail("an id points at nothing", where, i)
