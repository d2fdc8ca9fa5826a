"""GE's symbols as buffers with addresses, so that the independent verifier can judge a GE plan."""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer.graph.model import Graph
from ge_explorer.memory.ge.continuous import close_input, close_output
from ge_explorer.memory.ge.symbols import HBM, Symbol, Symbols
from ge_explorer.memory.ge.view import NO_BLOCK, Anchor, Source, View, refers_to
from ge_explorer.memory.model import Buffer, MemoryPlan
from ge_explorer.memory.sizes import aligned


def planned_buffers(
    graph: Graph, view: View, symbols: Symbols, outputs: Mapping[Source, int], work: Mapping[Source, int], streams: tuple[int, ...],
    types: Mapping[Source, int], peak: int,
) -> tuple[tuple[Buffer, ...], MemoryPlan]:  # fmt: skip
    """Buffers in ordinary device memory and GE's offsets for them. An unpadded group is one buffer, as in GE's own check."""
    found: list[Buffer] = []
    offsets: list[int] = []
    for group in _classes(view, symbols):
        made = [
            a
            for s in group
            for a in s.outputs
            if view.ops[a.op].type not in NO_BLOCK and view.ops[a.op].outputs[a.index].size > 0
        ]
        if not made or any(s.memory_type != HBM for s in group):
            continue
        places = [(outputs[Source(a.op, a.index)], view.ops[a.op].outputs[a.index]) for a in made]
        start = min(at for at, _ in places)
        size = aligned(max(at + x.size for at, x in places) - start)
        writers = [
            a.op
            for a in made
            if not view.ops[a.op].bodies and not view.ops[a.op].body_input and refers_to(view.ops[a.op], a.index) < 0
        ]
        users = [a.op for s in group for a in s.anchors if a.op not in writers and not view.ops[a.op].bodies]
        kinds = {"input" for p in writers if view.ops[p].root_input} | {
            "output" for s in group for a in s.anchors if not a.out and view.ops[a.op].root_output
        }
        lead = made[0]
        found.append(
            Buffer(
                len(found), f"{view.ops[lead.op].name}:{lead.index}", size,
                tuple(graph.node(view.ops[a.op].node).outputs[a.index] for a in made),
                tuple(view.ops[p].node for p in dict.fromkeys(writers or [lead.op])),
                tuple(view.ops[p].node for p in dict.fromkeys(users)),
                "input" if "input" in kinds else "output" if kinds else "feature", streams[lead.op],
                max(x.payload for _, x in places),
            )
        )  # fmt: skip
        offsets.append(start)
    for s, at in work.items():
        op = view.ops[s.op]
        if types.get(s, HBM) == HBM:
            found.append(
                Buffer(
                    len(found), f"{op.name}.workspace{s.index}", aligned(op.workspaces[s.index]), (), (op.node,), (), "workspace",
                    streams[s.op], op.workspaces[s.index],
                )
            )  # fmt: skip
            offsets.append(at)
    return tuple(found), MemoryPlan(tuple(offsets), peak, "ge")


def _classes(view: View, symbols: Symbols) -> list[list[Symbol]]:
    of: dict[Anchor, list[Symbol]] = {k: [s] for k, s in symbols.by_key.items()}
    for op in view.ops:
        if not (close_input(op) or close_output(op)):
            continue
        near = [symbols.output(s).key for s in op.inputs if s is not None]
        near += [symbols.output(Source(op.place, o)).key for o in range(len(op.outputs))]
        for k in near[1:]:
            a, b = of[near[0]], of[k]
            if a is not b:
                a += b
                for s in b:
                    of[s.key] = a
    return list({id(g): g for g in of.values()}.values())
