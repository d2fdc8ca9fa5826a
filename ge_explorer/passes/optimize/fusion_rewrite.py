"""Replace a set of nodes by one: edges, names of the originals, inherited attributes, constants that lose their reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from ge_explorer.graph.constant import NUMPY_DTYPES, VALUE, VALUE_LIMIT, ConstantValue
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import CONST_LIKE, Graph, Shape
from ge_explorer.passes.optimize.fusion_duration import PREFIX, fused_duration
from ge_explorer.passes.optimize.fusion_legality import inherited
from ge_explorer.passes.optimize.fusion_recipe import RECIPE, Recipe, compute

ORIGINAL_NAMES, ORIGINAL_TYPES = "_datadump_original_op_names", "_datadump_original_op_types"
FROM_FOLDING = "_is_from_constant_folding"
OUTPUT_ORIGIN = "_datadump_origin_name"

_PLACES: WeakKeyDictionary[Graph, dict[int, int]] = WeakKeyDictionary()
"""Place of each node in its scope's list, per graph."""


@dataclass(frozen=True, slots=True)
class NewConst:
    """A constant the rewrite makes, its values told by ``recipe`` (they may be too large to be kept or not in the file)."""

    name: str
    shape: Shape | None
    dtype: str | None
    recipe: Recipe
    origin: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """``members`` (execution order) become one node ``name`` of type ``op``.

    ``inputs`` are tensor ids, new constants or None; ``outputs`` the old tensors its outputs replace, in order.
    """

    members: tuple[int, ...]
    op: str
    name: str
    inputs: tuple[int | NewConst | None, ...]
    outputs: tuple[int, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)


def original_names(g: Graph, members: Sequence[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and types of the originals, flattened in order, as GE's RecordOriginalNames does."""
    names: list[str] = []
    types: list[str] = []
    for m in members:
        n = g.node(m)
        known = n.attrs.get(ORIGINAL_NAMES)
        listed = [str(x) for x in known] if isinstance(known, list | tuple) else []
        kinds = n.attrs.get(ORIGINAL_TYPES)
        kinds = [str(x) for x in kinds] if isinstance(kinds, list | tuple) else []
        names += listed or [n.name]
        types += kinds if listed and len(kinds) == len(listed) else [n.op] * (len(listed) or 1)
    return tuple(names), tuple(types)


def apply_all(g: Graph, rewrites: Sequence[Rewrite]) -> tuple[Graph, tuple[tuple[Rewrite, int], ...]]:
    """Graph with every rewrite done, and (rewrite, new node id) of each. Member sets must not overlap.

    Two fusions that are legal alone can close a loop together; the later one is then left out.
    """
    done = _apply(g, rewrites)
    if acyclic(done[0]):
        return done
    kept: list[Rewrite] = []
    for r in rewrites:
        if acyclic(_apply(g, [*kept, r])[0]):
            kept.append(r)
    return _apply(g, kept)


def _apply(g: Graph, rewrites: Sequence[Rewrite]) -> tuple[Graph, tuple[tuple[Rewrite, int], ...]]:
    editor = GraphEditor(g)
    taken = {n.name for n in g}
    moved: dict[int, int] = {}
    became: dict[int, int] = {}
    made = tuple((r, _apply_one(editor, g, r, taken, moved, became)) for r in rewrites)
    editor.redirect_all(moved)
    editor.remove_nodes(m for r in rewrites for m in r.members)
    new = editor.freeze()
    maybe = dict.fromkeys(c for r in rewrites for c in _constants_of(g, r.members))
    lost = [c for c in maybe if not new.data_out[c] and not new.control_out[c]]
    if lost:
        editor = GraphEditor(new)
        editor.remove_nodes(lost)
        new = editor.freeze()
    return new, made


def _apply_one(
    editor: GraphEditor, g: Graph, r: Rewrite, taken: set[str], moved: dict[int, int], became: dict[int, int]
) -> int:
    inside = set(r.members)
    scope = g.node(r.members[0]).scope
    taken.difference_update(g.node(m).name for m in r.members)
    names, types = original_names(g, r.members)
    own = {k: v for k, v in r.attrs.items() if not k.startswith(PREFIX)}  # a duration of one member is not that of all
    attrs = {
        **own,
        **fused_duration(g, r.members),
        **inherited(g, r.members),
        ORIGINAL_NAMES: names,
        ORIGINAL_TYPES: types,
    }
    fed = [
        _constant(editor, t, scope, taken) if isinstance(t, NewConst) else None if t is None else moved.get(t, t)
        for t in r.inputs
    ]
    specs = [(g.tensor(t).shape, g.tensor(t).dtype) for t in r.outputs]
    new = editor.add_node(
        free_name(r.name, taken), r.op, inputs=fed, outputs=specs, attrs=attrs, scope=scope,
        source_op=g.node(r.members[-1]).source_op, origin=r.members, tensor_names=[g.tensor(t).name for t in r.outputs],
        after=r.members[0],
    )  # fmt: skip
    for k, t in enumerate(r.outputs):
        moved[t] = editor.output(new, k)
        origin = g.tensor(t).attrs.get(OUTPUT_ORIGIN, g.node(g.tensor(t).producer).name)
        editor.set_tensor(moved[t], attrs={**g.tensor(t).attrs, OUTPUT_ORIGIN: origin})
    for m in r.members:
        for c in g.node(m).control_in:
            if c not in inside:
                editor.add_control(became.get(c, c), new)
        for c in g.control_out[m]:
            if c not in inside:
                editor.add_control(new, became.get(c, c))
    became.update(dict.fromkeys(r.members, new))
    return new


def acyclic(g: Graph) -> bool:
    """True if no node waits for itself."""
    waits = {i: len(g.pred[i]) for i in g.node_ids}
    ready = [i for i, n in waits.items() if n == 0]
    seen = 0
    while ready:
        i = ready.pop()
        seen += 1
        for s in g.succ[i]:
            waits[s] -= 1
            if waits[s] == 0:
                ready.append(s)
    return seen == len(waits)


def _constants_of(g: Graph, members: Sequence[int]) -> list[int]:
    found = dict.fromkeys(g.tensor(t).producer for m in members for t in g.node(m).inputs if t is not None)
    return [c for c in found if g.node(c).op in CONST_LIKE]


def _constant(editor: GraphEditor, c: NewConst, scope: int, taken: set[str]) -> int:
    attrs: dict[str, Any] = {FROM_FOLDING: True}
    array = compute(c.recipe)
    if array is not None and c.dtype in NUMPY_DTYPES and array.nbytes <= VALUE_LIMIT * 2:
        attrs[VALUE] = ConstantValue.of(array if c.shape is None else array.reshape(c.shape), c.dtype)
    else:
        attrs[RECIPE] = c.recipe
    i = editor.add_node(
        free_name(c.name, taken), "Const", outputs=[(c.shape, c.dtype)], attrs=attrs, scope=scope, origin=c.origin
    )
    return editor.output(i)


def free_name(wanted: str, taken: set[str]) -> str:
    """``wanted``, or ``wanted_2``, … when it is in use; the result is added to ``taken``."""
    name, k = wanted, 1
    while name in taken:
        k += 1
        name = f"{wanted}_{k}"
    taken.add(name)
    return name


def in_order(g: Graph, members: Sequence[int]) -> tuple[int, ...]:
    """Members by their place in the scope's node list (GE's node id order before a sort)."""
    if not members:
        return ()
    place = _PLACES.get(g)
    if place is None:
        place = {i: k for s in g.scopes if s is not None for k, i in enumerate(s.nodes)}
        _PLACES[g] = place
    return tuple(sorted(members, key=place.__getitem__))
