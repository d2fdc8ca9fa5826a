"""A graph with every mechanism that starts streams: label list, StreamSwitch with one and (SPLIT) with several streams, loop."""

from __future__ import annotations

from functools import cache

from ge_explorer.api import open_session
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.session import Session

SPLIT = "260"
"""Tasks a stream takes for that."""


def activation_graph() -> Graph:
    """``start`` starts label P; ``switch`` goes to label L; ``again``, on R, restarts what nobody starts.

    ``prefetch`` runs on P, ``left`` and ``right`` on L, everything else on the main stream. With ``SPLIT`` L's stream is cut in
    two, so that its switch needs a StreamActive.
    """
    b = GraphBuilder("activation_demo")
    x = b.data("x", (64, 64))
    norm = b.op("AddRmsNorm", x, name="norm")
    start = b.op("StreamActive", norm, name="start", attrs={"_active_label_list": ["P"]})
    with b.label("P"):
        fetch = b.op("MatMulV2", start, x, name="prefetch")
        fetched = b.op("Relu", fetch, name="prefetch_end")
    gate = b.op("MatMulV2", norm, x, name="gate")
    switch = b.op("StreamSwitch", gate, fetched, name="switch", attrs={"_active_label_list": ["L"]})
    with b.label("L"):
        left = b.op("MatMulV2", switch, x, name="left")
        right = b.op("HcomAllReduce", switch, name="right")
    out = b.op("Add", left, right, name="out")
    end = b.op("StreamSwitch", out, name="round_end", attrs={"_active_label_list": ["R"]})
    with b.label("R"):
        b.op("StreamActive", end, name="again", attrs={"is_loop_active": True})
    g = b.build(out)
    e = GraphEditor(g)
    e.add_control(g.by_name["round_end"], g.by_name["again"])
    return e.freeze()


@cache
def switches(tasks: str = "") -> Session:
    """Session of ``activation_graph``; ``tasks`` fit on a stream ("": the chip's number)."""
    return open_session(activation_graph(), options={"gx.maxTasksPerStream": tasks} if tasks else {})


@cache
def split_moe(tasks: str = "40") -> Session:
    """The MoE block at strength C2 on a device whose streams take 40 tasks: 2 logical, 5 physical streams."""
    return open_session("moe_shared_expert", strength="C2", options={"gx.maxTasksPerStream": tasks})
