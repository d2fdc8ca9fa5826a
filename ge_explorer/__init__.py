"""ge_explorer: what the Ascend graph compiler GE decides - streams, events, memory - pass by pass, with reasons.

>>> import ge_explorer as gx
>>> trace = gx.compile(gx.examples.fork_join())
>>> trace.failed is None
True

Everything here is loaded on first use, so ``import ge_explorer`` is quick and loads no Jupyter.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY = {
    "Explorer": "ge_explorer.widgets.explorer:Explorer",
    "Graph": "ge_explorer.graph.model:Graph",
    "GraphBuilder": "ge_explorer.graph.builder:GraphBuilder",
    "Plan": "ge_explorer.plan.model:Plan",
    "Session": "ge_explorer.session:Session",
    "Trace": "ge_explorer.trace.trace:Trace",
    "agreement": "ge_explorer.api:agreement",
    "anonymous": "ge_explorer.exports.anonymous:anonymous",
    "check": "ge_explorer.api:check",
    "compare": "ge_explorer.comparing:compare",
    "compile": "ge_explorer.api:compile",
    "diff": "ge_explorer.api:diff",
    "diff_files": "ge_explorer.api:diff_files",
    "examples": "ge_explorer.examples",
    "explore": "ge_explorer.widgets.explorer:explore",
    "export": "ge_explorer.api:export",
    "from_json": "ge_explorer.loaders.own_json:from_json",
    "load": "ge_explorer.loaders:load",
    "open_session": "ge_explorer.api:open_session",
    "plans": "ge_explorer.plan.builtin:plans",
    "predict": "ge_explorer.views.prediction:predict",
    "predict_memory": "ge_explorer.views.memory_prediction:predict_memory",
    "simulate": "ge_explorer.api:simulate",
    "snapshot_of": "ge_explorer.trace.recorded:snapshot_of",
    "stream": "ge_explorer.loaders.torch_stream:stream",
    "to_ge_text": "ge_explorer.exports.ge_text:to_ge_text",
    "to_json": "ge_explorer.loaders.own_json:to_json",
    "to_networkx": "ge_explorer.graph.networkx_export:to_networkx",
    "to_onnx": "ge_explorer.exports.onnx_export:to_onnx",
    "to_runnable_onnx": "ge_explorer.exports.runnable:to_runnable_onnx",
    "trace_of": "ge_explorer.trace.recorded:trace_of",
}

__all__ = [
    "Explorer",
    "Graph",
    "GraphBuilder",
    "Plan",
    "Session",
    "Trace",
    "__version__",
    "agreement",
    "anonymous",
    "check",
    "compare",
    "compile",
    "diff",
    "diff_files",
    "examples",
    "explore",
    "export",
    "from_json",
    "load",
    "open_session",
    "plans",
    "predict",
    "predict_memory",
    "simulate",
    "snapshot_of",
    "stream",
    "to_ge_text",
    "to_json",
    "to_networkx",
    "to_onnx",
    "to_runnable_onnx",
    "trace_of",
]

if TYPE_CHECKING:
    from ge_explorer import examples
    from ge_explorer.api import agreement, check, compile, diff, diff_files, export, open_session, simulate
    from ge_explorer.comparing import compare
    from ge_explorer.exports.anonymous import anonymous
    from ge_explorer.exports.ge_text import to_ge_text
    from ge_explorer.exports.onnx_export import to_onnx
    from ge_explorer.exports.runnable import to_runnable_onnx
    from ge_explorer.graph.builder import GraphBuilder
    from ge_explorer.graph.model import Graph
    from ge_explorer.graph.networkx_export import to_networkx
    from ge_explorer.loaders import load
    from ge_explorer.loaders.own_json import from_json, to_json
    from ge_explorer.loaders.torch_stream import stream
    from ge_explorer.plan.builtin import plans
    from ge_explorer.plan.model import Plan
    from ge_explorer.session import Session
    from ge_explorer.trace.recorded import snapshot_of, trace_of
    from ge_explorer.trace.trace import Trace
    from ge_explorer.views.memory_prediction import predict_memory
    from ge_explorer.views.prediction import predict
    from ge_explorer.widgets.explorer import Explorer, explore


def __getattr__(name: str) -> Any:
    target = _LAZY.get(name)
    if target is None:
        raise AttributeError(f"module 'ge_explorer' has no attribute {name!r}")
    module, _, attribute = target.partition(":")
    value: Any = import_module(module)
    value = getattr(value, attribute) if attribute else value
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
