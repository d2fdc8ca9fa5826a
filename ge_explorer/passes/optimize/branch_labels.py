"""branch-labels: AttachStreamLabelPass where GE runs it first, right after Switch and Merge were converted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.passes.optimize.base import MADE_HERE
from ge_explorer.passes.partition.attach_stream_labels import AttachStreamLabels
from ge_explorer.text import Text
from ge_explorer.trace.passes import Chapter, PassContext
from ge_explorer.trace.state import Snapshot


@dataclass(frozen=True)
class BranchLabels(AttachStreamLabels):
    """Label the branches before anything is fused, so that no fusion crosses the edge of a branch.

    Rule: that of attach-stream-labels, which runs again before placement. GE source: attach_stream_label_pass.cc (stage 1).
    Only for StreamSwitch and StreamMerge that passes made here. Example: see attach-stream-labels.
    """

    name: ClassVar[str] = "branch-labels"
    title: ClassVar[Text] = Text("Branch labels", "分支标签")
    chapter: ClassVar[Chapter] = "optimise"

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only what was converted here."""
        if MADE_HERE in s.graph.attrs:
            return super().skip_reason(s, ctx)
        return Text("no Switch, Merge or loop was converted", "没有转换过 Switch、Merge 或循环")
