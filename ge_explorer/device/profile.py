"""Measured durations for nodes, from a profile, with a report of what was and was not found.

Several rows of one name are averaged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ge_explorer.device.cost import GIVEN_NS, GIVEN_ORIGIN
from ge_explorer.device.profile_rows import Profile, ProfileRow, ProfileSource, load_profile, read_profile
from ge_explorer.graph.builder import GX_DURATION_SOURCE
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.provenance import Origin
from ge_explorer.text import Text

__all__ = [
    "MEMBERS", "ROWS", "WAY", "WAYS", "Profile", "ProfileMatch", "ProfileRow", "ProfileSource", "load_profile", "match_profile",
    "means", "read_profile", "with_profile",
]  # fmt: skip

ORIGINAL_NAMES = "_datadump_original_op_names"
WAYS = ("name", "original", "order")
ROWS, WAY, MEMBERS = "_gx_duration_rows", "_gx_duration_way", "_gx_duration_members"
"""Our attributes: names of the profile behind a duration, how they were found; for a fused node, how many members had one."""


@dataclass(frozen=True, slots=True)
class ProfileMatch:
    """``ns``: node id -> duration; ``how``: node id -> name, original or order; ``rows``: node id -> names of the profile used.

    ``unused`` are the names nobody took, ``missing`` the nodes nobody measured.
    """

    ns: Mapping[int, int]
    how: Mapping[int, str]
    unused: tuple[str, ...]
    missing: tuple[int, ...]
    rows: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def counts(self) -> dict[str, int]:
        """Nodes matched by each way, nodes without a row, names without a node."""
        ways = {w: sum(h == w for h in self.how.values()) for w in WAYS}
        return {**ways, "missing": len(self.missing), "unused": len(self.unused)}

    def issue(self) -> Issue:
        """The report as a finding (GX520)."""
        c = self.counts
        text = Text(
            "{a} of {b} operators have a measured time ({name} by name, {original} by original names, {order} by order); "
            "{unused} names of the profile fit no operator.",
            "{b} 个算子中 {a} 个有实测时间（按名字 {name}、按原始名字 {original}、按顺序 {order}）；"
            "profile 中 {unused} 个名字没有对应算子。",
        ).format(a=len(self.ns), b=len(self.ns) + len(self.missing), **c)
        return Issue("GX520", "warning" if self.missing or self.unused else "note", text)


def means(rows: Sequence[ProfileRow]) -> dict[str, float]:
    """Average duration in ns of every name, in order of first appearance."""
    sums: dict[str, tuple[float, int]] = {}
    for r in rows:
        total, count = sums.get(r.name, (0.0, 0))
        sums[r.name] = (total + r.ns, count + 1)
    return {k: total / count for k, (total, count) in sums.items()}


def match_profile(
    graph: Graph,
    rows: Sequence[ProfileRow],
    *,
    order: Sequence[int] | None = None,
    by_order: bool = True,
    nodes: Collection[int] | None = None,
) -> ProfileMatch:
    """Give every operator its measured time.

    1. By name. 2. By original names: a node lists the profile's name in ``_datadump_original_op_names``, or a row's name is the
    join of a node's original names. 3. By order (``by_order``): rows and nodes that are left, type by type, when the profile has
    types and both sides have equally many of one. ``order``: node ids in execution order (default: list order); ``nodes``: only
    these can be matched and missed.
    """
    kinds: dict[str, str] = {}
    for r in rows:
        kinds.setdefault(r.name, r.op)
    mean = means(rows)
    wanted = [graph.node(i) for i in (order if order is not None else graph.walk())]
    wanted = [n for n in wanted if not n.is_source and n.op != "NetOutput" and (nodes is None or n.id in nodes)]
    ns: dict[int, float] = {}
    how: dict[int, str] = {}
    taken: dict[int, tuple[str, ...]] = {}
    used: set[str] = set()
    for n in wanted:
        if n.name in mean:
            ns[n.id], how[n.id], taken[n.id] = mean[n.name], "name", (n.name,)
            used.add(n.name)
    for n in wanted:
        listed = n.attrs.get(ORIGINAL_NAMES)
        names = [str(x) for x in listed] if isinstance(listed, list | tuple) else []
        if n.id in ns or not names:
            continue
        joined = "".join(names)
        hits = [joined] if joined in mean else [x for x in dict.fromkeys(names) if x in mean]
        if hits and not used.intersection(hits):
            ns[n.id], how[n.id], taken[n.id] = sum(mean[x] for x in hits), "original", tuple(hits)
            used.update(hits)
    left = [k for k in mean if k not in used] if by_order else []
    for kind in dict.fromkeys(kinds[k] for k in left if kinds[k]):
        names = [k for k in left if kinds[k] == kind]
        free = [n for n in wanted if n.id not in ns and n.op == kind]
        if len(names) == len(free):
            for n, k in zip(free, names, strict=True):
                ns[n.id], how[n.id], taken[n.id] = mean[k], "order", (k,)
                used.add(k)
    missing = tuple(n.id for n in wanted if n.id not in ns)
    unused = tuple(k for k in mean if k not in used)
    return ProfileMatch({i: round(v) for i, v in ns.items()}, how, unused, missing, taken)


def with_profile(graph: Graph, match: ProfileMatch, source: str = "") -> Graph:
    """Graph whose matched nodes carry their measured time (``_gx_duration_ns``); the cost model then does not estimate them.

    ``source`` names the profile on the nodes.
    """
    given = {GIVEN_ORIGIN: Origin.MEASURED.value, **({GX_DURATION_SOURCE: source} if source else {})}
    return (
        graph.with_attrs(
            {
                i: {GIVEN_NS: ns, **given, ROWS: match.rows.get(i, ()), WAY: match.how.get(i, "name"), MEMBERS: None}
                for i, ns in match.ns.items()
            }
        )
        if match.ns
        else graph
    )
