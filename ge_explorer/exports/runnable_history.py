"""Every node and tensor a compilation ever had, to say what a fused or folded node was made from."""

from __future__ import annotations

from collections.abc import Iterable

from ge_explorer.graph.model import CONST_LIKE, Graph, Node, Tensor
from ge_explorer.trace.trace import Trace


class History:
    """Graphs of a compilation, oldest first. Ids are never given twice, so the newest graph that has one defines it."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        seen: dict[int, Graph] = {}
        for g in graphs:
            seen[id(g)] = g
        self.graphs = tuple(reversed(seen.values()))

    @classmethod
    def of(cls, trace: Trace, upto: int) -> History:
        """States of a trace up to step ``upto`` (-1: only the first)."""
        return cls([trace.initial.graph, *(s.after.graph for s in trace.steps[: upto + 1])])

    def holder(self, i: int) -> Graph | None:
        """Newest graph that has node ``i``."""
        return next((g for g in self.graphs if i < len(g.nodes) and g.nodes[i] is not None), None)

    def node(self, i: int) -> Node | None:
        """Newest form of a node."""
        g = self.holder(i)
        return None if g is None else g.node(i)

    def tensor(self, t: int) -> Tensor | None:
        """Newest form of a tensor."""
        found = (g.tensors[t] for g in self.graphs if t < len(g.tensors))
        return next((x for x in found if x is not None), None)

    def model_node(self, n: Node) -> Node | None:
        """The node of the model that a rewritten node continues: same type, nothing fused into it yet."""
        todo, seen = [n], {n.id}
        while todo:
            x = todo.pop(0)
            if x.op == n.op and not rewritten(x):
                return x
            for i in x.origin:
                member = self.node(i)
                if member is not None and i not in seen:
                    seen.add(i)
                    todo.append(member)
        return None


def rewritten(n: Node) -> bool:
    """True if a pass made this node out of others (a node that only took others in keeps its own id in ``origin``)."""
    return bool(n.origin) and n.id not in n.origin and n.op not in CONST_LIKE
