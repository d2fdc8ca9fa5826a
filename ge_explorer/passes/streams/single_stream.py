"""single-stream: everything on one stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import OptionError, PassFailed
from ge_explorer.passes.streams.chain import LSA, SINGLE, ChainPass, Draft
from ge_explorer.passes.streams.dag.mode import KEY, mode_text
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot

_NAMES = "ge.optionNameMap"


@dataclass(frozen=True)
class SingleStream(ChainPass):
    """Put every cluster of the graph on one stream (``ge.enableSingleStream`` = ``true`` only).

    Rule:
    1. An automatic multi-stream mode at the same time is refused: E10056.
    2. The stream is the one of the owning node, or the next free id in the root graph.
    3. A cluster with a stream label is refused: E10055.

    GE source: logical_stream_allocator.cc (SingleStreamPass), exact.
    Example: clusters a, b, c without labels → all on stream 0.
    """

    name: ClassVar[str] = "single-stream"
    title: ClassVar[Text] = Text("Single stream", "单流")
    summary: ClassVar[Text] = Text("Puts every cluster on one stream.", "所有簇放在一条流上。")
    option_keys: ClassVar[frozenset[str]] = ChainPass.option_keys | {KEY, _NAMES}
    ge_name: ClassVar[str] = "SingleStreamPass"
    source: ClassVar[str] = f"{LSA}: SingleStreamPass::Run"
    in_single_mode: ClassVar[bool] = True
    rules = MappingProxyType(
        {
            "single": Rule(
                Text("Single-stream mode: one stream for the whole graph.", "单流模式：整张图只有一条流。"),
                f"{LSA}: SingleStreamPass::Run",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only when the user asks for one stream."""
        if ctx.option(SINGLE) != "true":
            return Text(f"{SINGLE} is not true", f"{SINGLE} 不是 true")
        return None

    def work(self, d: Draft) -> bool:
        """One stream for all clusters that have none."""
        mode, _ = mode_text(d.s.graph, d.ctx.option(KEY))
        if mode:
            names = _readable(d.ctx.option(_NAMES))
            auto, single = names.get(KEY, KEY), names.get(SINGLE, SINGLE)
            raise PassFailed(
                f"{auto} and {single} cannot be used together", code="E10056", ge_status="PARAM_INVALID", got=mode,
                todo=f"Drop one of {auto} and {single}.",
            )  # fmt: skip
        stream = d.default if d.default != NO_STREAM else d.new_stream()
        for c in d.clusters:
            if d.cluster[c.id] != NO_STREAM:
                continue
            if c.stream_label:
                raise PassFailed(
                    f"{SINGLE} does not accept stream labels", code="E10055", ge_status="PARAM_INVALID",
                    where=f"cluster {c.name}", got=c.stream_label, todo="Remove the label or the option.",
                )  # fmt: skip
            d.set_cluster(c, stream, "single")
        return True


def _readable(text: str) -> dict[str, str]:
    """Option key -> the name the calling framework uses (``ge.optionNameMap``, a JSON object)."""
    if not text:
        return {}
    try:
        names = json.loads(text)
    except json.JSONDecodeError as e:
        raise OptionError("option name map is not JSON", where=_NAMES, got=str(e)) from None
    return {str(k): str(v) for k, v in names.items()} if isinstance(names, dict) else {}
