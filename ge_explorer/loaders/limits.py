"""What no real graph holds: tensors larger than any memory.

The later steps count bytes and nanoseconds in 64 bits. A shape whose size passes ``TENSOR_LIMIT`` is damage (or a joke): GE
stops on it (TensorUtils::CalcTensorMemSize reports an overflow); here the rank stays, the sizes become unknown, and the
report says so.
"""

from __future__ import annotations

from dataclasses import replace

from ge_explorer.errors import shorten
from ge_explorer.graph.model import Graph, Tensor
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.loaders.report import LoadResult
from ge_explorer.text import Text

TENSOR_LIMIT = 2**42
"""Bytes of one tensor (4 TiB). The sum over the largest graph we read stays below 2**63."""


def without_impossible_sizes(result: LoadResult) -> LoadResult:
    """The result with unknown sizes in place of impossible ones, and a finding that names the operators; usually unchanged."""
    graph = result.graph
    found = [t for t in graph.tensors if t is not None and t.shape and _is_impossible(t)]
    if not found:
        return result
    tensors = list(graph.tensors)
    for t in found:
        tensors[t.id] = replace(t, shape=tuple(None for _ in t.shape or ()))
    names = ", ".join(f"{_name(graph, t)} {list(t.shape or ())}" for t in found[:3]) + (" …" if len(found) > 3 else "")
    issue = Issue("GX317", "warning", Text(
        "{n} tensors would be larger than any memory: {names}. GE stops on such a shape; here their sizes are unknown.",
        "{n} 个张量比任何内存都大：{names}。GE 会报错；此处将其大小视为未知。").format(n=len(found), names=names),
        tuple(Ref("node", t.producer) for t in found), Text("Correct the shapes.", "请更正形状。"))  # fmt: skip
    report = replace(result.report, issues=(*result.report.issues, issue))
    return replace(result, graph=replace(graph, tensors=tuple(tensors)), report=report)


def _is_impossible(t: Tensor) -> bool:
    size = t.nbytes if t.dtype is not None else t.elements
    return size is not None and size > TENSOR_LIMIT


def _name(graph: Graph, t: Tensor) -> str:
    return shorten(graph.unique_names[t.producer], 60)
