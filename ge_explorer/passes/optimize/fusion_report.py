"""What fusion says to the reader: decisions and findings about labels and core limits, shared by both fusion passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref, node
from ge_explorer.issue import Issue, Severity
from ge_explorer.passes.optimize.fusion_legality import INNER_LABEL, SOURCE, USER_LABEL, Blocked, captured
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule

BLOCKS: Mapping[str, Rule] = {
    "label": Rule(Text("Their stream labels differ.", "流标签不同。"), SOURCE),
    "inner-label": Rule(Text("Their inner stream labels differ (none counts as a value).", "内部流标签不同（无标签也算一个值）。"),
                        "compiler/engines/nn_engine: graph fusion and buffer fusion, CheckAttrMatch"),
    "core-limit": Rule(Text("Their core limits differ.", "核数限制不同。"), SOURCE),
    "super-kernel": Rule(Text("Their super-kernel scopes differ.", "super kernel 范围不同。"), SOURCE),
    "determinism": Rule(Text("Their determinism settings differ.", "确定性设置不同。"), SOURCE),
    "cycle": Rule(Text("A path leaves the group and comes back.", "有路径离开这组节点又返回。"), "cycle detector"),
    "scope": Rule(Text("They lie in different subgraphs.", "位于不同的子图。"), SOURCE),
    "captured": Rule(Text("It had no label or limit and takes that of the node it fuses with.",
                          "自身没有标签或限制，融合后取对方的。"),
                     "graph_metadef: InheritUserSteamLabelFromOriginNodes"),
}  # fmt: skip
"""Rules every fusion pass may give as a reason."""


@dataclass
class FusionLog:
    """Collects what happened and reports it once at the end."""

    g: Graph
    ctx: PassContext
    stopped: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _blocked: dict[tuple[int, ...], Blocked] = field(default_factory=dict)
    _moved: list[tuple[str, str, int]] = field(default_factory=list)

    def refuse(self, members: Sequence[int], why: Blocked) -> None:
        """A match that may not fuse (counted once)."""
        key = tuple(members)
        if key in self._blocked:
            return
        self._blocked[key] = why
        shown = " ≠ ".join(v or "none" for v in why.values)
        self.ctx.decide(
            node(key[-1]), "fusion", None, None, why.rule, [node(m) for m in key[:-1]],
            Text(f"{why.key}: {shown}", f"{why.key}：{shown}") if why.key else None, decisive=False,
        )  # fmt: skip

    def fused(self, g: Graph, r: Rewrite, new: int, rule: str, note: Text | None = None) -> None:
        """A fusion that was done; ``g`` is the graph its members were in."""
        refs = [node(m) for m in r.members]
        before = "+".join(g.node(m).op for m in r.members)
        self.ctx.decide(node(new), "fusion", before, r.op, rule, refs, note)
        for m in r.members:
            self.ctx.decide(node(m), "op", g.node(m).op, "", rule, [node(new)])
        for c in captured(g, r.members):
            for m in c.nodes:
                self._moved.append((c.key, c.value, new))
                if c.key == USER_LABEL:
                    self.ctx.decide(node(m), "label", None, c.value, "captured", [node(new)])
                else:
                    self.ctx.decide(node(m), "core limit", None, f"{c.key} {c.value}", "captured", [node(new)])

    def report(self) -> None:
        """Findings of the whole pass: GX340 label capture, GX341 refused, GX342 stopped patterns, GX343 core limits."""
        labels = [(v, n) for k, v, n in self._moved if k == USER_LABEL]
        if labels:
            self.ctx.report(_capture("GX340", "warning", labels, _LABEL))
        limits = [(v, n) for k, v, n in self._moved if k not in (USER_LABEL, INNER_LABEL)]
        if limits:
            self.ctx.report(_capture("GX343", "note", limits, _LIMIT))
        kept = {k: b for k, b in self._blocked.items() if b.rule in ("label", "core-limit", "inner-label")}
        if kept:
            refs = tuple(dict.fromkeys(node(m) for k in kept for m in k))
            text = Text("{n} fusions are blocked because stream labels or core limits differ.",
                        "{n} 处融合因流标签或核数限制不同而被阻止。").format(n=len(kept))  # fmt: skip
            fix = Text("Give the nodes one label, or accept the extra kernels as a cost of the plan.",
                       "给这些节点相同的标签，或把多出的核函数当作方案的代价。")  # fmt: skip
            self.ctx.report(Issue("GX341", "note", text, refs, fix, SOURCE))
        if self.stopped:
            refs = tuple(node(m) for ms in self.stopped.values() for m in ms)
            names = ", ".join(sorted(self.stopped))
            text = Text("{r} stopped for the whole graph: one match mixes inner stream labels.",
                        "{r} 对整张图停止：有一处匹配混用了内部流标签。").format(r=names)  # fmt: skip
            self.ctx.report(Issue("GX342", "warning", text, refs, None, BLOCKS["inner-label"].source))


_LABEL = Text("{n} nodes without a stream label move to {t} because they fuse with a labelled node.",
              "{n} 个没有流标签的节点因与带标签的节点融合而移到 {t}。")  # fmt: skip
_LIMIT = Text("{n} nodes without a core limit take {t} because they fuse with a limited node.",
              "{n} 个没有核数限制的节点因融合而受限于 {t}。")  # fmt: skip


def _capture(code: str, level: Severity, rows: Sequence[tuple[str, int]], text: Text) -> Issue:
    tags = ", ".join(f"{t!r}" for t in sorted({t for t, _ in rows}))
    refs: tuple[Ref, ...] = tuple(dict.fromkeys(node(n) for _, n in rows))
    fix = Text("Label them as you want them, or switch the fusion off.", "给它们写明标签，或关闭该融合。")
    return Issue(code, level, text.format(n=len(rows), t=tags), refs, fix, SOURCE)
