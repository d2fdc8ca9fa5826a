"""subgraph-constants: equal constants of all gears move out of the branches, inputs nobody uses disappear."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.constant import VALUE
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, Edge, Graph, Node, frozen
from ge_explorer.ids import node
from ge_explorer.passes.optimize.fusion_rewrite import free_name
from ge_explorer.passes.optimize.gears_split import BATCH_LABEL, BATCH_NUM, SUFFIX
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_MIGRATE = "compiler/graph/passes: subgraph_const_migration_pass.cc"
_CLEAN = "compiler/graph/passes: unused_args_clean_pass.cc"


@dataclass(frozen=True)
class SubgraphConstants(Pass):
    """Constants and inputs of a Case over gears.

    Rule:
    1. A constant that every branch has (same name without the gear suffix, type, shape, and value where known) becomes one
       constant beside the Case, handed in as an input.
    2. An input of the Case that no branch reads is dropped, and its Data nodes with it.

    GE source: SubgraphConstMigrationPass, UnusedArgsCleanPass. Simplified: constants whose values are not in the file are taken
    as equal when they are copies of one node.
    Example: three gears of a network with 25 MB of weights hold 25 MB, not 75.
    """

    name: ClassVar[str] = "subgraph-constants"
    title: ClassVar[Text] = Text("Shared constants", "常量外提")
    summary: ClassVar[Text] = Text("Moves equal constants out of the gears.", "把各档位相同的常量提到父图。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    ge_name: ClassVar[str] = "SubgraphConstMigrationPass"
    source: ClassVar[str] = _MIGRATE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "shared": Rule(Text("Every branch has this constant.", "每个分支都有此常量。"), _MIGRATE),
            "unused": Rule(Text("No branch reads this input.", "没有分支读取此输入。"), _CLEAN),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only for a Case over gears."""
        return None if any(_over_gears(n) for n in s.graph) else Text("there are no gears", "没有档位")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with shared constants beside the Case."""
        g = s.graph
        for n in [n for n in g if _over_gears(n)]:
            g = _clean(_migrate(g, n.id, ctx), n.id, ctx)
        ctx.status = "NOT_CHANGED" if g is s.graph else "SUCCESS"
        return s if g is s.graph else s.evolve(graph=g)


def _over_gears(n: Node) -> bool:
    return n.op == "Case" and BATCH_NUM in n.attrs and bool(n.subgraphs)


def _key(g: Graph, n: Node) -> tuple[Any, ...]:
    t = g.tensor(n.outputs[0])
    return (
        n.name.partition(SUFFIX)[0],
        n.op,
        t.shape,
        t.dtype,
        n.attrs.get(VALUE),
        n.origin if VALUE not in n.attrs else (),
    )


def _migrate(g: Graph, case: int, ctx: PassContext) -> Graph:
    holder = g.node(case)
    by_branch: list[dict[tuple[Any, ...], int]] = []
    for s in holder.subgraphs:
        rows = (g.node(i) for i in g.scope(s).nodes)
        by_branch.append({_key(g, n): n.id for n in rows if n.op in CONST_LIKE and n.outputs and not n.control_in})
    shared = [k for k in by_branch[0] if all(k in b for b in by_branch[1:])]
    if not shared:
        return g
    editor, taken = GraphEditor(g), {n.name for n in g}
    for slot, key in enumerate(shared, len(holder.inputs)):
        copies = [b[key] for b in by_branch]
        first = g.node(copies[0])
        t = g.tensor(first.outputs[0])
        attrs = {k: v for k, v in first.attrs.items() if k != BATCH_LABEL}
        new = editor.add_node(free_name(key[0], taken), first.op, outputs=[(t.shape, t.dtype)], attrs=attrs, scope=holder.scope,
                              source_op=first.source_op, origin=copies, tensor_names=[t.name])  # fmt: skip
        editor.connect(editor.output(new), case, slot)
        ctx.decide(node(new), "node", len(copies), 1, "shared", [node(c) for c in copies])
        for c in copies:
            n = g.node(c)
            inner = editor.add_node(
                free_name(f"{n.name}_data", taken), "Data", outputs=[(t.shape, t.dtype)], scope=n.scope, origin=(c,),
                attrs={PARENT_INDEX: slot, BATCH_LABEL: n.attrs.get(BATCH_LABEL, ""), "index": slot - 1}, tensor_names=[t.name],
            )  # fmt: skip
            editor.redirect(n.outputs[0], editor.output(inner))
            for later in g.control_out[c]:
                editor.add_control(inner, later)
        editor.remove_nodes(copies)
    return editor.freeze()


def _clean(g: Graph, case: int, ctx: PassContext) -> Graph:
    holder = g.node(case)
    inner: dict[int, list[int]] = {}
    used: set[int] = set()
    for s in holder.subgraphs:
        for n in map(g.node, g.scope(s).nodes):
            slot = n.attrs.get(PARENT_INDEX)
            if n.op in DATA_LIKE and isinstance(slot, int):
                inner.setdefault(slot, []).append(n.id)
                if g.data_out[n.id] or g.control_out[n.id]:
                    used.add(slot)
    unused = [k for k in range(1, len(holder.inputs)) if k not in used]
    if not unused:
        return g
    editor = GraphEditor(g)
    for k in unused:
        t = holder.inputs[k]
        ctx.decide(node(case), "input", k, None, "unused", [] if t is None else [node(g.tensor(t).producer)])
    editor.remove_nodes(i for k in unused for i in inner.get(k, []))
    kept = [k for k in range(len(holder.inputs)) if k not in unused]
    place = {k: i for i, k in enumerate(kept)}
    for k, rows in inner.items():
        if k in place and place[k] != k:
            for i in rows:
                editor.update_attrs(i, {PARENT_INDEX: place[k]})
    return _with_inputs(editor.freeze(), case, kept)


def _with_inputs(g: Graph, case: int, kept: list[int]) -> Graph:
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
    return Graph(g.name, tuple(nodes), g.tensors, g.scopes, tuple(edges), g.control, frozen(g.attrs), g.notes)
