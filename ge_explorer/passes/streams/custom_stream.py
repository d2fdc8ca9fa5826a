"""custom-stream: a stage of your own after GE's stream passes, as GE's custom stream passes are.

Write a function that takes a ``StreamPassContext`` and hand it to ``gx.compile(graph, stream_passes=[function])``::

    def put_on_its_own(ctx):
        ctx.set_stream("gelu", ctx.allocate_next_stream())
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import GxError, PassFailed
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, StreamAssignment, int_array

SINGLE = "ge.enableSingleStream"
_SOURCE = "graph_metadef/register/register_custom_pass.cpp: kAfterAssignLogicStream"


class StreamPassContext:
    """What a custom stream pass may see and do (GE's StreamPassContext).

    ``graph`` is the whole graph, read only. Streams are checked as GE checks them.
    """

    def __init__(self, graph: Graph, streams: list[int], highest: int) -> None:
        self.graph = graph
        self.changed: dict[int, int] = {}
        self._streams, self._highest, self._first = streams, highest, highest + 1

    @property
    def max_stream_id(self) -> int:
        """Highest stream id so far, -1 before the first (GetCurrMaxStreamId)."""
        return self._highest

    def allocate_next_stream(self) -> int:
        """A new stream id (AllocateNextStreamId)."""
        self._highest += 1
        return self._highest

    def stream(self, ref: int | str) -> int:
        """Stream of a node, -1 for none (GetStreamId). GraphError for an unknown node."""
        i = self.graph.node(ref).id
        return self.changed.get(i, self._streams[i])

    def set_stream(self, ref: int | str, stream: int) -> None:
        """Put a node on a stream that exists (SetStreamId). PassFailed for an id below 0 or above the highest."""
        n = self.graph.node(ref)
        if isinstance(stream, bool) or not isinstance(stream, int) or not 0 <= stream <= self._highest:
            raise PassFailed(
                "a custom stream pass used a stream that was not allocated", code="E13028", ge_status="PARAM_INVALID",
                inner_status="FAILED", where=f"node {n.name}", got=stream,
                todo=f"Use 0 to {self._highest}, or allocate_next_stream() first.",
            )  # fmt: skip
        self.changed[n.id] = stream

    @property
    def allocated(self) -> tuple[int, ...]:
        """Ids allocated by this pass."""
        return tuple(range(self._first, self._highest + 1))


StreamFunction = Callable[[StreamPassContext], Any]


@dataclass(frozen=True)
class CustomStream(Pass):
    """Run a user's function over the logical streams, before they are made continuous.

    Rule: streams may be changed, new ones allocated with ``allocate_next_stream``; an id nobody allocated is an error. The ids it
    allocated are remembered (``_custom_logical_stream_ids``), before they are renumbered.

    GE source: register_custom_pass.cpp (stage kAfterAssignLogicStream), exact in its checks: no function E13030, a failing pass
    E13028. An exception of the function counts as failing.
    """

    name = "custom-stream"
    title = Text("Your pass", "自定义 Pass")
    summary = Text("Runs a function of yours on the logical streams.", "在逻辑流上运行用户自定义函数。")
    chapter = "streams"
    reads = frozenset({"graph", "streams"})
    writes = frozenset({"streams"})
    option_keys = frozenset({SINGLE})
    ge_name = "RunCustomStreamPass"
    source = _SOURCE
    fidelity = "exact"
    rules = MappingProxyType({"user": Rule(Text("Set by your pass.", "由自定义 Pass 设定。"), _SOURCE)})
    function: StreamFunction | None = field(default=None)
    label: str = ""

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Single-stream mode runs no custom passes."""
        if ctx.option(SINGLE) == "true":
            return Text("single-stream mode runs no custom stream passes", "单流模式不运行自定义流 Pass")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the streams the function set. Status SUCCESS."""
        if self.function is None:
            raise PassFailed("a custom stream pass has no function", code="E13030", ge_status="PARAM_INVALID",
                             where=self.label or self.name, todo="Give it a function.")  # fmt: skip
        before = s.streams or StreamAssignment(int_array([NO_STREAM] * s.graph.id_bound))
        streams = before.node.tolist()
        api = StreamPassContext(s.graph, streams, before.next_stream - 1)
        try:
            self.function(api)
        except GxError:
            raise
        except Exception as e:
            raise PassFailed(
                f"the custom stream pass failed: {type(e).__name__}: {e}", code="E13028", ge_status="PARAM_INVALID",
                inner_status="FAILED", where=self.label or self.name, todo="Correct the function.",
            ) from e  # fmt: skip
        for i, now in api.changed.items():
            if streams[i] != now:
                ctx.decide(node(i), "stream", streams[i], now, "user", note=Text(self.label, self.label))
                streams[i] = now
        ctx.status = "SUCCESS"
        return s.evolve(
            streams=StreamAssignment(
                int_array(streams), before.cluster, api.max_stream_id + 1, before.main_count, before.attached,
                (*before.custom, *api.allocated),
            )
        )  # fmt: skip


def custom_stream(function: StreamFunction, label: str = "") -> CustomStream:
    """A stage from a function; ``label`` is what the why-trail calls it (the function's name by default)."""
    return CustomStream(function, label or getattr(function, "__name__", "pass"))
