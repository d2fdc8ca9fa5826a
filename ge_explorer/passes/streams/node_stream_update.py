"""node-stream-update: nodes take the stream of their cluster."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError, PassFailed
from ge_explorer.graph.model import Node
from ge_explorer.ids import node
from ge_explorer.passes.streams.chain import LSA, RTS_LABEL, ChainPass, Draft, cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot

_SOURCE = f"{LSA}: NodeStreamUpdatePass::Run"


@dataclass(frozen=True)
class NodeStreamUpdate(ChainPass):
    """Write cluster streams to the nodes of the scope.

    Rule:
    1. A cluster without stream is an error, unless its engine needs none (INTERNAL_ERROR).
    2. Every node starts from no stream, so Data, Const and Variable end without one.
    3. Members take the cluster's stream; nodes with ``_rts_label_node`` take the stream of the owning node (none in the root).
    4. NetOutput in the body of a ``While`` in a dynamic graph goes to stream 0.

    GE source: logical_stream_allocator.cc, exact.
    Example: cluster {conv, relu} on stream 2 → conv 2, relu 2; their Data → none.
    """

    name: ClassVar[str] = "node-stream-update"
    title: ClassVar[Text] = Text("To nodes", "写入节点")
    summary: ClassVar[Text] = Text("Gives each node the stream of its cluster.", "把簇的流写到节点上。")
    ge_name: ClassVar[str] = "NodeStreamUpdatePass"
    source: ClassVar[str] = _SOURCE
    in_single_mode: ClassVar[bool] = True
    rules = MappingProxyType(
        {
            "from-cluster": Rule(Text("Takes the stream of its cluster.", "使用所在簇的流。"), _SOURCE),
            "no-cluster": Rule(
                Text(
                    "In no cluster (inputs, constants, variables run nothing): no stream.",
                    "不在任何簇中（输入、常量、变量不执行）：没有流。",
                ),
                _SOURCE,
            ),
            "rts-label": Rule(
                Text("Runtime label node: takes the stream of the owning node.", "运行时标签节点：使用所属节点的流。"),
                _SOURCE,
            ),
            "while-body-output": Rule(
                Text("Output of a While body in a dynamic graph: stream 0.", "动态图 While 循环体的输出：流 0。"),
                _SOURCE,
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """Reset and write; always SUCCESS."""
        for c in d.clusters:
            if d.cluster[c.id] == NO_STREAM and not d.engine(c).skip:
                raise PassFailed(
                    f"cluster {c.name} has no stream", code="E19999", ge_status="PARAM_INVALID", inner_status="INTERNAL_ERROR",
                    got=c.engine, todo="Switch the assigning passes on again.",
                )  # fmt: skip
        graph = d.s.graph
        members = {i for c in d.clusters for i in c.nodes}
        for i in graph.scope(d.ctx.scope).nodes:
            if i not in members:
                d.ctx.decide(node(i), "stream", d.node[i], NO_STREAM, "no-cluster")
                d.node[i] = NO_STREAM
        body_output = self._while_body_output(d)
        for c in d.clusters:
            stream, mine = d.cluster[c.id], cluster_ref(c)
            for i in c.nodes:
                n = graph.node(i)
                if RTS_LABEL in n.attrs:
                    target, rule = d.default, "rts-label"
                elif n.id == body_output:
                    target, rule = 0, "while-body-output"
                else:
                    target, rule = stream, "from-cluster"
                before = d.node[i]
                d.node[i] = target
                d.ctx.decide(node(i), "stream", before, target, rule, (mine,))
        return True

    def _while_body_output(self, d: Draft) -> int:
        """NetOutput of this scope when it is the body of a While in a dynamic graph; -1 otherwise."""
        graph = d.s.graph
        parent = graph.scope(d.ctx.scope).parent
        if parent < 0:
            return -1
        owner: Node = graph.node(parent)
        body = owner.op == "While" and list(owner.subgraphs[1:2]) == [d.ctx.scope]
        if not body or not graph.scope(owner.scope).dynamic:
            return -1
        return next((i for i in graph.scope(d.ctx.scope).nodes if graph.node(i).op == "NetOutput"), -1)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """The stream array still has one entry per node id."""
        if after.streams is not None and len(after.streams.node) != after.graph.id_bound:
            raise ContractError("stream array has another length than the graph", where=self.name)
