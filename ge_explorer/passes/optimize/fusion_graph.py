"""fuse-graph: known patterns of operators become one operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.fusion_legality import INNER_LABEL, blocked
from ge_explorer.passes.optimize.fusion_report import BLOCKS, FusionLog
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite, apply_all
from ge_explorer.passes.optimize.fusion_scope import NOT_IMPORTED, OFF, imported
from ge_explorer.passes.optimize.fusion_switch import KEYS, FusionSwitch
from ge_explorer.passes.optimize.fusion_table import RULES, FusionRule
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

CAPTURE = "gx.labelCapture"
"""Our option: ``off`` refuses to fuse a node without label or core limit with one that has it (GE fuses them)."""
_SOURCE = "compiler/engines/nn_engine/optimizer/graph_optimizer: graph fusion passes"
_ROUNDS = 50


@dataclass(frozen=True)
class FuseGraph(Pass):
    """Graph fusion by a table of patterns (fusion_table.py).

    Rule: patterns in table order, each until it finds nothing more. A match must be self-contained (no inner result read
    outside), pass GE's legality test (one stream label, core limit, super-kernel scope and determinism among the nodes that
    have one; equal inner labels; no loop), and be switched on: ``ge.optimizationSwitch``, then the file of
    ``ge.fusionSwitchFile``, then its ``ALL``, then the default. The result keeps the name the pass gives it, takes over labels
    and limits, and lists its originals in ``_datadump_original_op_names``.

    Defaults: for imported models the rules GE has a pass for; ``gx.fusion`` = all also runs ours, ge runs GE's on any graph.
    Simplified: GE's own passes are many more and partly closed.

    Example: ``Conv2D -> BatchNorm`` becomes ``Conv2D`` with other weights.
    """

    name: ClassVar[str] = "fuse-graph"
    title: ClassVar[Text] = Text("Fuse", "图融合")
    summary: ClassVar[Text] = Text("Turns known patterns into one operator.", "把已知的算子组合换成一个算子。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {CAPTURE}
    ge_name: ClassVar[str] = "GraphFusion"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType({**{r.id: Rule(r.text, r.source) for r in RULES}, **BLOCKS})

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return skip(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with all enabled patterns replaced; NOT_CHANGED when none was found."""
        switch = switches(ctx)
        g, log = s.graph, FusionLog(s.graph, ctx)
        made: dict[int, tuple[int, ...]] = {}
        for rule in RULES:
            names = (rule.ge_name, rule.own_name, rule.id)
            if switch.enabled("GraphFusion", names, rule.default or switch.mode == "all")[0]:
                g = _run_rule(g, rule, log, ctx.option(CAPTURE) != "off", made)
        g = _with_origins(s.graph, g, made)
        log.report()
        ctx.status = "NOT_CHANGED" if g is s.graph else "SUCCESS"
        return s if g is s.graph else s.evolve(graph=g)


def switches(ctx: PassContext) -> FusionSwitch:
    """Switches from the options of a fusion pass."""
    return FusionSwitch.of({k: ctx.option(k) for k in KEYS})


def skip(s: Snapshot, ctx: PassContext) -> Text | None:
    """Why a fusion pass does not run here: switched off, or not an imported model (mode auto without any other switch)."""
    switch = switches(ctx)
    if switch.mode == "off" and not any(switch.first.values()):
        return OFF
    asked = switch.mode in ("ge", "all") or bool(switch.first or switch.graph or switch.ub)
    return None if asked or imported(s.graph) else NOT_IMPORTED


def _run_rule(g: Graph, rule: FusionRule, log: FusionLog, capture: bool, made: dict[int, tuple[int, ...]]) -> Graph:
    for _ in range(_ROUNDS):
        found = _matches(g, rule, log, capture)
        if not found:
            return g
        new, done = apply_all(g, found)
        for r, i in done:
            log.fused(g, r, i, rule.id)
            made[i] = r.members
        if not done:
            return g
        g = new
    return g


def _with_origins(before: Graph, after: Graph, made: dict[int, tuple[int, ...]]) -> Graph:
    """A node fused in several rounds names the nodes of the graph before the pass, not those in between."""

    def flat(ids: Iterable[int]) -> Iterator[int]:
        for i in ids:
            if i < len(before.nodes):
                yield i
            else:
                yield from flat(made.get(i, ()))

    editor = GraphEditor(after)
    late = [n for n in after if any(i >= len(before.nodes) for i in n.origin)]
    for n in late:
        editor.change(n.id, origin=tuple(dict.fromkeys(flat(n.origin))))
    return editor.freeze() if late else after


def _matches(g: Graph, rule: FusionRule, log: FusionLog, capture: bool) -> list[Rewrite]:
    """Legal matches without overlap, in walk order."""
    out: list[Rewrite] = []
    used: set[int] = set()
    for i in g.walk():
        if g.node(i).op not in rule.roots or i in used:
            continue
        r = rule.find(g, i)
        if r is None or not used.isdisjoint(r.members):
            continue
        why = blocked(g, r.members, capture=capture)
        if why is None:
            used.update(r.members)
            out.append(r)
            continue
        log.refuse(r.members, why)
        if rule.legacy and _mixed(g, r.members):
            log.stopped[rule.ge_name or rule.id] = r.members
            return []
    return out


def _mixed(g: Graph, members: Iterable[int]) -> bool:
    return len({g.node(m).attrs.get(INNER_LABEL) for m in members}) > 1
