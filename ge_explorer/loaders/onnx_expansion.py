"""How many nodes a model has once its local functions are expanded, counted without expanding them.

Functions that call functions double with every level: forty tiny ones stand for 10^12 nodes.
"""

from __future__ import annotations

from collections.abc import Iterable

from ge_explorer.loaders.onnx_records import Proto

_Key = tuple[str, str, str]


def expanded_size(model: Proto, deepest: int) -> int:
    """Nodes of the main graph and its bodies with every call of a local function replaced by its body.

    Each function is counted once. A circle of calls, or a chain longer than ``deepest``, counts as one node: the expansion
    itself stops there and names it.
    """
    functions = {(f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}
    sizes: dict[_Key, int] = {}

    def total(nodes: Iterable[Proto], depth: int) -> int:
        count = 0
        for n in nodes:
            key = (n.domain, n.op_type, getattr(n, "overload", ""))
            if key in functions:
                count += of_function(key, depth + 1)
                continue
            count += 1
            for a in n.attribute:
                count += total(a.g.node, depth) if a.HasField("g") else 0
                count += sum(total(g.node, depth) for g in a.graphs)
        return count

    def of_function(key: _Key, depth: int) -> int:
        if depth > deepest:
            return 1
        if key not in sizes:
            sizes[key] = 1  # what a call inside itself sees
            sizes[key] = total(functions[key].node, depth)
        return sizes[key]

    return total(model.graph.node, 0)
