"""Which graphs the optimising rewrites touch without being asked: those that GE has not compiled yet."""

from __future__ import annotations

from collections.abc import Callable

from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text

FORMAT = "_gx_format"
"""Our graph attribute: the format a graph was read from; absent for a graph made in Python."""
NOT_IMPORTED = Text(
    "by default only imported models are rewritten; this graph was written by hand or comes out of GE",
    "默认只改写导入的模型；此图为手工编写或已由 GE 编译",
)
OFF = Text("switched off by an option", "已由选项关闭")


def imported(graph: Graph) -> bool:
    """True for a model that is the *input* of GE: ONNX and torchair. Dumps and hand-written graphs are taken as they are."""
    kind = str(graph.attrs.get(FORMAT, ""))
    return kind.startswith("ONNX") or kind.lower().startswith("torchair")


def asked(option: Callable[[str], str], key: str, graph: Graph) -> Text | None:
    """Reason to skip by an auto/on/off option: None when the pass should run."""
    word = option(key) or "auto"
    if word not in ("auto", "on", "off"):
        raise OptionError("unknown value", where=key, got=word, todo="Use auto, on or off.")
    if word == "off":
        return OFF
    return None if word == "on" or imported(graph) else NOT_IMPORTED
