"""What the automatic-stream pass reports about profiling files and graphs it cannot spread."""

from __future__ import annotations

from ge_explorer.errors import InputError
from ge_explorer.ids import node
from ge_explorer.issue import Issue
from ge_explorer.passes.streams.dag.adapter import NO_PROFILE
from ge_explorer.passes.streams.dag.mode import Strategy
from ge_explorer.passes.streams.dag.model import Dag
from ge_explorer.passes.streams.dag.profiling import KEY as PROFILE_KEY
from ge_explorer.passes.streams.dag.profiling import Profile, read_profile
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext

_ADAPTER = "compiler/graph/build/stream/dag_adapter.cc"


def load_profile(ctx: PassContext) -> Profile:
    """The profile named by the option; without one, or when GE could not use the file (reported), none."""
    path = ctx.option(PROFILE_KEY)
    if not path:
        return NO_PROFILE
    try:
        return read_profile(path)
    except InputError as e:
        message = Text(f"No profiling times were used: {e.what}.", f"未使用性能数据：{e.what}")
        ctx.report(Issue("GX130", "warning", message, fix=Text(e.todo) if e.todo else None, source=_ADAPTER))
        return NO_PROFILE


def forced_weighted(dag: Dag, where: str, asked: Strategy) -> Issue:
    """A profiled node makes its graph ``where`` use WeightedLoadBalance, whatever was ``asked`` for."""
    known, count = dag.profiled, len(dag.nodes)
    missing = tuple(node(n.node_id) for n in dag.nodes if not n.profiled and n.time < 0)
    en = f"{known} of {count} nodes of {where!r} have a profiling record, so it is spread by WeightedLoadBalance"
    zh = f"图 {where!r} 的 {count} 个节点中有 {known} 个性能记录，因此按 WeightedLoadBalance 分流"
    if asked != "WeightedLoadBalance":
        en, zh = f"{en} instead of {asked}", f"{zh}，不再使用 {asked}"
    if missing:
        en, zh = (
            f"{en}; {len(missing)} nodes without one count as 0 µs",
            f"{zh}；{len(missing)} 个无记录的节点按 0 µs 计",
        )
    return Issue("GX131", "note", Text(f"{en}.", f"{zh}。"), missing[:20], source=_ADAPTER)


def report_rows(ctx: PassContext, profile: Profile, matched: int) -> None:
    """Say when the file named no node of the graph, or had rows nobody can read."""
    rows = len(profile.rows)
    if not matched:
        ctx.report(
            Issue(
                "GX131", "warning",
                Text(f"None of the {rows} operators of the profiling file is a node of this graph.",
                     f"性能数据中的 {rows} 个算子都不在图中。"),
                fix=Text("Names must match in full, or after the last '/'.", "名称须完全一致，或与最后一个 / 之后的部分一致。"),
                source=_ADAPTER,
            )
        )  # fmt: skip
    if profile.unreadable:
        n = profile.unreadable
        text = Text(f"{n} rows of the profiling file were skipped.", f"性能数据中有 {n} 行被跳过。")
        ctx.report(Issue("GX132", "note", text, source="compiler/graph/build/dag/dag_profiling_parser.cc: ParseRow"))


def nothing_assigned(failure: str, where: str) -> Issue:
    """The path cover or the merger refused graph ``where``; GE logs that and goes on."""
    text = Text(f"Graph {where!r} keeps its streams: {failure}.", f"图 {where!r} 保持原有流：{failure}")
    return Issue("GX133", "warning", text, source="dag_stream_allocator.cc: ByPathCover")
