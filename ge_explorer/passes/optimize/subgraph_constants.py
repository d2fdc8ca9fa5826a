"""subgraph-constants: equal constants of all gears move out of the branches."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.constant import VALUE
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import CONST_LIKE, Graph, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize import switches
from ge_explorer.passes.optimize.fusion_rewrite import free_name
from ge_explorer.passes.optimize.gears_split import BATCH_LABEL, SUFFIX
from ge_explorer.passes.optimize.subexpression_migration import over_gears
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_MIGRATE = "compiler/graph/passes/multi_batch/subgraph_const_migration_pass.cc"


@dataclass(frozen=True)
class SubgraphConstants(Pass):
    """Constants of a Case over gears.

    Rule: constants that the same nodes read at the same inputs in every branch (names without the gear suffix), with equal type,
    data type and shape, become one constant beside the Case, handed in as an input.

    GE source: SubgraphConstMigrationPass. Simplified: GE does not look at the values; here constants whose values are known and
    differ stay (GE would hand every gear the last one's), and FileConstant moves too.
    Example: three gears of a network with 25 MB of weights hold 25 MB, not 75.
    """

    name: ClassVar[str] = "subgraph-constants"
    title: ClassVar[Text] = Text("Shared constants", "常量外提")
    summary: ClassVar[Text] = Text("Moves equal constants out of the gears.", "把各档位相同的常量提到父图。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = switches.KEYS
    ge_name: ClassVar[str] = "SubgraphConstMigrationPass"
    source: ClassVar[str] = _MIGRATE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "shared": Rule(Text("Every branch has this constant.", "每个分支都有此常量。"), _MIGRATE),
            "values-differ": Rule(Text("The gears have different values; GE compares type and shape only.",
                                       "各档位取值不同；GE 只比较类型与形状。"), "ours"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only for a Case over gears."""
        if not any(over_gears(n) for n in s.graph):
            return Text("there are no gears", "没有档位")
        return switches.off_reason(ctx, self.ge_name, 1)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with shared constants beside the Case."""
        g = s.graph
        for n in [n for n in g if over_gears(n)]:
            g = _migrate(g, n.id, ctx)
        ctx.status = "NOT_CHANGED" if g is s.graph else "SUCCESS"
        return s if g is s.graph else s.evolve(graph=g)


def _key(g: Graph, n: Node) -> tuple[object, ...]:
    """Who reads it (GE's GetPeerNameList), and what it is."""
    readers = sorted({f"{_plain(g.node(e.dst).name)}:{e.dst_in}" for e in g.data_out[n.id]})
    t = g.tensor(n.outputs[0])
    return ("_".join(readers), n.op, t.shape, t.dtype, t.attrs.get("format"))


def _plain(name: str) -> str:
    """Name without the mark of the gear."""
    head, mark, tail = name.partition(SUFFIX)
    return head + tail.lstrip("0123456789") if mark else name


def _same(g: Graph, copies: list[int]) -> bool:
    values = [g.node(c).attrs.get(VALUE) for c in copies]
    return all(v == values[0] for v in values)


def _migrate(g: Graph, case: int, ctx: PassContext) -> Graph:
    holder = g.node(case)
    by_branch: list[dict[tuple[object, ...], int]] = []
    for s in holder.subgraphs:
        rows = (g.node(i) for i in g.scope(s).nodes)
        found = (n for n in rows if n.op in CONST_LIKE and n.outputs and not n.control_in and g.data_out[n.id])
        by_branch.append({_key(g, n): n.id for n in found})
    shared = []
    for k in by_branch[0]:
        if not all(k in b for b in by_branch[1:]):
            continue
        copies = [b[k] for b in by_branch]
        if _same(g, copies):
            shared.append(copies)
        else:
            ctx.decide(node(copies[0]), "node", len(copies), len(copies), "values-differ", [node(c) for c in copies],
                       decisive=False)  # fmt: skip
    if not shared:
        return g
    editor, taken = GraphEditor(g), {n.name for n in g}
    for slot, copies in enumerate(shared, len(holder.inputs)):
        first = g.node(copies[0])
        t = g.tensor(first.outputs[0])
        attrs = {k: v for k, v in first.attrs.items() if k != BATCH_LABEL}
        name = free_name(_plain(first.name), taken)
        new = editor.add_node(name, first.op, outputs=[(t.shape, t.dtype)], attrs=attrs, scope=holder.scope,
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
