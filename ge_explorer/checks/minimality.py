"""19.7 and 19.8: what GE's clean-up guarantees, and what it keeps although it is implied."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import Event

SURPLUS, REDUNDANT, SWITCH = "GX116", "GX135", "GX117"
CLEANED = frozenset({"data", "control", "boundary", "dump"})
"""Causes of the events that went through the clean-up; later ones (loops, attached streams, the split) did not."""


def cleaned(c: Context) -> list[Event]:
    """Main-stream events that GE's clean-up has seen."""
    return [e for e in c.sync.events if e.on_main and e.cause in CLEANED]


def surplus_events(c: Context) -> Iterator[Issue]:
    """GX116: after GE's clean-up a node sends at most one event to a stream, and receives at most one from a stream."""
    pairs = _doubled(c)
    if not pairs:
        return
    first, second = pairs[0]
    example = f"{first.id}, {second.id}"
    yield Issue(
        SURPLUS, "warning",
        Text(
            f"{len(pairs)} events repeat what another one between the same node and stream says already (such as events {example})",
            f"{len(pairs)} 个事件与同一节点、同一流之间的另一事件重复（例如事件 {example}）",
        ),
        tuple(dict.fromkeys(Ref("event", e.uid) for pair in pairs for e in pair)),
        Text("Run optimize-by-send and optimize-by-recv.", "请运行 optimize-by-send 与 optimize-by-recv。"), "sync.md 19.7",
    )  # fmt: skip


def _doubled(c: Context) -> list[tuple[Event, Event]]:
    """(earlier event, later event) between one node and one stream, in either direction."""
    to_stream: dict[tuple[int, int], Event] = {}
    from_stream: dict[tuple[int, int], Event] = {}
    pairs: list[tuple[Event, Event]] = []
    for e in cleaned(c):
        a = to_stream.setdefault((e.send, e.recv_stream), e)
        b = from_stream.setdefault((e.send_stream, e.recv), e)
        if a is not e or b is not e:
            pairs.append((a if a is not e else b, e))
    return pairs


def redundant_events(c: Context) -> Iterator[Issue]:
    """GX135: events implied by others. GE looks at pairs of events only, never at longer paths.

    Those that GX112 or GX116 names are left out.
    """
    hb = c.hb
    if hb is None:
        return
    named = {e.uid for pair in _doubled(c) for e in pair} | c.plan.second
    found = [e for e in c.plan.events if e.uid not in named and e.send_stream != e.recv_stream and _implied(c, hb, e)]
    if found:
        e = found[0]
        yield Issue(
            REDUNDANT, "note",
            Text(
                f"{len(found)} of {len(c.plan.events)} events are redundant, kept by GE (such as event {e.id}, {c.name(e.send)} to "
                f"{c.name(e.recv)}): other events and streams give the same order",
                f"{len(c.plan.events)} 个事件中有 {len(found)} 个冗余，GE 仍保留（例如事件 {e.id}：{c.name(e.send)} 到 "
                f"{c.name(e.recv)}）：其他事件与流已给出相同顺序",
            ),
            tuple(Ref("event", x.uid) for x in found), source="sync.md 6",
        )  # fmt: skip


def _implied(c: Context, hb: HappensBefore, e: Event) -> bool:
    """True if the receiver also comes after the sender by another way in."""
    end = c.plan.tasks.ends.get(e.uid)
    if end is None or end[0] not in hb or end[1] not in hb:
        return False
    sender, receiver = end
    column, place = int(hb.column[hb.row[sender]]), int(hb.position[hb.row[sender]])
    for o in hb.predecessors.get(receiver, ()):
        if (
            o.event == e.uid or o.first not in hb.row or (o.first == sender and o.event > e.uid)
        ):  # of twins one is needed
            continue
        r = hb.row[o.first]
        done = int(hb.clocks[r, column])
        if done > place or (int(hb.column[r]) == column and int(hb.position[r]) >= place):
            return True
    return False


def switch_senders(c: Context) -> Iterator[Issue]:
    """GX117: a StreamSwitch must not send events; what it guards is started by activation.

    The chain event of a split may stand behind one: GE cuts the stream without looking at the node before.
    """
    g = c.s.graph
    for e in c.plan.events:
        n = g.nodes[e.send] if 0 <= e.send < g.id_bound else None
        if n is None or n.op != "StreamSwitch":
            continue
        split = e.uid in c.plan.second
        later = split or e.cause not in CLEANED or not e.on_main
        quirk = Text("")
        if split:
            quirk = Text(" because its stream is cut behind it, as GE does", "，因为流正好在其后被切开（GE 的做法）")
        elif later:
            quirk = Text(", which GE adds after its clean-up", "，该事件由 GE 在清理之后添加")
        yield Issue(
            SWITCH, "warning" if later else "error",
            Text(f"StreamSwitch {n.name} sends event {e.id}{quirk.en}", f"StreamSwitch {n.name} 发送了事件 {e.id}{quirk.zh}"),
            (Ref("event", e.uid), Ref("node", e.send)),
            Text("Raise gx.maxTasksPerStream, or shorten the stream.", "请提高 gx.maxTasksPerStream，或缩短该流。")
            if split
            else Text("Let the value come from another node.", "请由其他节点提供该值。")
            if later
            else Text("Run switch-clean-up.", "请运行 switch-clean-up。"), "sync.md 19.8",
        )  # fmt: skip
