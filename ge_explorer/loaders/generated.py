"""Random graphs for benchmarks and tests: layered, several engines, labels, control edges, real shapes. Same seed, same graph."""

from __future__ import annotations

import random

from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph

WIDTH = 8
"""Open branches of the graph at any time."""
_ROWS, _COLUMNS = 256, 1024
_UNARY = ("Relu", "Sigmoid", "Tanh", "Gelu", "Cast", "SoftmaxV2")
_BINARY = ("Add", "Mul", "Sub", "Maximum")


def generated_graph(nodes: int = 10_000, seed: int = 0, *, labels: int = 2, collective_every: int = 97) -> Graph:
    """Graph with exactly ``nodes`` nodes (sources and NetOutput included; at least 20).

    Branches of random operators fork and join: matmuls (AI Core cube), elementwise (vector), now and then an AI CPU node,
    a random-number node (DSA), a reshape (GE local) and a collective. ``labels`` user stream labels are spread over
    stretches of about thirty nodes; one node in fifty gets a control edge from an earlier one.

    >>> len(generated_graph(200, seed=1))
    200
    >>> generated_graph(60, 3).edges == generated_graph(60, 3).edges
    True
    """
    if nodes < 20:
        raise OptionError("a generated graph needs at least 20 nodes", got=nodes)
    r = random.Random(seed)
    b = GraphBuilder(f"generated_{nodes}_{seed}")
    shape = (_ROWS, _COLUMNS)
    weights = [b.const(f"w{k}", (_COLUMNS, _COLUMNS)) for k in range(4)]
    branches: list[Value] = [b.data(f"x{k}", shape) for k in range(3)]
    made, label, recent = len(weights) + len(branches), "", list(branches)
    while made < nodes - 1:
        if made % 30 == 0:
            label = f"{r.randrange(labels)}" if labels and r.random() < 0.2 else ""
        slot = r.randrange(len(branches))
        with b.attributes({"_user_stream_label": label} if label else {}):
            y = _operator(b, r, made, branches, slot, weights, collective_every)
        if len(branches) < WIDTH and r.random() < 0.3:
            branches.append(y)
        else:
            branches[slot] = y
        if r.random() < 0.02:
            b.control(r.choice(recent), y)
        recent = [*recent[-40:], y]
        made += 1
    return b.build()


def _operator(
    b: GraphBuilder, r: random.Random, k: int, branches: list[Value], slot: int, weights: list[Value], every: int
) -> Value:
    x, shape, kind = branches[slot], (_ROWS, _COLUMNS), r.random()
    if every and k % every == 0:
        comm = {"group": "hccl_world_group", "rank_size": 8, "_parallel_group": "hcom_op_1"}
        return b.op("HcomAllReduce", x, name=f"allreduce_{k}", attrs=comm)
    if kind < 0.25:
        return b.op("MatMulV2", x, r.choice(weights), name=f"matmul_{k}", shape=shape)
    if kind < 0.55:
        return b.op(r.choice(_UNARY), x, name=f"unary_{k}")
    if kind < 0.90:
        return b.op(r.choice(_BINARY), x, r.choice(branches), name=f"binary_{k}")
    if kind < 0.95:
        return b.op("Reshape", x, name=f"reshape_{k}", shape=shape)
    if kind < 0.98:
        return b.op("Where", x, name=f"aicpu_{k}", shape=shape)
    return b.op("DSARandomUniform", x, name=f"random_{k}", shape=shape)
