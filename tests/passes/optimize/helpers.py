"""Small graphs and runs for the optimisation tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph
from ge_explorer.trace.pipeline import Pipeline, parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

NODE_LEVEL = (
    "copy-before-scatter", "inner-identity-add", "optimise-while-inferring", "inline-calls", "trans-shape-to-const",
    "cond-normalise", "optimise-prepare", "prune", "transop-direct", "mark-references", "constant-fuse-same",
    "common-subexpression", "branch-data",
    "branch-subexpression", "variable-format", "transop-direct", "transop-breadth", "merge-shape-n", "optimise-stage1", "prune",
    "reshape-recovery", "remove-same-const", "identity-remove", "control-transfer", "inner-identity-delete", "optimise-stage2",
    "inline-calls", "remove-isolated-const", "ref-identity-delete", "variable-ref-delete", "concat-no-task", "pack-no-task",
    "split-no-task", "tensor-move-delete",
)  # fmt: skip
"""The node-level half of the optimise chapter, without fusion and collectives."""
_WITH_FORMATS = {*NODE_LEVEL, "infer-origin-format", "fuse-graph", "refine-running-format", "same-transdata-breadth"}
FORMATS = tuple(n for n, _ in pipelines.STEPS if n in _WITH_FORMATS)
"""The same with graph fusion and formats."""


def run(g: Graph, text: str = "", options: dict[str, str] | None = None) -> Trace:
    """Run passes by pipeline text (default: the node-level half); a crash inside a pass is raised."""
    pipeline = (
        parse_pipeline(text, pipelines.PASSES.get, {})
        if text
        else Pipeline.of(pipelines.PASSES.get(n)() for n in NODE_LEVEL)
    )
    t = run_trace(g, pipeline, options or {}, strict=True)
    assert t.failed is None, t.failed and t.failed.error
    return t


def compute(g: Graph) -> list[str]:
    """Names of the nodes that are neither sources nor NetOutput."""
    return [n.name for n in g if not n.is_source and n.op != "NetOutput"]


def const(b: GraphBuilder, name: str, values: Any, dtype: str = "int64") -> Any:
    """Const with a value."""
    a = np.asarray(values)
    return b.const(name, a.shape, dtype, **{VALUE: ConstantValue.of(a, dtype)})


def source(g: Graph, name: str, index: int = 0) -> str:
    """Name of the node behind an input."""
    t = g.node(name).inputs[index]
    assert t is not None
    return g.node(g.tensor(t).producer).name


def rules(t: Trace) -> dict[str, set[str]]:
    """Rule -> names of the nodes it decided about."""
    out: dict[str, set[str]] = {}
    for s in t:
        for d in s.decisions:
            node = s.after.graph.nodes[d.subject.id] or s.before.graph.nodes[d.subject.id]
            out.setdefault(d.rule, set()).add(node.name if node else "")
    return out


def formats(g: Graph, given: dict[str, str]) -> Graph:
    """Copy with storage formats on the outputs of nodes."""
    from ge_explorer.graph.edit import GraphEditor

    e = GraphEditor(g)
    for name, f in given.items():
        t = g.node(name).outputs[0]
        e.set_tensor(t, attrs={**g.tensor(t).attrs, "format": f})
    return e.freeze()


def ops(g: Graph, names: Sequence[str]) -> list[str]:
    """Types of nodes."""
    return [g.node(n).op for n in names]
