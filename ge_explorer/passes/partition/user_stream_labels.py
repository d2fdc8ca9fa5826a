"""user-stream-labels: the user's stream label replaces the inner one."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.ids import node
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

USER_LABEL, STREAM_LABEL, INNER_PARALLEL = "_user_stream_label", "_stream_label", "_enable_inner_parallel"
_SOURCE = "compiler/graph/build/stream/stream_utils.cc: TransUserStreamLabel"


@dataclass(frozen=True)
class UserStreamLabels(Pass):
    """Copy ``_user_stream_label`` over ``_stream_label``.

    Rule:
    1. A node with both labels and ``_enable_inner_parallel`` gets the user label ``user_inner``.
    2. Every node with a user label gets it as its stream label; an inner label is lost.

    GE source: stream_utils.cc, exact. Runs before the second partition.
    Example: user label ``moe`` on a node with inner label ``x`` → stream label ``moe``.
    """

    name: ClassVar[str] = "user-stream-labels"
    title: ClassVar[Text] = Text("User labels", "用户流标签")
    summary: ClassVar[Text] = Text(
        "Turns the user's stream labels into GE's stream labels.", "把用户流标签转成 GE 的流标签。"
    )
    chapter = "partition"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    ge_name: ClassVar[str] = "TransUserStreamLabel"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "user-label": Rule(Text("The user's label becomes the stream label.", "用户标签成为流标签。"), _SOURCE),
            "user-and-inner": Rule(
                Text(
                    "Inner parallelism is on, so both labels are joined.",
                    "开启了内部并行，两个标签拼接在一起。",
                ),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the labels rewritten."""
        changes: dict[int, dict[str, Any]] = {}
        for n in s.graph:
            if USER_LABEL not in n.attrs:
                continue
            user, inner = str(n.attrs[USER_LABEL]), n.attrs.get(STREAM_LABEL)
            joined = inner is not None and n.attrs.get(INNER_PARALLEL) is True
            label = f"{user}_{inner}" if joined else user
            if label != inner or label != user:
                changes[n.id] = {USER_LABEL: label, STREAM_LABEL: label}
                ctx.decide(node(n.id), "label", inner or "", label, "user-and-inner" if joined else "user-label")
        ctx.status = "SUCCESS"
        return s.evolve(graph=s.graph.with_attrs(changes)) if changes else s
