"""subexpression-migration: what every gear computes alike, straight from inputs all gears share, is computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Edge, Graph, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize import switches
from ge_explorer.passes.optimize.facts import TRANS
from ge_explorer.passes.optimize.fusion_rewrite import free_name
from ge_explorer.passes.optimize.gears_split import BATCH_LABEL, BATCH_NUM
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

HOST_NODE = "_gx_host_node"
"""Our attribute: a node the host can compute (GE's Node::GetHostNode, which no dump shows). Overrides the default by type."""
ALL = "gx.migrate"
"""Our option: ``host`` (as GE: conversions and nodes marked so) or ``all`` (any operator)."""
_HOST_TYPES = TRANS | {"BnHost", "BNHost"}
_SOURCE = "compiler/graph/passes/multi_batch/subexpression_migration_pass.cc"


@dataclass(frozen=True)
class SubexpressionMigration(Pass):
    """Move a leading computation of all branches of a gear Case to the root.

    Rule, for a Case over gears in the root graph: a reader of a branch input all of whose inputs are branch inputs, that the host
    can compute, and that has the same type and the same tensor types, formats and shapes at the same place in every branch. The
    node of the last branch (by name) moves and keeps its name. Its result takes the place of an input nothing else in the branch
    reads, else becomes a new input of the Case. Repeated until nothing moves.

    GE source: SubexpressionMigrationPass. Simplified: which nodes the host computes is a flag inside GE; here conversions, or
    ``_gx_host_node``, or everything with ``gx.migrate`` = all. Also asked here, for safety: the node reads the same inputs in
    every branch and has no control edges.
    Example: three gears that each begin with the same Cast of a mask -> one Cast in front of the Case.
    """

    name: ClassVar[str] = "subexpression-migration"
    title: ClassVar[Text] = Text("Shared beginnings", "公共前缀外提")
    summary: ClassVar[Text] = Text("Computes once what all gears compute first.", "把各档位相同的起始计算提到父图。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = switches.KEYS | {ALL}
    ge_name: ClassVar[str] = "SubexpressionMigrationPass"
    source: ClassVar[str] = f"{_SOURCE}: SubexpressionMigrationPass::Run"
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "same-beginning": Rule(Text("Every gear computes this from the same inputs.", "每个档位都由相同输入计算它。"),
                                   f"{_SOURCE}: GraphNodeMigration"),
            "differs": Rule(Text("The gears differ here.", "各档位在此不同。"), f"{_SOURCE}: IsParallelNodeSame"),
            "not-host": Rule(Text("GE moves only what the host can compute.", "GE 只外提主机可计算的节点。"),
                             f"{_SOURCE}: GraphNodeMigration"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only for a Case over gears."""
        if not any(over_gears(n) for n in s.graph):
            return Text("there are no gears", "没有档位")
        return switches.off_reason(ctx, self.ge_name, 3)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the shared beginnings in the root."""
        g = s.graph
        anything = ctx.option(ALL) == "all"
        for case in [n.id for n in map(g.node, g.root.nodes) if over_gears(n)]:
            said: set[int] = set()
            while (found := _next(g, case, ctx, said, anything)) is not None:
                g = _move(g, case, found, ctx)
        ctx.status = "NOT_CHANGED" if g is s.graph else "SUCCESS"
        return s if g is s.graph else s.evolve(graph=g)


def over_gears(n: Node) -> bool:
    """A Case whose branches are gears."""
    return n.op == "Case" and BATCH_NUM in n.attrs and bool(n.subgraphs)


def _datas(g: Graph, scope: int) -> dict[int, int]:
    """Parent input index -> Data node of a branch."""
    rows = (g.node(i) for i in g.scope(scope).nodes)
    return {int(n.attrs[PARENT_INDEX]): n.id for n in rows if n.op == "Data" and PARENT_INDEX in n.attrs}


def _next(g: Graph, case: int, ctx: PassContext, said: set[int], anything: bool) -> list[int] | None:
    """The same node of every branch (branches by name) that can move, or None."""
    branches = sorted(g.node(case).subgraphs, key=lambda s: g.scope(s).name)
    datas = [_datas(g, s) for s in branches]
    for index, data in sorted(datas[0].items()):
        if any(index not in d for d in datas):
            continue
        for k, e in enumerate(g.data_out[data]):
            n = g.node(e.dst)
            inputs = _parents(g, n, datas[0])
            if inputs is None or n.op in ("Switch", "NetOutput") or n.subgraphs or n.control_in or g.control_out[n.id]:
                continue
            if not (anything or n.attrs.get(HOST_NODE, n.op in _HOST_TYPES)):
                _once(ctx, n, "not-host", said)
                continue
            rows = [g.data_out[d[index]] for d in datas]
            twins = [row[k].dst for row in rows if k < len(row)]
            alike = all(
                _alike(g, n, g.node(t)) and _parents(g, g.node(t), d) == inputs
                for t, d in zip(twins, datas, strict=False)
            )
            if len(twins) == len(branches) and len(set(twins)) == len(branches) and alike:
                return twins
            _once(ctx, n, "differs", said)
    return None


def _once(ctx: PassContext, n: Node, rule: str, said: set[int]) -> None:
    if n.id not in said:
        said.add(n.id)
        ctx.decide(node(n.id), "scope", n.scope, n.scope, rule, decisive=False)


def _parents(g: Graph, n: Node, datas: Mapping[int, int]) -> tuple[int | None, ...] | None:
    """Case input behind every input; None if one does not come straight from the Case."""
    at = {d: k for k, d in datas.items()}
    out: list[int | None] = []
    for t in n.inputs:
        if t is None:
            out.append(None)
        elif g.tensor(t).producer in at:
            out.append(at[g.tensor(t).producer])
        else:
            return None
    return tuple(out) if n.inputs else None


def _alike(g: Graph, a: Node, b: Node) -> bool:
    """GE's IsSameOpDesc: type, and data type, format, shape and origin shape of all tensors. Attributes do not count there;
    here they do, except for the mark of the gear."""

    def tensors(n: Node) -> list[tuple[object, ...]]:
        ids = [*n.inputs, None, *n.outputs]
        rows = [None if t is None else g.tensor(t) for t in ids]
        return [
            () if t is None else (t.dtype, t.shape, t.attrs.get("format"), t.attrs.get("origin_shape")) for t in rows
        ]

    def attrs(n: Node) -> dict[str, object]:
        return {k: v for k, v in n.attrs.items() if k != BATCH_LABEL}

    return a.op == b.op and tensors(a) == tensors(b) and attrs(a) == attrs(b)


def _move(g: Graph, case: int, twins: list[int], ctx: PassContext) -> Graph:
    """Move the last twin to the root, drop the others; their readers read a branch input."""
    kept = g.node(twins[-1])
    branches = [g.node(t).scope for t in twins]
    datas = [_datas(g, s) for s in branches]
    inputs = _parents(g, kept, datas[-1]) or ()
    base, base_inputs = g.node(twins[0]), _parents(g, g.node(twins[0]), datas[0]) or ()
    alone = [k for k in base_inputs if k is not None and len(g.data_out[datas[0][k]]) == 1]
    editor, taken = GraphEditor(g), {n.name for n in g}
    holder = g.node(case)
    slots, free = [], len(holder.inputs)
    for i in range(len(base.outputs)):
        if i < len(alone):
            slots.append(alone[i])
        else:
            slots.append(free)
            free += 1
    moved = editor.add_node(
        free_name(kept.name, taken - {kept.name}), kept.op, inputs=[None if k is None else holder.inputs[k] for k in inputs],
        outputs=[(g.tensor(t).shape, g.tensor(t).dtype) for t in kept.outputs], attrs=kept.attrs, scope=holder.scope,
        source_op=kept.source_op, origin=tuple(dict.fromkeys(o for t in twins for o in (g.node(t).origin or (t,)))),
        tensor_names=[g.tensor(t).name for t in kept.outputs],
    )  # fmt: skip
    for t, old in zip(kept.outputs, range(len(kept.outputs)), strict=True):
        editor.set_tensor(editor.output(moved, old), attrs=g.tensor(t).attrs)
    for i, slot in enumerate(slots):
        out = editor.output(moved, i)
        if slot < len(holder.inputs):
            editor.retarget(out, case, slot)
        else:
            editor.connect(out, case, slot)
        for twin, scope, rows in zip(twins, branches, datas, strict=True):
            old_tensor = g.tensor(g.node(twin).outputs[i])
            data = rows.get(slot)
            if data is None:
                label = g.node(twin).attrs.get(BATCH_LABEL)
                attrs = {"index": slot - 1, PARENT_INDEX: slot, **({} if label is None else {BATCH_LABEL: label})}
                name = free_name(f"{g.scope(scope).name}_data_{slot}", taken)
                data = editor.add_node(name, "Data", outputs=[(old_tensor.shape, old_tensor.dtype)], attrs=attrs, scope=scope,
                                       origin=(twin,))  # fmt: skip
            else:
                editor.set_tensor(editor.output(data), shape=old_tensor.shape, dtype=old_tensor.dtype)
            editor.redirect(old_tensor.id, editor.output(data))
    editor.remove_nodes(twins)
    ctx.decide(node(moved), "node", len(twins), 1, "same-beginning", [node(t) for t in twins])
    return editor.freeze()


def with_inputs(g: Graph, case: int, kept: list[int]) -> Graph:
    """The Case with only these input slots, renumbered."""
    place = {k: i for i, k in enumerate(kept)}
    n = g.node(case)
    edges = []
    for e in g.edges:
        if e.dst != case:
            edges.append(e)
        elif e.dst_in in place:
            edges.append(Edge(e.src, e.src_out, case, place[e.dst_in]))
    nodes = list(g.nodes)
    nodes[case] = replace(n, inputs=tuple(n.inputs[k] for k in kept))
    return replace(g, nodes=tuple(nodes), edges=tuple(edges))
