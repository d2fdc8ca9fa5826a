"""Offsets of single tensors against GE's layout rules: references on their input's bytes, padded groups side by side.

For dumps and GE's own plans, which state an offset per tensor (our plans state one per buffer). Rules: memory.md A12 (a reference
has its input's offset), A13 (members of a padded group follow each other, each rounded up to 512 bytes); GE checks the same in
graph_mem_assigner.cc CheckOffset. Codes: GX206 reference elsewhere, GX207 gap or overlap in a group,
GX209 piece of a concatenation or split without a task that is not in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.memory.aliases import REUSE_FLAG, REUSE_INDEX
from ge_explorer.memory.sizes import aligned, padded_size, payload_bytes
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot

REFERENCE, GROUP, PIECE = "GX206", "GX207", "GX209"
SOURCE = "graph_mem_assigner.cc CheckOffset"
CLOSE = ("_no_padding_continuous_input", "_no_padding_continuous_output")
FUSION_OFFSET = "_output_offset_for_buffer_fusion"
SIZE = "size"


def verify_layout(
    graph: Graph, offsets: Mapping[int, int], sizes: Mapping[int, int] | None = None
) -> tuple[Issue, ...]:
    """Issues of per-tensor offsets. ``offsets`` and ``sizes``: bytes by tensor id; a tensor without an offset is not judged.

    Weights and graph inputs have address spaces of their own and are left out; so are groups without padding and buffer fusions,
    whose steps come from attributes.
    """
    size = {t.id: (sizes or {}).get(t.id) or _size(graph, t.id) for t in graph.tensors if t is not None}
    placed = {t: at for t, at in offsets.items() if not graph.node(graph.tensor(t).producer).is_source}
    out: list[Issue] = []
    for n in graph:
        if any(n.attrs.get(k) for k in CLOSE):
            continue
        out += _references(graph, n, placed)
        if n.attrs.get("continuous_output"):
            out += _group(graph, n, n.outputs, placed, size)
        if n.attrs.get("continuous_input"):
            members = [t for t in n.inputs if t is not None]
            makers = [graph.node(graph.tensor(t).producer) for t in members]
            if not any(FUSION_OFFSET in m.attrs or any(m.attrs.get(k) for k in CLOSE) for m in makers):
                out += _group(graph, n, members, placed, size)
    return tuple(out)


def _size(graph: Graph, tensor: int) -> int:
    t = graph.tensor(tensor)
    stated = t.attrs.get(SIZE)
    return stated if isinstance(stated, int) and stated > 0 else padded_size(payload_bytes(t)[0])


def _references(graph: Graph, n: Node, placed: Mapping[int, int]) -> Iterator[Issue]:
    for t in n.outputs:
        attrs = graph.tensor(t).attrs
        k = int(attrs.get(REUSE_INDEX, 0))
        source = n.inputs[k] if attrs.get(REUSE_FLAG) and 0 <= k < len(n.inputs) else None
        if source is None or source not in placed or t not in placed or placed[source] == placed[t]:
            continue
        yield Issue(
            REFERENCE, "error",
            Text(
                f"output of {n.name} is written over its input {k}, but lies at byte {placed[t]} and the input at {placed[source]}",
                f"{n.name} 的输出写在其输入 {k} 之上，但它位于字节 {placed[t]}，而该输入位于 {placed[source]}",
            ),
            (Ref("node", n.id),), Text("Give both the same offset.", "请使用相同的偏移。"), SOURCE,
        )  # fmt: skip


def _group(
    graph: Graph, n: Node, members: Sequence[int], placed: Mapping[int, int], size: Mapping[int, int]
) -> Iterator[Issue]:
    """Every member starts where the previous one ends. A repeated tensor cannot lie in two places and ends the check."""
    if len(members) < 2 or len(set(members)) < len(members) or any(t not in placed for t in members):
        return
    for a, b in pairwise(members):
        expected = placed[a] + aligned(size[a])
        if placed[b] != expected:
            yield Issue(
                GROUP, "error",
                Text(
                    f"the tensors of {n.name} must lie side by side: {graph.tensor(b).name} is at {placed[b]}, not at {expected}",
                    f"{n.name} 的张量必须连续：{graph.tensor(b).name} 位于字节 {placed[b]}，应在 {expected}",
                ),
                (Ref("node", n.id), Ref("node", graph.tensor(b).producer)),
                Text(f"Move it to {expected}.", f"请移到 {expected}。"), SOURCE,
            )  # fmt: skip
            return


def verify_pieces(s: Snapshot) -> tuple[Issue, ...]:
    """GX209 for every concat or split without a task whose pieces do not lie one behind the other in the whole: no task moves the
    bytes, so the plan alone must put them there. Nodes with a tensor outside the plan (inputs, weights, outputs) are not judged.
    """
    if s.memory is None or s.memory.plan.origin == "dump" or not any(n.attrs.get(k) for n in s.graph for k in CLOSE):
        return ()
    g, at = s.graph, {}
    for b, start in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True):
        at.update({t: start + b.inside.get(t, 0) for t in b.tensors})
    out = []
    for n in g:
        joins = bool(n.attrs.get(CLOSE[0]))
        if not n.attrs.get("_no_task") or not (joins or n.attrs.get(CLOSE[1])):
            continue
        parts = [t for t in n.inputs if t is not None] if joins else list(n.outputs)
        whole = (n.outputs if joins else n.inputs)[:1]
        if not whole or whole[0] is None or any(t not in at for t in (*parts, whole[0])):
            continue
        expected = at[whole[0]]
        for t in parts:
            if at[t] != expected:
                out.append(_piece(g, n, t, at[t], expected))
            expected += g.tensor(t).nbytes or 0
    return tuple(out)


def _piece(g: Graph, n: Node, t: int, at: int, expected: int) -> Issue:
    name = g.tensor(t).name
    return Issue(
        PIECE, "error",
        Text(
            f"{n.name} has no task, so {name} must lie at byte {expected} of its buffer's segment; the plan puts it at {at}",
            f"{n.name} 没有任务，因此 {name} 必须位于字节 {expected}；规划把它放在 {at}",
        ),
        (Ref("node", n.id), Ref("node", g.tensor(t).producer)),
        Text(f"Move it to {expected}, or let {n.name} copy.", f"请移到 {expected}，或让 {n.name} 执行拷贝。"), "memory.md A13",
    )  # fmt: skip
