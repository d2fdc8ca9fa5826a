"""A small pattern matcher: trees of operators with placeholders, matched from the last node upwards.

Rules as in GE's pattern fusion (fusion_pattern_pass.md): types equal, edges equal, and *self-contained*: an inner result may
not be read outside the pattern. Shared subtrees are written by giving two places the same capture name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, Graph, Node


@dataclass(frozen=True, slots=True)
class In:
    """Boundary tensor. The same name must be the same tensor wherever it stands; ``const`` asks for a constant producer."""

    name: str
    const: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A constant whose elements all equal ``value`` (relative tolerance ``rtol``); None: any one-element constant."""

    value: float | None = None
    name: str = ""
    rtol: float = 2e-3


@dataclass(frozen=True, slots=True)
class Op:
    """An operator of one of ``types`` with these inputs. ``swap``: its first two inputs may stand the other way round.

    Inputs beyond ``inputs`` must be absent, unless ``more`` (a reduction may have its axes as an input).
    """

    types: tuple[str, ...]
    inputs: tuple[Pattern, ...]
    name: str = ""
    swap: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class Either:
    """The first of several patterns that matches."""

    choices: tuple[Pattern, ...]


Pattern: TypeAlias = In | Number | Op | Either


@dataclass(frozen=True, slots=True)
class Match:
    """``nodes``: capture name -> node id; ``tensors``: placeholder -> tensor id; ``numbers``: constants by name;
    ``members``: all matched operators, root first.
    """

    nodes: Mapping[str, int] = field(default_factory=dict)
    tensors: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    members: tuple[int, ...] = ()


def match(g: Graph, pattern: Op, root: int) -> Match | None:
    """Match ``pattern`` with its last operator at ``root``; None when it does not fit or an inner result is read outside."""
    for found in _node(g, pattern, root, Match()):
        if self_contained(g, found.members, (root,)):
            return found
    return None


def self_contained(g: Graph, members: Sequence[int], ends: Sequence[int]) -> bool:
    """True if only the ``ends`` of the member set are read (by data) outside it, and all lie in one scope."""
    inside = set(members)
    if len({g.node(m).scope for m in members}) > 1:
        return False
    return all(e.dst in inside for m in members if m not in ends for e in g.data_out[m])


def _any(g: Graph, pattern: Pattern, tensor: int | None, so_far: Match) -> Iterator[Match]:
    if tensor is None:
        return
    if isinstance(pattern, Either):
        for choice in pattern.choices:
            yield from _any(g, choice, tensor, so_far)
    elif isinstance(pattern, Op):
        t = g.tensor(tensor)
        if t.index == 0:
            yield from _node(g, pattern, t.producer, so_far)
    elif isinstance(pattern, In):
        known = so_far.tensors.get(pattern.name)
        if (known is None or known == tensor) and (not pattern.const or is_const(g, tensor)):
            yield _with(so_far, tensors={pattern.name: tensor})
    else:
        got = number(g, tensor)
        if got is not None and (
            pattern.value is None or bool(np.isclose(got, pattern.value, rtol=pattern.rtol, atol=0))
        ):
            yield _with(so_far, numbers={pattern.name: got} if pattern.name else {})


def _node(g: Graph, pattern: Op, i: int, so_far: Match) -> Iterator[Match]:
    n = g.node(i)
    if n.op not in pattern.types or n.subgraphs:
        return
    if pattern.name and pattern.name in so_far.nodes:
        if so_far.nodes[pattern.name] == i:
            yield so_far
        return
    if i in so_far.members or len(n.inputs) < len(pattern.inputs) or (not pattern.more and _extra(n, pattern)):
        return
    start = Match(
        {**so_far.nodes, **({pattern.name: i} if pattern.name else {})}, so_far.tensors, so_far.numbers,
        (*so_far.members, i),
    )  # fmt: skip
    orders = [pattern.inputs]
    if pattern.swap and len(pattern.inputs) > 1:
        orders.append((pattern.inputs[1], pattern.inputs[0], *pattern.inputs[2:]))
    for order in orders:
        yield from _inputs(g, n, order, 0, start)


def _extra(n: Node, pattern: Op) -> bool:
    return any(t is not None for t in n.inputs[len(pattern.inputs) :])


def _inputs(g: Graph, n: Node, wanted: tuple[Pattern, ...], k: int, so_far: Match) -> Iterator[Match]:
    if k == len(wanted):
        yield so_far
        return
    for found in _any(g, wanted[k], n.inputs[k], so_far):
        yield from _inputs(g, n, wanted, k + 1, found)


def _with(m: Match, tensors: Mapping[str, int] | None = None, numbers: Mapping[str, float] | None = None) -> Match:
    return Match(m.nodes, {**m.tensors, **(tensors or {})}, {**m.numbers, **(numbers or {})}, m.members)


# ---------------------------------------------------------------- constants
def is_const(g: Graph, tensor: int | None) -> bool:
    """True if the tensor comes straight from a constant node."""
    return tensor is not None and g.node(g.tensor(tensor).producer).op in CONST_LIKE


def value_of(g: Graph, tensor: int | None) -> NDArray[np.generic] | None:
    """Values of a constant tensor; None when it is no constant or its values were not kept."""
    if tensor is None or not is_const(g, tensor):
        return None
    value = g.node(g.tensor(tensor).producer).attrs.get(VALUE)
    return value.array() if isinstance(value, ConstantValue) else None


def number(g: Graph, tensor: int | None) -> float | None:
    """The one number a constant holds (all elements equal); None otherwise."""
    array = value_of(g, tensor)
    if array is None or array.size == 0 or array.dtype.kind not in "fiub":
        return None
    first = float(array.ravel()[0])
    return first if bool(np.all(array == array.ravel()[0])) else None


def integers(g: Graph, n: Node, attr_names: Sequence[str], input_index: int | None = None) -> tuple[int, ...] | None:
    """A list of integers given as an attribute (one of ``attr_names``) or as a constant input."""
    for key in attr_names:
        value = n.attrs.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return (value,)
        if isinstance(value, list | tuple) and all(isinstance(v, int) for v in value):
            return tuple(value)
    if input_index is None or input_index >= len(n.inputs):
        return None
    array = value_of(g, n.inputs[input_index])
    return None if array is None or array.dtype.kind not in "iu" else tuple(int(v) for v in array.ravel())
