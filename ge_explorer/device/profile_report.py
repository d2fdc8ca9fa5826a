"""What a profile gave: on the model, on the compiled graph, and what is left over on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ge_explorer.device.cost import GIVEN_NS, CostTable
from ge_explorer.device.profile import MEMBERS, ROWS, WAY, WAYS, Profile, ProfileMatch, match_profile, means
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.text import Text

SHOWN = 8
FUSED = "fused"
"""Way of a fused node: the sum of its members' own rows."""
WAY_TEXT: Mapping[str, Text] = {
    "name": Text("by name", "按名字"), "original": Text("by original names", "按原始名字"), "order": Text("by order", "按顺序"),
    FUSED: Text("sum of fused members", "融合成员之和"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Matched:
    """One task of the compiled graph with a measured time, the way it was found, and the rows of the profile behind it."""

    node: int
    name: str
    way: str
    ns: int
    rows: tuple[str, ...] = ()
    members: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ProfileReport:
    """``matched`` tasks; ``missing`` (node id, name) tasks without a row; ``unused`` (name, ns) rows without a task.

    ``gone`` are measured operators that the compilation removed (folded, merged, bypassed); ``total_ns`` is the sum of the
    profile's average row per name, ``matched_ns`` of the tasks' times. ``measured`` is what the timeline uses.
    """

    source: str
    names: int
    skipped: int
    matched: tuple[Matched, ...]
    missing: tuple[tuple[int, str], ...]
    unused: tuple[tuple[str, int], ...]
    gone: tuple[tuple[str, int], ...]
    total_ns: int
    measured: Mapping[int, int]

    @property
    def counts(self) -> dict[str, int]:
        """Tasks by way, then what is left over."""
        ways = {w: sum(m.way == w for m in self.matched) for w in (*WAYS, FUSED)}
        return {**ways, "missing": len(self.missing), "unused": len(self.unused), "gone": len(self.gone)}

    @property
    def matched_ns(self) -> int:
        """Sum of the measured times of the tasks."""
        return sum(m.ns for m in self.matched)

    def issue(self) -> Issue:
        """One finding (GX520) for everywhere findings are shown."""
        c = self.counts
        text = Text(
            "Profile: {a} of {b} tasks have a measured time ({name} by name, {original} by original names, {order} by order, "
            "{fused} as the sum of fused members); {unused} names of the profile fit no task.",
            "profile：{b} 个任务中 {a} 个有实测时间（按名字 {name}、按原始名字 {original}、按顺序 {order}、融合成员之和 {fused}）；"
            "profile 中 {unused} 个名字没有对应任务。",
        ).format(a=len(self.matched), b=len(self.matched) + len(self.missing), **c)
        fix = Text("The other times are our model.", "其余时间为模型估算。") if self.missing else None
        return Issue("GX520", "warning" if self.missing or self.unused else "note", text, (), fix, "ours")

    def lines(self, lang: str = "en") -> list[str]:
        """Plain lines for the command line and logs."""
        zh = lang == "zh"
        out = [self.issue().message.get(lang)]
        us = f"{self.matched_ns / 1000:.1f} / {self.total_ns / 1000:.1f} us"
        out.append(
            f"实测时间：任务 / profile 合计 {us}" if zh else f"measured time of the tasks / of the profile: {us}"
        )
        for key, rows in (
            ("没有实测的任务" if zh else "tasks without a row", [n for _, n in self.missing]),
            ("没有任务的行" if zh else "rows without a task", [n for n, _ in self.unused]),
            ("被编译移除的已测算子" if zh else "measured, removed by the compilation", [n for n, _ in self.gone]),
        ):
            if rows:
                more = f" … (+{len(rows) - SHOWN})" if len(rows) > SHOWN else ""
                out.append(f"{key}: {', '.join(rows[:SHOWN])}{more}")
        if self.skipped:
            out.append(f"无时间的行：{self.skipped}" if zh else f"rows without a duration: {self.skipped}")
        return out

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "source": self.source, "names": self.names, "skipped_rows": self.skipped, "counts": self.counts,
            "total_ns": self.total_ns, "matched_ns": self.matched_ns, "origin": "measured (profile)",
            "matched": [
                {"node": m.name, "way": m.way, "ns": m.ns, "rows": list(m.rows), **({"members": m.members} if m.members else {})}
                for m in self.matched
            ],
            "missing": [n for _, n in self.missing],
            "unused": [{"name": n, "ns": ns} for n, ns in self.unused],
            "gone": [{"name": n, "ns": ns} for n, ns in self.gone],
        }  # fmt: skip


def on_compiled(
    profile: Profile, first: ProfileMatch, final: Graph, costs: CostTable, order: Sequence[int] | None = None
) -> ProfileReport:
    """Report on a compiled graph. ``first`` is the match on the model, whose times the nodes carry.

    Rows that fit no operator of the model are tried on the compiled nodes: their names are GE's (joined names of fused kernels,
    gears). ``costs`` says which nodes run a task.
    """
    mean = means(profile.rows)
    tasks = [
        i for i in (order if order is not None else final.walk()) if final.nodes[i] is not None and costs.of(i).task
    ]
    left = set(first.unused)
    rest = [r for r in profile.rows if r.name in left]
    second = match_profile(final, rest, order=tasks)
    names = final.unique_names
    matched: list[Matched] = []
    measured: dict[int, int] = {}
    for i in tasks:
        n = final.node(i)
        own = n.attrs.get(GIVEN_NS)
        if i in second.ns and (own is None or second.how[i] != "order"):
            measured[i] = second.ns[i]
            matched.append(Matched(i, names[i], second.how[i], second.ns[i], second.rows.get(i, ())))
        elif isinstance(own, int) and ROWS in n.attrs:
            way, members = str(n.attrs.get(WAY, "name")), str(n.attrs.get(MEMBERS, ""))
            matched.append(Matched(i, names[i], way, own, tuple(n.attrs[ROWS]), members))
    have = {m.node for m in matched}
    used = {r for m in matched for r in m.rows}
    taken = {r for found in (first, second) for rows in found.rows.values() for r in rows}
    gone = [k for k in mean if k in taken and k not in used]
    return ProfileReport(
        profile.source, len(mean), profile.skipped, tuple(matched), tuple((i, names[i]) for i in tasks if i not in have),
        tuple((k, round(mean[k])) for k in mean if k not in taken), tuple((k, round(mean[k])) for k in gone),
        round(sum(mean.values())), measured,
    )  # fmt: skip
