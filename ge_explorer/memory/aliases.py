"""Alias classes: which tensors are one piece of memory (memory.md A3, A11, A12; first cut).

Union-find over tensor ids. Each union keeps the rule that made it, so the why-trail can say why two tensors share an address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ge_explorer.graph.model import CONST_LIKE, SOURCE_LIKE, Graph, IntArray, Node
from ge_explorer.memory import side_by_side

WHILE_LIKE = frozenset({"While", "_While", "StatelessWhile"})
VIEW_LIKE = frozenset(
    {
        "Reshape", "ExpandDims", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "Flatten",
        "FlattenV2", "ReFormat",
    }
)  # fmt: skip
"""Types whose output is the input's bytes under another shape. GE's table names Merge and Reshape (graph_utils.cc); the others
run in the GE-local engine without a task, so their output cannot be other bytes than their input (ours)."""
CLOSE = ("_no_padding_continuous_input", "_no_padding_continuous_output")
REUSE_FLAG, REUSE_INDEX = "reuse_input", "reuse_input_index"
"""Output attributes of a GE dump: this output is written over the input with that index."""
INPLACE_ABILITY = "_output_inplace_ability"
PARENT_INDEX = "_parent_node_index"


class Aliases:
    """Union-find over the tensors of a graph; ``rules[root]`` lists why the class has more than one tensor.

    A tensor may begin some bytes behind another of its class (a piece of a concatenation): ``shift`` says how many.
    """

    def __init__(self, graph: Graph) -> None:
        self._parent = list(range(len(graph.tensors)))
        self._shift = [0] * len(graph.tensors)
        self._why: dict[int, dict[str, None]] = {}
        self._needs: list[tuple[int, int]] = []

    def find(self, t: int) -> int:
        """Representative of the class of tensor ``t`` (its smallest tensor id)."""
        p, shift = self._parent, self._shift
        while p[t] != t:
            up = p[t]
            if p[up] != up:
                shift[t] += shift[up]
                p[t] = p[up]
            t = up
        return t

    def shift(self, t: int) -> int:
        """Bytes from the representative of the class to tensor ``t``."""
        total = 0
        while self._parent[t] != t:
            total += self._shift[t]
            t = self._parent[t]
        return total

    def join(self, a: int, b: int, rule: str, shift: int = 0) -> None:
        """Put two tensors into one class; ``b`` begins ``shift`` bytes behind ``a``. In one class already: nothing changes."""
        x, y = self.find(a), self.find(b)
        away = self.shift(a) + shift - self.shift(b)  # from x to y
        if x > y:
            x, y, away = y, x, -away
        why = self._why.setdefault(x, {})
        why[rule] = None
        if x != y:
            self._parent[y], self._shift[y] = x, away
            why.update(self._why.pop(y, {}))

    def need(self, t: int, size: int) -> None:
        """The class of ``t`` takes at least ``size`` bytes, counted from ``t``."""
        self._needs.append((t, size))

    def needs(self) -> dict[int, list[tuple[int, int]]]:
        """Representative -> (tensor, bytes from there) of what was asked for."""
        out: dict[int, list[tuple[int, int]]] = {}
        for t, size in self._needs:
            out.setdefault(self.find(t), []).append((t, size))
        return out

    def rules(self, t: int) -> tuple[str, ...]:
        """Rules behind the class of ``t``, in order of use."""
        return tuple(self._why.get(self.find(t), ()))


def alias_classes(graph: Graph, order: IntArray, stream: IntArray) -> Aliases:
    """Classes by GE's rules: references, views, tensors side by side, subgraph borders, then in-place pairs.

    ``order`` is the topological id and ``stream`` the stream of each node id (-1 none). In-place pairs are examined against
    the classes before any in-place pair is joined, as GE does (A11).
    """
    classes = Aliases(graph)
    for n in graph:
        _references(graph, n, classes)
    laid_out = _lay_out(graph, classes)
    for n in graph:
        if n.attrs.get("_output_reuse_input") and any(n.attrs.get(k) for k in CLOSE) and n.id not in laid_out:
            for t in n.outputs:
                if n.inputs and n.inputs[0] is not None:
                    classes.join(n.inputs[0], t, "output reuses input")
    for n in graph:
        if n.subgraphs or n.op in WHILE_LIKE:
            _borders(graph, n, classes, _source_classes(graph, classes))
    if any(INPLACE_ABILITY in n.attrs for n in graph):
        readers = _readers(graph)
        read_only = _source_classes(graph, classes)
        found = [p for n in graph for p in _inplace(graph, n, classes, readers, read_only, order, stream)]
        for a, b in found:
            classes.join(a, b, "in-place")
    return classes


def _lay_out(graph: Graph, classes: Aliases) -> set[int]:
    """Join tensors that lie side by side; returns the nodes whose tensors do. Tensors that references made one already cannot lie
    in two places: that group is left as it is.
    """
    done: set[int] = set()
    for group in side_by_side.groups(graph):
        if len({classes.find(t) for t in group.tensors}) < len(group.tensors):
            continue
        first, base = group.tensors[0], group.steps[0]
        for t, step in zip(group.tensors[1:], group.steps[1:], strict=True):
            classes.join(first, t, group.rule, step - base)
        classes.need(first, group.size)
        done.add(group.node)
    return done


def _references(graph: Graph, n: Node, classes: Aliases) -> None:
    def reuse(output: int, index: int, rule: str) -> None:
        source = n.inputs[index] if 0 <= index < len(n.inputs) else None
        if source is not None and output < len(n.outputs):
            classes.join(source, n.outputs[output], rule)

    if n.op == "Merge":
        for i in range(len(n.inputs)):
            reuse(0, i, "merge")
    elif n.op == "StreamMerge":
        sources = [t for t in n.inputs if t is not None]
        for t in sources[1:]:
            classes.join(sources[0], t, "merge")
    elif n.op in VIEW_LIKE:
        reuse(0, 0, "view")
    for o, t in enumerate(n.outputs):
        attrs = graph.tensor(t).attrs
        if attrs.get(REUSE_FLAG):
            reuse(o, int(attrs.get(REUSE_INDEX, 0)), "reference")
    if n.attrs.get("reference") and not any(graph.tensor(t).attrs.get(REUSE_FLAG) for t in n.outputs):
        for o in range(min(len(n.outputs), len(n.inputs))):
            a, b = n.inputs[o], n.outputs[o]
            if a is not None and graph.tensor(a).shape == graph.tensor(b).shape:
                reuse(o, o, "reference")


def _source_classes(graph: Graph, classes: Aliases) -> frozenset[int]:
    """Classes that hold an input, weight or variable: nobody may write into them."""
    return frozenset(
        classes.find(t) for n in graph if n.is_source and not is_body_input(n) for t in n.outputs
    )  # fmt: skip


def is_body_input(n: Node) -> bool:
    """True for the Data node of a body that stands for an input of the holder."""
    return PARENT_INDEX in n.attrs and n.op not in CONST_LIKE


def _borders(graph: Graph, holder: Node, classes: Aliases, read_only: frozenset[int]) -> None:
    """A body's Data is the holder's input; what feeds a body's NetOutput is the holder's output. A loop variable is one buffer
    for the initial value, every round and the result, unless the initial value is read-only: GE copies it first (A21), so the
    variable then has a buffer of its own, first written at the loop itself.
    """
    variable: dict[int, int] = {}
    if holder.op in WHILE_LIKE:
        for k, (a, b) in enumerate(zip(holder.inputs, holder.outputs, strict=False)):
            if a is not None and classes.find(a) not in read_only:
                classes.join(a, b, "loop variable")
            variable[k] = b
    for position, s in enumerate(holder.subgraphs):
        condition = holder.op in WHILE_LIKE and position == 0 and len(holder.subgraphs) > 1
        for i in graph.scope(s).nodes:
            n = graph.node(i)
            if n.op == "NetOutput":
                # an ONNX Loop body returns its condition first, which the Loop itself does not return
                shift = max(len(n.inputs) - len(holder.outputs), 0) if holder.op == "Loop" else 0
                for t, result in zip(n.inputs[shift:], holder.outputs, strict=False):
                    if t is not None and not condition:
                        classes.join(t, result, "subgraph result")
            elif is_body_input(n) and n.outputs:
                k = int(n.attrs[PARENT_INDEX])
                source = variable.get(k, holder.inputs[k] if 0 <= k < len(holder.inputs) else None)
                if source is not None:
                    classes.join(source, n.outputs[0], "subgraph input")


def _readers(graph: Graph) -> Mapping[int, Sequence[int]]:
    out: dict[int, list[int]] = {}
    for n in graph:
        for t in n.inputs:
            if t is not None:
                out.setdefault(t, []).append(n.id)
    return out


def _inplace(
    graph: Graph, n: Node, classes: Aliases, readers: Mapping[int, Sequence[int]], read_only: frozenset[int],
    order: IntArray, stream: IntArray,
) -> list[tuple[int, int]]:  # fmt: skip
    """(input tensor, output tensor) pairs that pass GE's checks (mem_inplace.cc, graph_utils.cc GetSupportInplaceOutput)."""
    out: list[tuple[int, int]] = []
    used: set[int] = set()
    done: set[int] = set()
    if n.attrs.get("continuous_output") or n.attrs.get("_no_padding_continuous_output"):
        return out
    for o, i in n.attrs.get(INPLACE_ABILITY, ()):
        source = n.inputs[i] if 0 <= i < len(n.inputs) else None
        if source is None or not 0 <= o < len(n.outputs) or o in done or i in used:
            continue
        target = n.outputs[o]
        producer = graph.node(graph.tensor(source).producer)
        others = {r for t in producer.outputs for r in readers.get(t, ())}
        streams = {int(stream[r]) for r in (producer.id, *others)} - {-1}
        fits = (
            graph.tensor(source).nbytes is not None
            and graph.tensor(source).nbytes == graph.tensor(target).nbytes
            and n.id == max(others, key=lambda r: int(order[r]))
            and len(streams) <= 1
            and not any(graph.node(r).attrs.get("reference") for r in others)
            and classes.find(source) not in read_only
            and classes.find(source) != classes.find(target)
            and "ref_var_src_var_name" not in graph.tensor(target).attrs
        )
        if fits:
            done.add(o)
            used.add(i)
            out.append((source, target))
    return out


SOURCE_KINDS: Mapping[str, str] = {
    **dict.fromkeys(SOURCE_LIKE, "weight"),
    **dict.fromkeys(("Data", "RefData", "AippData", "AnnData"), "input"),
    **dict.fromkeys(("Variable", "VariableV2"), "variable"),
}
"""Kind of the memory behind each source type; none of it is in the feature map (A2, A15)."""
