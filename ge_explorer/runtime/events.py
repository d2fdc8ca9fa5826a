"""Event ids of a dynamic model at load: they must pair up, and the loader adds events of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ge_explorer.runtime.model import DynamicNode
from ge_explorer.text import Text

BG_EVENT = "runtime/v2/graph_builder/multi_stream/bg_event.cc"
MAIN_STREAM = 0
Stage = Literal["first-sync", "last-sync", "last-resource-clean"]

STAGE_TEXT: dict[Stage, Text] = {
    "first-sync": Text("auxiliary stream must not start before the caller's stream", "辅流不得早于调用者的流开始"),
    "last-sync": Text("caller's stream waits for the end of an auxiliary stream", "调用者的流等待辅流结束"),
    "last-resource-clean": Text(
        "memory of an auxiliary stream returns to the caller's stream", "辅流的内存交还给调用者的流"
    ),
}


@dataclass(frozen=True, slots=True)
class ExtraEvent:
    """An event the loader adds: ``id`` continues the model's own ids; it is sent on stream ``src`` and awaited on ``dst``."""

    stage: Stage
    id: int
    src: int
    dst: int
    node: str = ""


def check_events(nodes: Sequence[DynamicNode], event_num: int) -> Text | None:
    """Why GE refuses the ids, None if it takes them: each of 0 .. ``event_num`` - 1 sent exactly once and received exactly once.

    Nodes of known-shape graphs are not looked at. Source: bg_event.cc CollectAllEventInfos; negative ids, which it does not look
    for, are refused here.
    """
    sent: dict[int, str] = {}
    received: dict[int, str] = {}
    for n in nodes:
        if not n.unknown:
            continue
        for seen, ids, verb, zh in ((sent, n.sends, "sent", "发送"), (received, n.recvs, "received", "接收")):
            for i in ids:
                if i in seen:
                    return Text(
                        f"event {i} is {verb} twice: by {seen[i]} and by {n.name}",
                        f"事件 {i} 被{zh}两次：{seen[i]} 与 {n.name}",
                    )
                if not 0 <= i < event_num:
                    return Text(
                        f"event {i} of {n.name} is out of range: the model states {event_num} events",
                        f"{n.name} 的事件 {i} 超出范围：模型声明 {event_num} 个事件",
                    )
                seen[i] = n.name
    used = len(sent.keys() | received.keys())
    if used != event_num:
        return Text(
            f"the nodes use {used} event ids, the model states {event_num}",
            f"节点使用 {used} 个事件号，模型声明 {event_num} 个",
        )
    alone = sorted(sent.keys() ^ received.keys())
    if alone:
        missing = ("received", "接收") if alone[0] in sent else ("sent", "发送")
        return Text(f"event {alone[0]} is never {missing[0]}", f"事件 {alone[0]} 从未被{missing[1]}")
    return None


def extra_events(nodes: Sequence[DynamicNode], event_num: int, stream_num: int) -> tuple[ExtraEvent, ...]:
    """Events the loader appends, in order of their ids.

    first-sync: a root-graph node on an auxiliary stream without any input and without received ids; last-sync: one without any
    output and without sent ids; last-resource-clean: every auxiliary stream. ``stream_num`` counts the reusable streams.
    """
    aux = [n for n in nodes if n.direct and n.stream > MAIN_STREAM]
    ends: list[tuple[Stage, int, int, str]] = [
        *(("first-sync", MAIN_STREAM, n.stream, n.name) for n in aux if not n.inputs and not n.recvs),
        *(("last-sync", n.stream, MAIN_STREAM, n.name) for n in aux if not n.outputs and not n.sends),
        *(("last-resource-clean", i, MAIN_STREAM, "") for i in range(1, stream_num)),
    ]
    return tuple(ExtraEvent(stage, event_num + k, a, b, name) for k, (stage, a, b, name) in enumerate(ends))
