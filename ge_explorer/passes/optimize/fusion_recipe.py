"""How a fused constant is computed, so that one too large to be kept can still be computed where its parts are at hand.

A recipe is a nested tuple: ``("value", ConstantValue)``, ``("const", node id)`` for a constant whose values are not kept, or an
operation with recipes as operands. All arithmetic is in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph

RECIPE = "_gx_recipe"
"""Our attribute of a constant without values: its recipe."""
Recipe = tuple[Any, ...]
Leaf = Callable[[int], Any]


def constant(g: Graph, tensor: int) -> Recipe:
    """Recipe of a constant tensor."""
    n = g.node(g.tensor(tensor).producer)
    value = n.attrs.get(VALUE)
    if isinstance(value, ConstantValue):
        return ("value", value)
    made = n.attrs.get(RECIPE)
    return made if isinstance(made, tuple) else ("const", n.id)


def compute(recipe: Recipe, leaf: Leaf = lambda _: None) -> Any:
    """Array of a recipe; None when a constant is not known. ``leaf`` gives the values of a constant node.

    ``rows``: first operand with its first axis scaled by the second. ``bn-factor``: γ/√(σ²+ε). ``bn-shift``: β−μ·factor.
    ``affine``: a·b+c. ``sum``: a+b.
    """
    kind, *rest = recipe
    if kind == "value":
        return rest[0].array()
    if kind == "const":
        return leaf(int(rest[0]))
    parts = [compute(r, leaf) if isinstance(r, tuple) else r for r in rest]
    if any(p is None for p in parts):
        return None
    a, b, *more = (np.asarray(p, np.float64) for p in parts)
    if kind == "rows":
        return a * b.reshape(-1, *[1] * (a.ndim - 1))
    a, b = a.ravel(), b.ravel()
    if kind == "bn-factor":
        return a / np.sqrt(b + more[0])
    if kind == "bn-shift":
        return a - b * more[0].ravel()
    return a * b + more[0].ravel() if kind == "affine" else a + b
