"""fuse-buffers: neighbouring kernels become one, so that tensors between them never leave the chip."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.work import FUSED_FLOPS, FUSED_VOPS, Operands, work_of
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.passes.optimize.fusion_graph import CAPTURE, skip, switches
from ge_explorer.passes.optimize.fusion_legality import CORE_LIMITS
from ge_explorer.passes.optimize.fusion_report import BLOCKS, FusionLog
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite, apply_all, in_order
from ge_explorer.passes.optimize.fusion_switch import KEYS
from ge_explorer.passes.optimize.ub_groups import Group, VectorTrees, cube_chains
from ge_explorer.passes.optimize.ub_table import BUFFER_RULES, CUBE_CHAIN, RULES
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Snapshot

NAME_LIMIT = 512
MEMBER_TYPES = "_gx_fused_types"
"""Our attribute of a buffer-fused node: the types of its members in order."""
_SOURCE = "compiler/engines/nn_engine: buffer fusion (BufferFusionPassRunner, AutomaticBufferFusion)"


@dataclass(frozen=True)
class FuseBuffers(Pass):
    """Buffer (UB) fusion.

    Rule:
    1. A cube operator takes up to three followers (activation, quantise, cast), each the only reader of the one before.
    2. Elementwise operators, casts and one reduction merge into their only reader where our roofline says one kernel is
       faster, largest gain first, at most eight members, tiles within the unified buffer. Off unless asked: GE decides this
       by closed passes.
    Both pass GE's legality test. The node is named by joining its members' names, above 512 characters
    ``<first>_ub_fusion``; it has the first member's type, and ``_datadump_original_op_names`` lists all originals.

    GE source: nn_engine buffer fusion. Names exact, conditions ours.
    Example: ``conv`` (Conv2D), ``relu`` (Relu) -> ``convrelu`` (Conv2D).
    """

    name: ClassVar[str] = "fuse-buffers"
    title: ClassVar[Text] = Text("UB fusion", "UB 融合")
    summary: ClassVar[Text] = Text("Joins neighbouring kernels into one.", "把相邻的核函数合并为一个。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {CAPTURE}
    ge_name: ClassVar[str] = "BufferFusion"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType({**RULES, **BLOCKS})

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return skip(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with fused kernels; every group is one decision with the modelled gain where there is one."""
        g, switch = s.graph, switches(ctx)
        on = {
            r.id: switch.enabled("UBFusion", (r.ge_name, r.id), r.default or switch.mode == "all")[0]
            for r in BUFFER_RULES
        }
        capture, log = ctx.option(CAPTURE) != "off", FusionLog(g, ctx)
        groups = cube_chains(g, log.refuse, capture=capture) if on[CUBE_CHAIN.id] else []
        if any(on[r.id] for r in BUFFER_RULES if r is not CUBE_CHAIN):
            trees = VectorTrees(g, on, log.refuse, capture)
            groups += trees.groups({m for grp in groups for m in grp.members})
            for rule, rows in (("no-gain", trees.no_gain), ("too-large", trees.too_large)):
                for p, c in dict.fromkeys(rows):
                    ctx.decide(node(c), "fusion", None, None, rule, [node(p)], decisive=False)
        operands = Operands(g)
        rewrites = [_rewrite(g, grp, operands) for grp in groups]
        by_rewrite = {id(r): grp for r, grp in zip(rewrites, groups, strict=True)}
        new, made = apply_all(g, rewrites) if rewrites else (g, ())
        for r, i in made:
            grp = by_rewrite[id(r)]
            us = f"{grp.gain / 1000:.1f}"
            note = Text(f"saves about {us} us (our model)", f"约省 {us} us（模型估算）") if grp.gain else None
            log.fused(g, r, i, grp.rule.id, note)
        log.report()
        ctx.status = "SUCCESS" if made else "NOT_CHANGED"
        return s.evolve(graph=new) if made else s


def _rewrite(g: Graph, grp: Group, operands: Operands) -> Rewrite:
    members = in_order(g, grp.members)
    nodes = [g.node(m) for m in members]
    inside = set(members)
    name = "".join(n.name for n in nodes)
    if len(name) > NAME_LIMIT:
        name = f"{nodes[0].name}_ub_fusion"
    inputs = [t for n in nodes for t in n.inputs if t is None or g.tensor(t).producer not in inside]
    while inputs and inputs[-1] is None:
        inputs.pop()
    last = next(n for n in reversed(nodes) if not all(e.dst in inside for e in g.data_out[n.id]) or n is nodes[-1])
    parts = [work_of(n, operands) for n in nodes]
    types = tuple(str(t) for n in nodes for t in _types(n.attrs.get(MEMBER_TYPES), n.op))
    attrs = {
        **{k: v for k, v in nodes[0].attrs.items() if k not in CORE_LIMITS}, MEMBER_TYPES: types,
        FUSED_FLOPS: sum(w.flops for w in parts), FUSED_VOPS: sum(w.vops for w in parts),
    }  # fmt: skip
    return Rewrite(members, nodes[0].op, name, tuple(inputs), last.outputs, attrs)


def _types(known: object, op: str) -> tuple[object, ...]:
    return tuple(known) if isinstance(known, list | tuple) else (op,)
