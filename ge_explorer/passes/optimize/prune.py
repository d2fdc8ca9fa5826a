"""prune: what no result depends on is deleted."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import DATA_LIKE
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/prune_pass.cc"


@dataclass(frozen=True)
class Prune(GraphPass):
    """Keep what the results of a graph depend on.

    Rule: roots are the NetOutput, nodes with ``reference`` and no successor, nodes with ``_force_skip_prune``; with none of them
    nothing happens. Backwards over data and control edges everything found stays. Other nodes go with their subgraphs, except
    Data: it stays and gets a control edge to the first root, because it is part of the model's interface.

    GE source: prune_pass.cc. Example: a branch of the model whose result nobody asked for.
    """

    name: ClassVar[str] = "prune"
    title: ClassVar[Text] = Text("Prune", "剪枝")
    summary: ClassVar[Text] = Text("Deletes what no result depends on.", "删除与结果无关的节点。")
    ge_name: ClassVar[str] = "PrunePass"
    source: ClassVar[str] = f"{_SOURCE}: PrunePass::Run"
    rules = MappingProxyType(
        {
            "unreached": Rule(Text("No result depends on it.", "没有结果依赖它。"), _SOURCE),
            "input-kept": Rule(
                Text(
                    "An input of the model stays, tied to the end by a control edge.",
                    "模型输入保留，并用控制边连到末端。",
                ),
                _SOURCE,
            ),
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Prune one graph."""
        nodes = [w.node(i) for i in w.e.members(scope)]
        roots = [n.id for n in nodes if n.op == "NetOutput" or _ends(w, n.id) or n.attrs.get("_force_skip_prune")]
        outputs = [i for i in roots if not w.node(i).attrs.get("_force_skip_prune")]
        if not outputs:
            return
        reached, todo = set(roots), list(roots)
        while todo:
            n = w.node(todo.pop())
            before = [*(w.e.tensor(t).producer for t in n.inputs if t is not None), *n.control_in]
            for p in before:
                if p not in reached:
                    reached.add(p)
                    todo.append(p)
        gone = [n for n in nodes if n.id not in reached]
        for n in gone:
            if n.op in DATA_LIKE:
                w.e.add_control(n.id, outputs[0])
                w.changed = True
                w.keep(n, "input-kept")
        dead = [n for n in gone if n.op not in DATA_LIKE]
        for n in dead:
            w.say(n, n.op, "", "unreached")
        if dead:
            w.changed = True
            w.e.remove_nodes([n.id for n in dead])


def _ends(w: Work, i: int) -> bool:
    n = w.node(i)
    return bool(n.attrs.get("reference")) and not w.readers(n) and not w.e.control_targets(i)
