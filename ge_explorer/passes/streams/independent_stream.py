"""independent-stream: engines that own a stream (collectives) get theirs."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.streams.chain import LSA, ChainPass, Draft
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM

_SOURCE = f"{LSA}: IndependentStreamPass::Run"


@dataclass(frozen=True)
class IndependentStream(ChainPass):
    """Clusters of an independent engine (HCCL) get one stream per engine and stream label.

    Rule:
    1. A cluster that has a stream and a *user* label keeps it.
    2. Otherwise (engine, stream label) decides: first seen takes the next free id, later ones share it. A cluster with only
       an inner label loses its label stream here.

    GE source: logical_stream_allocator.cc, exact. The stream is not final: optimize-ineffective may take it back.
    Example: two AllReduce clusters without label share one stream beside the compute.
    """

    name: ClassVar[str] = "independent-stream"
    title: ClassVar[Text] = Text("Independent", "独立流")
    summary: ClassVar[Text] = Text(
        "Gives independent engines such as HCCL a stream of their own.", "为 HCCL 等独立引擎分配专用流。"
    )
    ge_name: ClassVar[str] = "IndependentStreamPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "independent-new": Rule(
                Text(
                    "The engine is independent: first cluster of this engine and label, a new stream.",
                    "独立引擎：该引擎和标签的第一个簇，新建流。",
                ),
                _SOURCE,
            ),
            "independent-shared": Rule(
                Text(
                    "The engine is independent: shares the stream of this engine and label.",
                    "独立引擎：与同引擎、同标签的簇共用一条流。",
                ),
                _SOURCE,
            ),
            "user-label-kept": Rule(
                Text(
                    "Already has a stream from a user label, so it is skipped.",
                    "已由用户标签分配了流，跳过。",
                ),
                _SOURCE,
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """SUCCESS when at least one cluster is of an independent engine and not exempt."""
        streams: dict[tuple[str, str], int] = {}
        for c in d.clusters:
            exempt = d.cluster[c.id] != NO_STREAM and bool(c.user_label)
            if not d.engine(c).independent:
                continue
            if exempt:
                d.keep_cluster(c, "user-label-kept")
                continue
            key = (c.engine, c.stream_label)
            known = key in streams
            if not known:
                streams[key] = d.new_stream()
            d.set_cluster(c, streams[key], "independent-shared" if known else "independent-new")
        return bool(streams)
