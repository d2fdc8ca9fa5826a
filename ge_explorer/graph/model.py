"""The graph: tensors, nodes, scopes. Immutable; ``GraphEditor`` (edit.py) is the only way to a changed one.

Edge lists keep *creation order*, because GE's topological sort and event insertion walk it (spec: order.md section 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ge_explorer.errors import GraphError, did_you_mean

Dim = int | str | None
"""A known size, a symbol, or unknown."""
Shape = tuple[Dim, ...]
Attrs = Mapping[str, Any]
IntArray = NDArray[np.int32]

DATA_LIKE = frozenset({"Data", "RefData", "AippData", "AnnData"})
CONST_LIKE = frozenset({"Const", "Constant", "FileConstant", "ConstPlaceHolder"})
VARIABLE_LIKE = frozenset({"Variable", "VariableV2"})
SOURCE_LIKE = DATA_LIKE | CONST_LIKE | VARIABLE_LIKE
"""Types that hold data and run nothing; GE gives them no stream."""

DTYPE_BITS: Mapping[str, int] = MappingProxyType(
    {
        "float": 32, "float16": 16, "bfloat16": 16, "double": 64, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "int8": 8,
        "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64, "bool": 8,
        "complex64": 64, "complex128": 128, "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e8m0": 8, "float4_e2m1": 4,
        "hifloat8": 8, "string": 128, "resource": 64,
    }
)  # fmt: skip
"""Bits per element, GE's names (hicann/metadef base/utils/type_utils_impl.cc; a string counts 16 bytes)."""

_EMPTY: Attrs = MappingProxyType({})
_STRUCTURE = (
    "node_ids",
    "by_name",
    "unique_names",
    "data_out",
    "data_in",
    "control_out",
    "succ",
    "pred",
    "dependencies",
    "ops",
    "edge_at",
)
"""Cached properties that stay valid while nodes, names and edges stay the same."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One output of a node. ``shape`` None: rank unknown; a dim None: size unknown. ``attrs`` are GE output attributes."""

    id: int
    name: str
    producer: int
    index: int
    shape: Shape | None = None
    dtype: str | None = None
    attrs: Attrs = field(default_factory=lambda: _EMPTY)

    @property
    def elements(self) -> int | None:
        """Number of elements; None while any dimension is unknown."""
        if self.shape is None:
            return None
        total = 1
        for d in self.shape:
            if not isinstance(d, int) or d < 0:
                return None
            total *= d
        return total

    @property
    def nbytes(self) -> int | None:
        """Raw bytes (elements × dtype, no padding); None when shape or dtype is unknown."""
        n = self.elements
        bits = DTYPE_BITS.get(self.dtype or "")
        return None if n is None or bits is None else (n * bits + 7) // 8


@dataclass(frozen=True, slots=True)
class Node:
    """One operator.

    ``op`` is GE's operator type, ``source_op`` the type in the file it came from ("" when built here).
    ``inputs`` are tensor ids (None: absent optional input), ``control_in`` node ids, ``subgraphs`` scope ids it owns.
    ``origin`` lists the ids this node was made from by a rewrite (empty: it was there from the start).
    """

    id: int
    name: str
    op: str
    inputs: tuple[int | None, ...] = ()
    outputs: tuple[int, ...] = ()
    control_in: tuple[int, ...] = ()
    attrs: Attrs = field(default_factory=lambda: _EMPTY)
    scope: int = 0
    subgraphs: tuple[int, ...] = ()
    source_op: str = ""
    origin: tuple[int, ...] = ()

    @property
    def is_source(self) -> bool:
        """Data, Const and Variable: hold data, run nothing."""
        return self.op in SOURCE_LIKE


@dataclass(frozen=True, slots=True)
class Scope:
    """The root graph (id 0) or a subgraph. ``nodes`` is the direct-node list in GE's list order."""

    id: int
    name: str
    nodes: tuple[int, ...] = ()
    parent: int = -1
    dynamic: bool = False
    attrs: Attrs = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True, slots=True)
class Edge:
    """Data edge ``src:src_out -> dst:dst_in``."""

    src: int
    src_out: int
    dst: int
    dst_in: int


_by_output, _by_input = attrgetter("src_out"), attrgetter("dst_in")


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes of all scopes, tensors, and edges in creation order.

    ``nodes[i]`` and ``tensors[i]`` are None where a pass removed them. Control edges that hang on a data output are rare
    and become plain control edges.
    """

    name: str
    nodes: tuple[Node | None, ...]
    tensors: tuple[Tensor | None, ...]
    scopes: tuple[Scope | None, ...]
    edges: tuple[Edge, ...]
    control: tuple[tuple[int, int], ...]
    attrs: Attrs = field(default_factory=lambda: _EMPTY)
    notes: tuple[str, ...] = ()

    # ---------------------------------------------------------------- access
    @property
    def id_bound(self) -> int:
        """Length of every per-node array (largest node id + 1)."""
        return len(self.nodes)

    @cached_property
    def node_ids(self) -> tuple[int, ...]:
        """Ids of the nodes that exist, ascending."""
        return tuple(i for i, n in enumerate(self.nodes) if n is not None)

    def __len__(self) -> int:
        return len(self.node_ids)

    def __iter__(self) -> Iterator[Node]:
        return (n for n in self.nodes if n is not None)

    def node(self, ref: int | str) -> Node:
        """Node by id or name; GraphError with the closest names when there is none."""
        if isinstance(ref, str):
            found = self.by_name.get(ref)
            if found is None:
                raise GraphError(
                    f"no node named {ref!r}", where=self.name, todo=did_you_mean(ref, list(self.by_name)[:5000])
                )
            ref = found
        node = self.nodes[ref] if 0 <= ref < len(self.nodes) else None
        if node is None:
            raise GraphError(f"no node with id {ref}", where=self.name)
        return node

    @cached_property
    def ops(self) -> frozenset[str]:
        """Operator types that occur: a pass that looks for some types asks this before it walks the nodes."""
        return frozenset(n.op for n in self.nodes if n is not None)

    @cached_property
    def by_name(self) -> dict[str, int]:
        """Unique name -> node id (see ``unique_names``)."""
        return {n: i for i, n in self.unique_names.items()}

    @cached_property
    def unique_names(self) -> dict[int, str]:
        """Node id -> name, prefixed by ``scope/`` only where two scopes use the same name."""
        count: dict[str, int] = {}
        for n in self:
            count[n.name] = count.get(n.name, 0) + 1
        out: dict[int, str] = {}
        taken: set[str] = set()
        for n in self:
            name = n.name if count[n.name] == 1 or n.scope == 0 else f"{self.scope(n.scope).name}/{n.name}"
            base, k = name, 1
            while name in taken or (k > 1 and name in count):
                name, k = f"{base}#{k}", k + 1
            taken.add(name)
            out[n.id] = name
        return out

    def tensor(self, i: int) -> Tensor:
        """Tensor by id."""
        t = self.tensors[i] if 0 <= i < len(self.tensors) else None
        if t is None:
            raise GraphError(f"no tensor with id {i}", where=self.name)
        return t

    def scope(self, i: int) -> Scope:
        """Scope by id."""
        s = self.scopes[i] if 0 <= i < len(self.scopes) else None
        if s is None:
            raise GraphError(f"no scope with id {i}", where=self.name)
        return s

    @property
    def root(self) -> Scope:
        """The root scope (id 0)."""
        return self.scope(0)

    # ---------------------------------------------------------------- adjacency
    @cached_property
    def data_out(self) -> tuple[tuple[Edge, ...], ...]:
        """Per node: its out edges, by output index, then creation order (GE's anchor walk). One entry per edge."""
        out: list[list[Edge]] = [[] for _ in self.nodes]
        for e in self.edges:
            out[e.src].append(e)
        for row in out:
            if len(row) > 1:
                row.sort(key=_by_output)
        return tuple(tuple(r) for r in out)

    @cached_property
    def data_in(self) -> tuple[tuple[Edge, ...], ...]:
        """Per node: its in edges by input index."""
        into: list[list[Edge]] = [[] for _ in self.nodes]
        for e in self.edges:
            into[e.dst].append(e)
        for row in into:
            if len(row) > 1:
                row.sort(key=_by_input)
        return tuple(tuple(r) for r in into)

    @cached_property
    def edge_at(self) -> Mapping[tuple[int, int], Edge]:
        """(node, input index) -> the edge that feeds it, in creation order."""
        return {(e.dst, e.dst_in): e for e in self.edges}

    @cached_property
    def control_out(self) -> tuple[tuple[int, ...], ...]:
        """Per node: control consumers in creation order."""
        out: list[list[int]] = [[] for _ in self.nodes]
        for a, b in self.control:
            out[a].append(b)
        return tuple(tuple(r) for r in out)

    @cached_property
    def succ(self) -> tuple[tuple[int, ...], ...]:
        """Per node: consumers in GE's walk order (data by output, then control). One entry per edge, repeats kept."""
        return tuple(tuple([e.dst for e in d]) + c for d, c in zip(self.data_out, self.control_out, strict=True))

    @cached_property
    def pred(self) -> tuple[tuple[int, ...], ...]:
        """Per node: producers (data by input index, then control). One entry per edge."""
        control: list[list[int]] = [[] for _ in self.nodes]
        for a, b in self.control:
            control[b].append(a)
        return tuple(tuple([e.src for e in d]) + tuple(c) for d, c in zip(self.data_in, control, strict=True))

    @cached_property
    def dependencies(self) -> tuple[tuple[int, int], ...]:
        """All (producer, consumer) pairs, data then control, distinct, first-seen order; within scopes only."""
        return tuple(dict.fromkeys([(e.src, e.dst) for e in self.edges] + list(self.control)))

    # ---------------------------------------------------------------- changed copies that keep the structure
    def with_attrs(self, changes: Mapping[int, Attrs]) -> Graph:
        """Copy with node attributes merged in (value None deletes the key). Adjacency caches are shared."""
        nodes = list(self.nodes)
        for i, new in changes.items():
            n = self.node(i)
            merged = {k: v for k, v in {**n.attrs, **new}.items() if v is not None}
            nodes[i] = replace(n, attrs=MappingProxyType(merged))
        return self._same_structure(replace(self, nodes=tuple(nodes)), *_STRUCTURE, "_walked")

    def with_scope_order(self, lists: Mapping[int, Sequence[int]]) -> Graph:
        """Copy whose scopes list their direct nodes in the given order (same nodes)."""
        scopes = list(self.scopes)
        for i, order in lists.items():
            scope = self.scope(i)
            if sorted(order) != sorted(scope.nodes):
                raise GraphError("new node list has other nodes", where=f"scope {scope.name}")
            scopes[i] = replace(scope, nodes=tuple(order))
        return self._same_structure(replace(self, scopes=tuple(scopes)), *_STRUCTURE)

    def _same_structure(self, copy: Graph, *keys: str) -> Graph:
        for key in keys:
            if key in self.__dict__:
                copy.__dict__[key] = self.__dict__[key]
        return copy

    # ---------------------------------------------------------------- scopes
    def walk(self) -> list[int]:
        """GE's ``AllGraphNodes``: direct nodes of the root; right after a holder the nodes of its subgraphs, first first.

        Source: graph_metadef/graph/normal_graph/compute_graph.cc.
        """
        return list(self._walked)

    @cached_property
    def _walked(self) -> tuple[int, ...]:
        out: list[int] = []
        stack = [iter(self.root.nodes)]
        while stack:
            i = next(stack[-1], None)
            if i is None:
                stack.pop()
                continue
            out.append(i)
            inner = [j for s in self.node(i).subgraphs for j in self.scope(s).nodes]
            if inner:
                stack.append(iter(inner))
        return tuple(out)

    def subgraph_order(self) -> list[int]:
        """Scope ids in the order of GE's ``GetAllSubgraphs`` after a sort: holders in walk order, branches LAST to first,
        a nested scope after its parent scope (streams.md section 12.1, recorded).
        """
        out: list[int] = []
        for i in self._walked:
            out.extend(reversed(self.node(i).subgraphs))
        return out


def frozen(attrs: Mapping[str, Any] | None) -> Attrs:
    """Read-only copy of an attribute mapping."""
    return MappingProxyType(dict(attrs)) if attrs else _EMPTY
