"""common-subexpression: siblings that compute the same become one."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass, ranks
from ge_explorer.passes.optimize.facts import NO_FOLD, layout
from ge_explorer.passes.optimize.fingerprints import merge_by_fingerprint
from ge_explorer.passes.optimize.folding_kernels import BUILTIN, HOST
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/common_subexpression_elimination_pass.cc"
_KERNELS = frozenset(BUILTIN) | frozenset(HOST) | {"Shape", "ShapeN", "Size", "Rank", "GatherShapes"}
HOST_KERNELS = "gx.hostKernels"
"""Our option: operator types, joined by commas, that the installed operator package is taken to compute on the host as well."""
_NOTES = frozenset({"_gx_function", "_gx_call"})
"""Attributes that say where a node came from, not what it does (they do not exist in GE)."""


@dataclass(frozen=True)
class CommonSubexpression(GraphPass):
    """Merge operators that read the same output and are equal in everything.

    Rule (``variant=ge``):
    1. Candidates are the readers of one output, in groups of one type, that have a host folding kernel and no
       ``no_need_constant_folding``. MatMul, Softmax or Relu without one are never merged.
    2. Key: type; per input the producer, its output, shape and format; the control inputs; *every* attribute. A stream label is
       an attribute, so equal operators with different labels stay apart.
    3. The first in topological order stays; the others' readers and control outputs move to it, then its readers become
       candidates themselves.
    No cost test, no look at float determinism.

    ``variant=fingerprint`` is the textbook form some articles describe, for comparison: any two nodes of one graph with the same
    recursive fingerprint. It is **unsafe**: it ignores labels and control order; where GE would refuse, the decision says so.

    GE source: common_subexpression_elimination_pass.cc. The set of types with a host kernel is assumed; ``gx.hostKernels`` adds
    to it.
    Example: ``x -> Cast_a``, ``x -> Cast_b`` to the same type: Cast_b goes.
    """

    variant: str = "ge"

    name: ClassVar[str] = "common-subexpression"
    title: ClassVar[Text] = Text("CSE", "公共子表达式")
    summary: ClassVar[Text] = Text("Merges siblings that compute the same.", "合并计算相同的兄弟节点。")
    ge_name: ClassVar[str] = "CommonSubexpressionEliminationPass"
    source: ClassVar[str] = _SOURCE
    option_keys: ClassVar[frozenset[str]] = GraphPass.option_keys | {HOST_KERNELS}
    rules = MappingProxyType(
        {
            "same-key": Rule(
                Text("Same type, inputs, control inputs and attributes.", "类型、输入、控制输入与属性都相同。"), _SOURCE
            ),
            "fingerprint": Rule(
                Text("Same fingerprint; GE would not look at this pair.", "指纹相同；GE 不会比较这一对。"), "ours"
            ),
            "fingerprint-unsafe": Rule(
                Text(
                    "Unsafe: same fingerprint, but labels or control order differ; the plan of one of them is lost.",
                    "不安全：指纹相同，但标签或控制顺序不同，其中一个的安排会丢失。",
                ),
                "ours",
            ),
            "stateful": Rule(
                Text("Same fingerprint, but it has a state or a side effect.", "指纹相同，但它有状态或副作用。"), "ours"
            ),
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Merge in one graph."""
        if self.variant == "fingerprint":
            merge_by_fingerprint(w, scope)
            return
        kernels = _KERNELS | {k.strip() for k in w.option(HOST_KERNELS).split(",")}
        rank: dict[int, int] = {}
        todo = deque(i for i in w.e.members(scope) if any(w.e.reader_count(t) > 1 for t in w.node(i).outputs))
        if todo:
            rank = ranks(w, scope)
        while todo:
            i = todo.popleft()
            if w.e.has(i):
                for t in w.node(i).outputs:
                    todo.extend(_siblings(w, t, rank, kernels))


def _siblings(w: Work, t: int, rank: dict[int, int], kernels: frozenset[str]) -> list[int]:
    """Merge equal readers of one output; returns the nodes that took over readers."""
    groups: dict[str, list[int]] = {}
    for e in w.e.readers(t):
        n = w.node(e.dst)
        if n.op in kernels and NO_FOLD not in n.attrs and not n.subgraphs:
            groups.setdefault(n.op, []).append(n.id)
    kept: list[int] = []
    for members in groups.values():
        first: dict[object, int] = {}
        distinct = dict.fromkeys(members)
        if len(distinct) < 2:
            continue
        for i in sorted(distinct, key=lambda i: rank.get(i, i)):
            n = w.node(i)
            k = first.setdefault(_key(w, n), i)
            if k != i and len(w.node(k).outputs) == len(n.outputs):
                merge(w, k, n, "same-key")
                kept.append(k)
    return list(dict.fromkeys(kept))


def _key(w: Work, n: Node) -> object:
    inputs = [
        None
        if t is None
        else (
            w.e.tensor(t).producer,
            w.e.tensor(t).index,
            w.shape(n, k),
            layout(w.e.tensor(t)),
            layout(w.e.tensor(t), origin=True),
        )
        for k, t in enumerate(n.inputs)
    ]
    attrs = sorted((k, repr(v)) for k, v in n.attrs.items() if k not in _NOTES)
    return (n.op, n.source_op, tuple(inputs), tuple(sorted(n.control_in)), tuple(attrs))


def merge(w: Work, kept: int, n: Node, rule: str, note: Text | None = None) -> None:
    """Readers and control successors of ``n`` move to ``kept``; ``n`` goes."""
    for a, b in zip(n.outputs, w.node(kept).outputs, strict=True):
        w.move_all(a, b)
    for c in w.e.control_targets(n.id):
        w.order(kept, c)
    w.merge_origin(kept, n)
    w.delete(n, rule, [Ref("node", kept)], note)
