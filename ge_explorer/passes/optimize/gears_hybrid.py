"""Hybrid mode of gears: GE compiles the model twice, once with gears and once for any shape, and picks one at run time.

Source: api/session/session/user_hybrid_graph_manager.cc (IsHybridMode, AddGraph, SetDynamicShapeOptions, SelectExecuteGraph).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import DATA_LIKE, Graph
from ge_explorer.passes.optimize.gears_options import DIMS, INPUT_SHAPE, NODE_TYPE, is_hybrid, read_gears

EXTERNAL_WEIGHT, PARALLEL = "ge.externalWeight", "ge.AllowMultiGraphParallelCompile"
CACHE_KEY = "ge.graph_key"
SUFFIX = "_dynamic"


def dynamic_twin(g: Graph, options: Mapping[str, str]) -> tuple[Graph, dict[str, str]] | None:
    """The second graph and its options; None when the options do not ask for hybrid mode.

    The graph is the user's own, named ``<name>_dynamic``, with the sizes that ``ge.inputShape`` leaves open unknown. Weights go to
    files by default (both graphs share them), gear options are gone, the cache key gets a suffix.
    """

    def option(key: str) -> str:
        return options.get(key, "")

    if not is_hybrid(option):
        return None
    gears = read_gears(option, g)
    if gears is None:
        return None
    editor = GraphEditor(g)
    open_dims = False
    for n in map(g.node, g.root.nodes):
        shape = g.tensor(n.outputs[0]).shape if n.op in DATA_LIKE and n.outputs else None
        open_dims |= shape is not None and any(not isinstance(d, int) or d < 0 for d in shape)
    editor.set_scope(0, dynamic=open_dims)
    graph = replace(editor.freeze(), name=g.name + SUFFIX)
    own = {EXTERNAL_WEIGHT: "1", **options, PARALLEL: "1"}
    for key in (INPUT_SHAPE, DIMS, NODE_TYPE):
        own.pop(key, None)
    if own.get(CACHE_KEY):
        own[CACHE_KEY] += "_dynamic_shape"
    return graph, own


def chosen_graph(g: Graph, options: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Gear that inputs of these shapes run, None for the dynamic graph. ``shapes``: root input name -> shape of this run.

    OptionError for a missing or unknown input or a wrong rank.
    """
    gears = read_gears(lambda k: options.get(k, ""), g)
    names = [n.name for n in map(g.node, g.root.nodes) if n.op in DATA_LIKE]
    for name in shapes:
        if name not in names:
            raise OptionError(f"no input named {name!r}", where="shapes", todo=did_you_mean(name, names))
    for i, row in enumerate(gears.shapes if gears is not None else ()):
        for name, shape in row.items():
            if name not in shapes or len(shapes[name]) != len(shape):
                raise OptionError(
                    f"input {name!r} needs a shape of {len(shape)} sizes", where="shapes", got=shapes.get(name)
                )
        if all(tuple(shapes[name]) == shape for name, shape in row.items()):
            return i
    return None
