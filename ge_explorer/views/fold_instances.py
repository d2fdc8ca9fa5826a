"""What can be folded: calls of local functions, modules and name scopes, as chains of instances from the outside in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Literal

from ge_explorer.graph.model import Graph, Node
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot

Kind = Literal["function", "scope"]
FOLDS: Mapping[str, Text] = MappingProxyType(
    {"": Text("unfolded", "展开"), "functions": Text("functions", "函数"), "scopes": Text("modules", "模块")}
)
"""Values of ``Folding.kind``. Modules are those of PyTorch where a file has them, else the scopes of names (``a/b/c``)."""
FUNCTION, CALL, MODULE = "_gx_function", "_gx_call", "_gx_module"
_OF: Mapping[str, Kind] = {"functions": "function", "scopes": "scope"}


@dataclass(frozen=True, slots=True)
class Instance:
    """One call, module or scope. ``key`` is stable over sessions; ``type`` is the function's name ("" for scopes)."""

    key: str
    kind: Kind
    title: str
    type: str = ""
    parent: str = ""


@dataclass(frozen=True)
class Folding:
    """What is folded: all instances of ``kind`` ("" none), except that those in ``flipped`` are the other way."""

    kind: str = ""
    flipped: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        """True when no instance can be folded by this."""
        return not self.kind and not self.flipped


@dataclass(frozen=True)
class Instances:
    """Chains of all nodes of all states: ``chain`` per node, outermost first. ``large``: scopes that hold most of the graph."""

    found: Mapping[str, Instance]
    chain: Mapping[int, tuple[str, ...]]
    sizes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Which of ``FOLDS`` do something here."""
        there = {x.kind for k, x in self.found.items() if self.sizes[k] > 1}
        return tuple(name for name, kind in _OF.items() if kind in there)

    def folded(self, folding: Folding, key: str) -> bool:
        """Is this instance folded? A scope that holds more than half of the graph is open unless it was flipped."""
        x = self.found[key]
        usual = _OF.get(folding.kind) == x.kind and (x.kind == "function" or 2 * self.sizes[key] <= len(self.chain))
        return usual != (key in folding.flipped)

    def box_of(self, folding: Folding, node: int) -> str:
        """The outermost folded instance that holds a node; "" for none."""
        return next((k for k in self.chain.get(node, ()) if self.sizes[k] > 1 and self.folded(folding, k)), "")


def instances(states: Sequence[Snapshot]) -> Instances:
    """Chains of the operators of all states. A node made by a rewrite belongs where all it was made from belongs."""
    found: dict[str, Instance] = {}
    chain: dict[int, tuple[str, ...]] = {}
    seen: set[int] = set()
    before: Graph | None = None
    for s in states:
        if s.graph is before:
            continue
        before = s.graph
        for n in s.graph:
            if n.id in seen or n.is_source or n.op in SYNC_OPS or n.subgraphs or n.op == "NetOutput":
                continue
            seen.add(n.id)
            own = tuple(_chain(n, found))
            if not own and n.origin:
                own = _common(chain[o] for o in n.origin if o in chain)
            chain[n.id] = own
    sizes = Counter(k for keys in chain.values() for k in keys)
    return Instances(found, chain, sizes)


def _chain(n: Node, found: dict[str, Instance]) -> Iterable[str]:
    names, types = n.attrs.get(CALL, ()), n.attrs.get(FUNCTION, ())
    parent = ""
    for name, kind in zip(names, types, strict=False):
        parent = _add(found, Instance(f"f:{name}", "function", str(name), str(kind), parent))
        yield parent
    parent = ""
    for path in _paths(n):
        parent = _add(found, Instance(f"s:{path}", "scope", path, "", parent))
        yield parent


def _paths(n: Node) -> list[str]:
    """Nested scopes of a node: of its PyTorch module, else of its name."""
    module = n.attrs.get(MODULE)
    sign = "." if module else "/"
    parts = str(module).split(".") if module else [p for p in n.name.split("/") if p][:-1]
    return list(accumulate((p for p in parts if p), lambda a, b: f"{a}{sign}{b}"))


def _add(found: dict[str, Instance], x: Instance) -> str:
    found.setdefault(x.key, x)
    return x.key


def _common(chains: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Keys that all chains hold, in order."""
    every = list(chains)
    return tuple(k for k in every[0] if all(k in c for c in every[1:])) if every else ()
