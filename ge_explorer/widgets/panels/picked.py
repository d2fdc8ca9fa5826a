"""Which bars and rectangles a selection outlines."""

from __future__ import annotations

from ge_explorer.widgets.panels.context import PanelContext


def picked_nodes(ctx: PanelContext) -> set[int]:
    """Nodes selected themselves, the two ends of a selected event, and all that touch a selected buffer."""
    s = ctx.session.trace.final
    out: set[int] = set()
    for r in ctx.selected:
        if r.kind == "node":
            out.add(r.id)
            out |= {x.id for x in ctx.session.trace.forward(r, ctx.step, ctx.final_step)}
        elif r.kind == "event" and s.sync is not None:
            out |= {i for e in s.sync.events if e.uid == r.id for i in (e.send, e.recv)}
        elif r.kind == "buffer" and s.memory is not None and 0 <= r.id < len(s.memory.problem.buffers):
            out |= set(s.memory.problem.buffers[r.id].accessors)
    return out


def picked_buffers(ctx: PanelContext) -> set[int]:
    """Buffers selected themselves, and those a selected node writes."""
    m = ctx.snapshot.memory
    nodes = {r.id for r in ctx.selected if r.kind == "node"}
    out = {r.id for r in ctx.selected if r.kind == "buffer"}
    if m is not None and nodes:
        out |= {b.id for b in m.problem.buffers if nodes & set(b.producers)}
    return out
