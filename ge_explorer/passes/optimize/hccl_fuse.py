"""hccl-fuse: many AllReduce, Broadcast or Reduce become one with many inputs, in segments of the gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.cost import collective_ns
from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_legality import blocked
from ge_explorer.passes.optimize.fusion_report import BLOCKS, FusionLog
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite, apply_all
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.passes.optimize.hccl_prepare import GROUP, HCCL, NO_COLLECTIVE, WORLD, collectives
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

SEGMENTS = "gx.hcclSegments"
"""Our option: last gradient index of each segment for nodes with fusion=1, such as ``3,7`` (default: two halves by bytes)."""
LIMIT = "ge.fusionTensorSize"
"""GE's limit on the bytes of one fused tensor; 500 MiB when unset."""
DEFAULT_LIMIT = 500 * 2**20
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

    GE source: hcom_allreduce_fusion.cc and its siblings. GE's default split proportions are in the closed library: here two
    segments of equal bytes, or those of ``gx.hcclSegments``.
    Example: AllReduce a, b with fusion=2, fusion_id=7 -> one AllReduce with two inputs.
    """

    name: ClassVar[str] = "hccl-fuse"
    title: ClassVar[Text] = Text("Fuse collectives", "集合通信融合")
    summary: ClassVar[Text] = Text("Joins collectives into fewer, larger ones.", "把集合通信合并为更少、更大的几次。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = frozenset({HCCL, SEGMENTS, LIMIT})
    ge_name: ClassVar[str] = "HcomAllReduceFusion"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "by-id": Rule(Text("Same fusion id: all in one.", "fusion_id 相同：合为一个。"), _SOURCE),
            "by-segment": Rule(
                Text("Gradients of one segment (split assumed).", "同一段的梯度（分段方式为假设）。"), _SOURCE
            ),
            **BLOCKS,
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return asked(ctx.option, HCCL, s.graph) or (None if collectives(s.graph) else NO_COLLECTIVE)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with fused collectives; each note states the latency saved by the alpha-beta model."""
        g, log = s.graph, FusionLog(s.graph, ctx)
        cuts = _cuts(ctx.option(SEGMENTS))
        limit = _limit(ctx.option(LIMIT))
        rewrites: dict[int, str] = {}
        found: list[Rewrite] = []
        for key, members in _labels(g).items():
            parts = [members] if key[2] >= 0 else _segments(g, members, cuts)
            for part in (p for q in parts for p in _within(g, q, limit)):
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


def _segments(g: Graph, nodes: Sequence[Node], cuts: tuple[int, ...]) -> list[list[Node]]:
    if cuts:
        ends = [*(c + 1 for c in cuts if c + 1 < len(nodes)), len(nodes)]
        starts = [0, *ends[:-1]]
        return [list(nodes[a:b]) for a, b in zip(starts, ends, strict=True)]
    total, run = sum(_bytes(g, n) for n in nodes), 0
    parts: list[list[Node]] = [[], []]
    for n in nodes:
        parts[0 if run * 2 < total else 1].append(n)
        run += _bytes(g, n)
    return [p for p in parts if p]


def _within(g: Graph, nodes: Sequence[Node], limit: int) -> list[list[Node]]:
    """Cut a segment where it would pass the tensor limit."""
    out: list[list[Node]] = [[]]
    run = 0
    for n in nodes:
        size = _bytes(g, n)
        if out[-1] and run + size > limit:
            out.append([])
            run = 0
        out[-1].append(n)
        run += size
    return out


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


def _cuts(text: str) -> tuple[int, ...]:
    if not text:
        return ()
    parts = [p.strip() for p in text.split(",")]
    if not all(p.isdigit() for p in parts) or sorted({int(p) for p in parts}) != [int(p) for p in parts]:
        raise OptionError(
            "segment ends are rising gradient indices", where=SEGMENTS, got=text, todo="Write for example 3,7."
        )
    return tuple(int(p) for p in parts)


def _limit(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    if not text.isdigit() or int(text) <= 0:
        raise OptionError("the tensor limit is a positive number of bytes", where=LIMIT, got=text)
    return int(text)
