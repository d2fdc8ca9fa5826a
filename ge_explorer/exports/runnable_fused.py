"""A fused operator as a local function that shows what it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ge_explorer.errors import InputError
from ge_explorer.exports.runnable_body import FUNCTION_DOMAIN, Body, function
from ge_explorer.exports.runnable_history import History
from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.ub_fusion import MEMBER_TYPES

Emit = Callable[[Body, Node, list[str], list[str]], None]


@dataclass
class Functions:
    """The functions of a model, one a fused node: their operators keep the members' names."""

    history: History
    opset: int
    imports: Sequence[Any]
    emit: Emit
    made: list[Any] = field(default_factory=list)

    def call(self, n: Node, ins: list[str], outs: list[str], out: Body) -> None:
        """Append a call of the function for ``n``, or its one operator."""
        formal = [f"in{k}" if x else "" for k, x in enumerate(ins)]
        results = [f"out{k}" if x else "" for k, x in enumerate(outs)]
        numbers = count()
        body = Body(self.opset, lambda word: f"{word}_{next(numbers)}")
        if n.attrs.get(MEMBER_TYPES):
            self._members(n, formal, results, body)
        else:
            self.emit(body, n, formal, results)
        if len(body.nodes) == 1:
            self._inline(body.nodes[0], dict(zip([*formal, *results], [*ins, *outs], strict=True)), out)
            return
        given, wanted = [x for x in formal if x], [x for x in results if x]
        taken = {f.name for f in self.made}
        name = next(x for k in count(1) if (x := f"{_title(n)}_{k}" if k > 1 else _title(n)) not in taken)
        self.made.append(function(name, body, given, wanted, self.imports))
        out.op(name, [x for x in ins if x], [x for x in outs if x], name=n.name, domain=FUNCTION_DOMAIN)

    def _inline(self, node: Any, names: dict[str, str], out: Body) -> None:
        actual = [names.get(x, x) for x in node.input], [names.get(x, x) for x in node.output]
        del node.input[:], node.output[:]
        node.input.extend(actual[0])
        node.output.extend(actual[1])
        out.nodes.append(node)

    def _members(self, n: Node, ins: list[str], outs: list[str], body: Body) -> None:
        """Operators of a buffer-fused kernel. Its inputs are theirs in order, without those made inside (ub_fusion._rewrite)."""
        g = self.history.holder(n.origin[0]) if n.origin else None
        if g is None or any(self.history.holder(m) is None for m in n.origin):
            raise InputError("the members of a fused node are not known", where=n.name,
                             todo="Export from the compilation (its steps), not from the graph alone.")  # fmt: skip
        nodes = [g.node(m) for m in n.origin]
        inside = set(n.origin)
        names: dict[int, str] = {}
        fed: dict[tuple[int, int], str] = {}
        k = 0
        for m in nodes:
            for slot, t in enumerate(m.inputs):
                if t is None or g.tensor(t).producer not in inside:
                    fed[(m.id, slot)] = ins[k] if k < len(ins) else ""
                    k += 1
        last = next(m for m in reversed(nodes) if not _only_inside(g, m, inside) or m is nodes[-1])
        names.update(zip(last.outputs, outs, strict=False))
        for m in _in_order(g, nodes):
            for t in m.outputs:
                if t not in names:
                    names[t] = body.fresh("t") if any(e.dst in inside for e in g.data_out[m.id]) else ""
            inputs = [fed[(m.id, s)] if (m.id, s) in fed else names[t or 0] for s, t in enumerate(m.inputs)]
            self.emit(body, m, inputs, [names[t] for t in m.outputs])


def _only_inside(g: Graph, n: Node, inside: set[int]) -> bool:
    return all(e.dst in inside for e in g.data_out[n.id])


def _in_order(g: Graph, nodes: list[Node]) -> list[Node]:
    """Producers first."""
    left, done, out = list(nodes), set(), []
    ids = {n.id for n in nodes}
    while left:
        n = next(x for x in left if all(p in done or p not in ids for p in g.pred[x.id]))
        left.remove(n)
        done.add(n.id)
        out.append(n)
    return out


def _title(n: Node) -> str:
    """``FusedConv2DRelu``: the types of the members, or the type the node has."""
    kinds = n.attrs.get(MEMBER_TYPES)
    word = "".join(str(k) for k in kinds) if isinstance(kinds, list | tuple) else n.op
    return "Fused" + "".join(c for c in word if c.isalnum())
