"""A step of a compilation as an ONNX model that *runs*, so that any engine can compare it with the original.

Unlike ``onnx_export``, which writes any graph with GE's decisions for display, this needs every value: constants too large to be
kept come from the file, are computed, or are written as the operators they were folded from. What the passes changed is in the
model: removed nodes are gone, folded ones are initialisers, fused ones are local functions (domain ``ge.fused``) that show their
members.
"""

from __future__ import annotations

from typing import Any

import onnx
from onnx import helper

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.exports.onnx_attributes import TYPES
from ge_explorer.exports.onnx_runnable import RunnableWriter
from ge_explorer.exports.runnable_history import History
from ge_explorer.graph.model import Graph, Node
from ge_explorer.loaders.onnx_weights import NOTHING, FileParts, parts_of
from ge_explorer.trace.trace import Trace

START = "start"


def to_runnable_onnx(
    trace: Trace, step: int | str | None = None, original: onnx.ModelProto | None = None
) -> onnx.ModelProto:
    """ONNX model of the state after a step of a compilation that began with an ONNX model.

    ``step``: name or index (default: the last of the optimise chapter; ``start``: the graph as loaded). ``original``: the file,
    which supplies the weights that are too large to be kept in a graph.

    InputError for an operator ONNX does not have (collectives, unknown types) and for a value nobody has, naming the node;
    OptionError for an unknown step.
    """
    at = step_index(trace, last_optimised(trace) if step is None else step)
    return runnable_graph(trace.snapshot(at).graph, History.of(trace, at), original)


def last_optimised(trace: Trace) -> int | str:
    """Index of the last step of the optimise chapter; ``start`` when there is none."""
    found = [s.index for s in trace if s.pass_.chapter == "optimise"]
    return found[-1] if found else START


def step_index(trace: Trace, step: int | str) -> int:
    """Index of the last step of a name, -1 for the state before the first one."""
    if isinstance(step, int):
        return step if step >= 0 else len(trace) - 1
    if step == START:
        return -1
    names = [s.name for s in trace]
    if step not in names:
        raise OptionError(f"no step named {step!r}", todo=did_you_mean(step, [START, *names]))
    return len(names) - 1 - names[::-1].index(step)


def runnable_model(
    graph: Graph, *, model: onnx.ModelProto | None = None, before: Graph | None = None
) -> onnx.ModelProto:
    """ONNX model of a graph alone. ``before`` is the graph as loaded; with a trace at hand use ``to_runnable_onnx``."""
    return runnable_graph(graph, History([before, graph] if before is not None else [graph]), model)


def runnable_graph(graph: Graph, history: History, original: onnx.ModelProto | None) -> onnx.ModelProto:
    """ONNX model of a graph whose earlier forms are known."""
    parts = parts_of(original) if original is not None else NOTHING
    return RunnableWriter(graph, history, parts).run()


def operator_model(n: Node, history: History, parts: FileParts) -> Any:
    """Model of one operator: inputs ``x0``, ``x1``, … and its first output."""
    writer = RunnableWriter(history.graphs[-1], history, parts)
    nodes: list[Any] = []
    tensors = [None if t is None else history.tensor(t) for t in n.inputs]
    ins = ["" if t is None else f"x{k}" for k, t in enumerate(tensors)]
    writer.call(n, ins, ["y"], nodes)
    given = [
        helper.make_tensor_value_info(f"x{k}", TYPES.get(t.dtype or "", 0), None) for k, t in enumerate(tensors) if t
    ]
    graph = helper.make_graph(nodes, "one", given, [helper.make_tensor_value_info("y", 0, None)])
    return writer.model(graph)
