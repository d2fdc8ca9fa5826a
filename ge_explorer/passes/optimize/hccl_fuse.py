"""hccl-fuse: many AllReduce, Broadcast or Reduce become one with many inputs, in segments of the gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.cost import collective_ns
from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_legality import blocked
from ge_explorer.passes.optimize.fusion_report import BLOCKS, FusionLog
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite, apply_all
from ge_explorer.passes.optimize.hccl_prepare import GROUP, WORLD
from ge_explorer.passes.optimize.hccl_scope import KEYS, collectives, skip
from ge_explorer.passes.optimize.hccl_segments import LIMIT, SEGMENTS, SHARES, Split, within
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

FUSED = "_hccl_fused_node"
_SOURCE = "compiler/engines/hccl_engine/hcom_graph_adaptor/ge_plugin/hcom: hcom_*_fusion.cc"
_TYPES = frozenset({"HcomAllReduce", "HcomBroadcast", "HcomReduce"})


@dataclass(frozen=True)
class HcclFuse(Pass):
    """Fusion of collectives.

    Rule: attribute ``fusion`` 0 leaves a node alone; 2 joins all nodes of equal type, group, ``fusion_id`` (0 or more), data
    type and reduction; 1 (``fusion_id`` -1) joins them by segments of the gradients in graph order. A segment never exceeds the
    tensor limit. One node has as many inputs and outputs as it has members, pays the latency once, and starts when its last
    input is ready.

    GE source: hcom_allreduce_fusion.cc and its siblings. Where a segment ends is decided in HCCL's library: its manual's default
    (two segments, 96.54 % and 3.46 % of the bytes), or ``gx.hcclShares``, or ``gx.hcclSegments`` (see hccl_segments.py).
    Example: AllReduce a, b with fusion=2, fusion_id=7 -> one AllReduce with two inputs.
    """

    name: ClassVar[str] = "hccl-fuse"
    title: ClassVar[Text] = Text("Fuse collectives", "集合通信融合")
    summary: ClassVar[Text] = Text("Joins collectives into fewer, larger ones.", "把集合通信合并为更少、更大的几次。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {SEGMENTS, SHARES, LIMIT}
    ge_name: ClassVar[str] = "HcomAllReduceFusion"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "by-id": Rule(Text("Same fusion id: all in one.", "fusion_id 相同：合为一个。"), _SOURCE),
            "by-segment": Rule(Text("Gradients of one segment.", "同一段的梯度。"), _SOURCE),
            **BLOCKS,
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return skip(s, ctx, "")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with fused collectives; each note states the latency saved by the alpha-beta model."""
        g, log = s.graph, FusionLog(s.graph, ctx)
        split = Split.of(ctx.option)
        rewrites: dict[int, str] = {}
        found: list[Rewrite] = []
        for key, members in _labels(g).items():
            sizes = {n.id: _bytes(g, n) for n in members}
            parts = [members] if key[2] >= 0 else split.segments(members, sizes, unknown=_unknown(g, members))
            for part in (p for q in parts for p in within(q, sizes, split.limit)):
                ids = [n.id for n in part]
                why = blocked(g, ids) if len(ids) > 1 else None
                if why is not None:
                    log.refuse(ids, why)
                elif len(ids) > 1:
                    found.append(_join(part))
                    rewrites[ids[0]] = "by-id" if key[2] >= 0 else "by-segment"
        new, made = apply_all(g, found) if found else (g, ())
        for r, i in made:
            log.fused(g, r, i, rewrites[r.members[0]], _saving(g, r.members))
        log.report()
        ctx.status = "SUCCESS" if made else "NOT_CHANGED"
        return s.evolve(graph=new) if made else s


def _labels(g: Graph) -> dict[tuple[str, str, int, str, str, int], list[Node]]:
    """Fusible nodes by GE's label: type, group, fusion id, data type, reduction (and graph)."""
    out: dict[tuple[str, str, int, str, str, int], list[Node]] = {}
    for n in collectives(g):
        kind, fid = n.attrs.get("fusion", 0), n.attrs.get("fusion_id", -1)
        good = (kind == 1 and fid == -1) or (kind == 2 and isinstance(fid, int) and fid >= 0)
        if n.op not in _TYPES or not good or any(t is None for t in n.inputs) or not n.inputs:
            continue
        dtype = g.tensor(n.inputs[0] or 0).dtype or ""
        key = (n.op, str(n.attrs.get(GROUP, WORLD)), int(fid), dtype, str(n.attrs.get("reduction", "")), n.scope)
        out.setdefault(key, []).append(n)
    return out


def _unknown(g: Graph, members: Sequence[Node]) -> bool:
    return any(g.tensor(t).nbytes is None for n in members for t in n.inputs if t is not None)


def _bytes(g: Graph, n: Node) -> int:
    return sum(g.tensor(t).nbytes or 0 for t in n.inputs if t is not None)


def _join(part: Sequence[Node]) -> Rewrite:
    first = part[0]
    inputs = tuple(t for n in part for t in n.inputs)
    outputs = tuple(t for n in part for t in n.outputs)
    attrs = {**first.attrs, FUSED: True}
    return Rewrite(tuple(n.id for n in part), first.op, f"{first.name}_fused", inputs, outputs, attrs)


def _saving(g: Graph, members: Sequence[int]) -> Text | None:
    kind = {"HcomAllReduce": "all_reduce", "HcomBroadcast": "broadcast", "HcomReduce": "reduce"}[g.node(members[0]).op]
    ranks = g.node(members[0]).attrs.get("rank_size", 8)
    if not isinstance(ranks, int) or ranks < 2:
        return None
    sizes = [_bytes(g, g.node(m)) for m in members]
    us = (sum(collective_ns(kind, s, ranks) for s in sizes) - collective_ns(kind, sum(sizes), ranks)) / 1000
    return Text(
        f"saves about {us:.1f} us of latency (our model, {ranks} ranks)",
        f"约省 {us:.1f} us 时延（模型估算，{ranks} 个 rank）",
    )
