"""19.9: who starts which stream. A stream that nobody lists starts with the model."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.checks.ordering import BRANCH_NODE, holds_back, is_loop_activator
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text

LIST, SWITCH_LIST, LABEL, NOBODY, PART, EARLY, AT_ONCE = "GX119", "GX136", "GX137", "GX138", "GX139", "GX140", "GX141"
FIRST_ACTIVE, LABELS = "subgraph_first_active", "_active_label_list"
SOURCE = "sync.md 19.9"


def activation_lists(c: Context) -> Iterator[Issue]:
    """GX119: nobody may activate a stream it runs on, and an activated stream must exist."""
    plan, of = c.plan, c.plan.of_node
    count = max(plan.count, 0)
    fix = Text("Correct the active stream list.", "请修正激活流列表。")
    for node, streams in plan.active.items():
        if not c.node_ref(node):
            continue
        for st in dict.fromkeys(streams):
            if st == of[node]:
                text = Text(
                    f"{c.name(node)} activates its own stream {plan.say(st)}",
                    f"{c.name(node)} 激活了自己所在的流 {plan.say(st)}",
                )
            elif not 0 <= st < count:
                text = Text(
                    f"{c.name(node)} activates stream {st}, which does not exist",
                    f"{c.name(node)} 激活了不存在的流 {st}",
                )
            else:
                continue
            yield Issue(LIST, "error", text, (Ref("node", node), plan.ref(st)), fix, SOURCE)


def switch_lists(c: Context) -> Iterator[Issue]:
    """GX136: the loader takes a StreamSwitch with exactly one stream. GX137: several streams of a label need a StreamActive."""
    plan, g = c.plan, c.s.graph
    switches = [n for n in g if n.op == "StreamSwitch"]
    if not switches or not plan.active:
        return
    several = {k: v for k, v in c.final_sync.label_streams.items() if len(set(v)) > 1}
    for n in switches:
        started = plan.active.get(n.id, ())
        if len(started) != 1:
            yield Issue(
                SWITCH_LIST, "warning",
                Text(
                    f"StreamSwitch {n.name} starts {len(started)} streams; the loader accepts exactly one. GE compiles such a "
                    f"graph without a word",
                    f"StreamSwitch {n.name} 激活 {len(started)} 条流；加载时只接受一条。GE 编译时不会报错",
                ),
                (Ref("node", n.id), *map(plan.ref, started)),
                Text("Give the switch one label, owned by at least one stream.", "只给该 Switch 一个标签，且该标签至少有一条流。"),
                SOURCE,
            )  # fmt: skip
        own = {str(x) for x in n.attrs.get(LABELS) or ()}
        for label in sorted(k for k, v in several.items() if k in own and set(started) & set(v)):
            yield Issue(
                LABEL, "error",
                Text(
                    f"StreamSwitch {n.name} starts a stream of label {label} directly, but the label has "
                    f"{len(set(several[label]))} streams: the others never start",
                    f"StreamSwitch {n.name} 直接激活标签 {label} 的流，但该标签有 {len(set(several[label]))} 条流：其余不会启动",
                ),
                (Ref("node", n.id), *map(plan.ref, sorted(set(several[label])))),
                Text("Let a StreamActive behind the switch start them (activate-by-switch).",
                     "请由 Switch 之后的 StreamActive 激活（activate-by-switch）。"), SOURCE,
            )  # fmt: skip


def activators_exist(c: Context) -> Iterator[Issue]:
    """GX138: a stream that counts as activated is in nobody's list; GX139: a part of an activated stream is left out."""
    plan, s = c.plan, c.s
    listed = {x for streams in plan.active.values() for x in streams}
    heads = {x: i for i, x in s.physical.heads.items()} if s.physical is not None else {}
    for i, streams in plan.active.items():
        split = [x for x in streams if s.physical is not None and not set(s.physical.parts.get(x, ())) <= set(streams)]
        if split and c.node_ref(i) and s.graph.node(i).op == "StreamSwitch":
            yield Issue(
                PART, "warning",
                Text(
                    f"StreamSwitch {c.name(i)} starts stream {split[0]} but not its new parts: GE tells only the first label "
                    f"that owns a stream about them",
                    f"StreamSwitch {c.name(i)} 激活流 {split[0]}，但不激活其新部分：GE 只更新拥有该流的第一个标签",
                ),
                (Ref("node", i), Ref("stream", split[0])),
                Text("Give every label streams of its own.", "请让每个标签拥有自己的流。"), "sync.md 22",
            )  # fmt: skip
    for st in sorted(c.final_sync.activated - listed):
        whole = plan.logical(st)
        if whole != st and st in heads:
            yield _part_issue(c, st, whole, heads[st])
        elif plan.ends[0].get(st) is not None and not _only_loop(c, st):
            yield Issue(
                NOBODY, "error",
                Text(f"stream {plan.say(st)} is to be started by a node, but no node lists it",
                     f"流 {plan.say(st)} 应由某个节点激活，但没有节点列出它"),
                (plan.ref(st),), Text("Run the activation passes again.", "请重新运行激活相关的 pass。"), SOURCE,
            )  # fmt: skip


def _only_loop(c: Context, st: int) -> bool:
    """A StreamActive's own stream is started by its switch; it is in no list while the switch's list is not written yet."""
    i = c.plan.ends[0][st][1]
    return c.s.graph.node(i).op == "StreamActive" and BRANCH_NODE in c.s.graph.node(i).attrs and c.s.physical is None


def _part_issue(c: Context, st: int, whole: int, head: int) -> Issue:
    g, plan = c.s.graph, c.plan
    starters = [i for i, streams in plan.active.items() if whole in streams]
    same = [i for i in starters if g.node(i).scope == g.node(head).scope and g.node(i).op != "StreamSwitch"]
    if same:
        text = Text(
            f"{c.name(same[0])} starts stream {whole} but not its part {plan.say(st)}",
            f"{c.name(same[0])} 激活了流 {whole}，却没有激活其部分 {plan.say(st)}",
        )
    else:
        text = Text(
            f"part {plan.say(st)} starts in another graph than the nodes that activate stream {whole}: GE leaves it out, it starts "
            f"with the model and waits for the event of the cut",
            f"部分 {plan.say(st)} 起始于与激活流 {whole} 的节点不同的图：GE 不激活它，它随模型启动并等待切分处的事件",
        )
    return Issue(
        PART, "error" if same else "warning", text, (Ref("stream", whole), Ref("node", head), *(Ref("node", i) for i in starters)),
        Text("Run update-activation after the split.", "请在切分之后运行 update-activation。")
        if same else Text("Start the body with a head StreamActive.", "请让子图以头部 StreamActive 开始。"), SOURCE,
    )  # fmt: skip


def early_users(c: Context) -> Iterator[Issue]:
    """GX140: a stream that a node starts should not carry nodes from before it: they would wait for it (inferred)."""
    g, plan = c.s.graph, c.plan
    heads = [i for i in plan.active if c.node_ref(i) and holds_back(c.s, i) and not is_loop_activator(c.s, i)]
    if not heads:
        return
    place = {v: k for k, v in enumerate(plan.sequence)}
    for i in heads:
        for st in dict.fromkeys(plan.active[i]):
            first = plan.ends[0].get(st)
            if first is None or first[0] >= place.get(i, -1) or st == plan.of_node[i]:
                continue
            if (
                BRANCH_NODE in g.node(i).attrs
                and g.node(i).op == "StreamActive"
                and not g.node(i).attrs.get(FIRST_ACTIVE)
            ):
                continue  # GE appends these at the end of the list, behind what they start (sync.md 24.3)
            a, b = c.name(i), c.name(first[1])
            yield Issue(
                EARLY, "warning",
                Text(
                    f"{a} starts stream {plan.say(st)}, but {b} stands on it earlier: the loader holds the stream back, so it "
                    f"waits for {a}",
                    f"{a} 激活流 {plan.say(st)}，但 {b} 更早就在该流上：加载时不启动该流，它会一直等待 {a}",
                ),
                (Ref("node", i), plan.ref(st), Ref("node", first[1])),
                Text("Put what is started later on streams of its own.", "请让之后才启动的节点使用独立的流。"), SOURCE,
            )  # fmt: skip


def started_at_once(c: Context) -> Iterator[Issue]:
    """GX141: the loader holds back only streams named by a StreamSwitch or by a StreamActive that carries
    ``_switch_branch_node_label``; a stream that others activate starts with the model, so its activation orders nothing.
    """
    plan = c.plan
    held: set[int] = set()
    loose: dict[int, int] = {}
    for i, streams in plan.active.items():
        if not c.node_ref(i) or is_loop_activator(c.s, i):
            continue
        if holds_back(c.s, i):
            held.update(streams)
        else:
            loose.update(dict.fromkeys(streams, i))
    early = {st: i for st, i in sorted(loose.items()) if st not in held}
    if early:
        st, i = next(iter(early.items()))
        name = c.name(i)
        yield Issue(
            AT_ONCE, "note",
            Text(
                f"{len(early)} streams are activated by nodes without {BRANCH_NODE} (stream {plan.say(st)} by {name}): the "
                f"loader starts them with the model",
                f"{len(early)} 条流由没有 {BRANCH_NODE} 的节点激活（如流 {plan.say(st)}，{name}）：加载时它们随模型启动",
            ),
            tuple(dict.fromkeys(r for x, j in list(early.items())[:50] for r in (Ref("node", j), plan.ref(x)))),
            Text(f"GE's passes set {BRANCH_NODE} on the StreamActive nodes they make.",
                 f"GE 的 pass 会为其创建的 StreamActive 设置 {BRANCH_NODE}。"),
            "sync.md 15",
        )  # fmt: skip
