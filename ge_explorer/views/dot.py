"""Graphviz DOT of one step: one cluster per stream, events dashed. Opt-in and for small graphs; our own layout is the default."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from ge_explorer.errors import OptionError
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.drawn import drawn_graph
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.folding import fold_state
from ge_explorer.views.palette import Identities, swatch

MAX_NODES = 2000
"""``dot`` does not finish in useful time on larger graphs."""
SECONDS = 5


def build(s: Snapshot, identities: Identities | None = None, step: int = -1, folding: Folding | None = None) -> Any:
    """``graphviz.Digraph`` of a snapshot; names are quoted by the library. OptionError above ``MAX_NODES`` nodes.

    ``folding``: functions or modules as one box per stream.
    """
    import graphviz

    s = s.evolve(graph=drawn_graph(s.graph))
    if folding is not None and not folding.nothing:
        table = identities.by_step[step + 1] if identities is not None and step + 1 < len(identities.by_step) else {}
        s = fold_state(s, folding, {k: identities.items[i] for k, i in table.items()} if identities else {}).states[0]
    if len(s.graph) > MAX_NODES:
        raise OptionError("too many nodes for Graphviz", got=len(s.graph), todo=f"At most {MAX_NODES}; use the canvas.")
    name = graphviz.escape(s.graph.name)  # a name like <b>x</b> would be read as HTML
    out = graphviz.Digraph(name, graph_attr={"rankdir": "LR"}, node_attr={"shape": "box", "fontsize": "10"})
    streams = s.streams.node.tolist() if s.streams is not None else [-1] * s.graph.id_bound
    for stream in sorted({streams[i] for i in s.graph.node_ids}):
        who = identities.of(step, stream) if identities is not None else None
        colour = swatch(who.index).light if who is not None else "#777777"
        title = "no stream" if stream < 0 else f"stream {stream}" + (f" {who.letter}" if who is not None else "")
        with out.subgraph(name=f"cluster_{stream + 1}") as part:
            part.attr(label=title, color=colour)
            for i in s.graph.node_ids:
                if streams[i] == stream:
                    n = s.graph.node(i)
                    part.node(f"n{i}", label=graphviz.escape(f"{n.name}\n{n.op}"), color=colour)
    for a, b in s.graph.dependencies:
        out.edge(f"n{a}", f"n{b}")
    for e in s.sync.events if s.sync is not None else ():
        out.edge(f"n{e.send}", f"n{e.recv}", label=str(e.id), style="dashed", constraint="false")
    return out


def svg(source: str) -> str | None:
    """SVG through the ``dot`` program, or None where it is not installed or takes longer than ``SECONDS``."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=source, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
