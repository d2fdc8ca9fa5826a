"""A small language for writing graphs by hand: examples, lessons and tests read like the network they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from ge_explorer.errors import GraphError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import SOURCE_LIKE, Dim, Graph, Shape

USER_STREAM_LABEL = "_user_stream_label"
"""GE's attribute behind torchair's ``npu_stream_switch(tag)``."""
INNER_STREAM_LABEL = "_stream_label"
PARENT_INDEX = "_parent_node_index"
"""On the Data node of a subgraph: which input of the owning node it stands for."""

GX_ENGINE = "_gx_engine"
"""Our attribute: the user's engine for a node (wins over the table of the placement pass)."""
GX_CORE = "_gx_core"
"""Our attribute: the user's core kind for a node (AIC, AIV, MIX, AICPU, HCCL, DSA, NONE)."""
GX_DURATION = "_gx_duration_ns"
"""Our attribute: a given duration in nanoseconds; the cost model then does not estimate."""
GX_DURATION_ORIGIN = "_gx_duration_origin"
"""Our attribute: where a given duration comes from (an ``Origin`` value: "measured", "assumed")."""
GX_DURATION_SOURCE = "_gx_duration_source"
"""Our attribute: the document or profile a given duration was taken from."""

CONDITION_INPUTS: Mapping[str, int] = {"If": 1, "StatelessIf": 1, "_If": 1, "Case": 1, "StatelessCase": 1}
"""Leading inputs that select a branch and are not passed into the branches."""


@dataclass(frozen=True, slots=True)
class Value:
    """One output of a node under construction; ``v[1]`` is output 1 of the same node."""

    node: int
    outputs: tuple[int, ...]
    index: int = 0

    @property
    def tensor(self) -> int:
        """Tensor id in the graph being built."""
        if self.index >= len(self.outputs):
            raise GraphError("this node has no such output", got=self.index, todo="Give it outputs=[(shape, dtype)].")
        return self.outputs[self.index]

    def __getitem__(self, index: int) -> Value:
        if not 0 <= index < len(self.outputs):
            raise IndexError(f"node has {len(self.outputs)} outputs, asked for {index}")
        return Value(self.node, self.outputs, index)


class GraphBuilder:
    """Write a graph in execution order.

    >>> b = GraphBuilder("pair")
    >>> x = b.data("x", (16, 64))
    >>> with b.label("side"):
    ...     y = b.op("Relu", x, name="y")
    >>> z = b.op("Add", x, y, name="z")
    >>> [n.name for n in b.build(z)]
    ['x', 'y', 'z', 'Node_Output']
    """

    def __init__(self, name: str, *, dynamic: bool = False, attrs: Mapping[str, Any] | None = None) -> None:
        self._editor = GraphEditor.empty(name, dynamic=dynamic, attrs=attrs)
        self._scope, self._prefix = 0, ""
        self._extra: dict[str, Any] = {}
        self._counts: dict[str, int] = {}
        self._specs: dict[int, tuple[Shape | None, str | None]] = {}
        self._data_index: dict[int, int] = {}
        self._read: set[int] = set()
        self._members: dict[int, list[int]] = {0: []}
        self._ended: set[int] = set()

    # ---------------------------------------------------------------- sources
    def data(self, name: str, shape: Sequence[Dim] | None, dtype: str = "float16", **attrs: Any) -> Value:
        """Graph input: a ``Data`` node with GE's ``index`` attribute (its position among the inputs)."""
        index = self._data_index.get(self._scope, 0)
        self._data_index[self._scope] = index + 1
        return self._add(name, "Data", (), [(_shape(shape), dtype)], {"index": index, **attrs})

    def const(self, name: str, shape: Sequence[Dim] | None, dtype: str = "float16", **attrs: Any) -> Value:
        """Weight: a ``Const`` node that knows its shape and type but carries no values."""
        return self._add(name, "Const", (), [(_shape(shape), dtype)], attrs)

    # ---------------------------------------------------------------- operators
    def op(
        self,
        op_type: str,
        *inputs: Value | None,
        name: str = "",
        shape: Sequence[Dim] | None = None,
        dtype: str | None = None,
        outputs: Sequence[tuple[Sequence[Dim] | None, str | None]] | None = None,
        attrs: Mapping[str, Any] | None = None,
        control: Sequence[Value] = (),
        engine: str = "",
        core: str = "",
        duration_us: float | None = None,
        duration_origin: str = "assumed",
        duration_source: str = "",
    ) -> Value:
        """Add an operator and return its first output.

        ``shape`` and ``dtype`` describe output 0 and default to those of the first input; ``outputs`` gives all outputs
        instead ([] for none). ``engine``/``core`` override the placement table, ``duration_us`` the cost model
        (microseconds, kept as ``_gx_duration_ns`` together with its origin and source).
        """
        first = next((v for v in inputs if v is not None and v.outputs), None)
        known = self._specs[first.tensor] if first is not None else (None, None)
        if outputs is None:
            specs = [(known[0] if shape is None else _shape(shape), dtype or known[1])]
        else:
            specs = [(_shape(s), d) for s, d in outputs]
        own: dict[str, Any] = {**self._extra, **(attrs or {})}
        if engine:
            own[GX_ENGINE] = engine
        if core:
            own[GX_CORE] = core
        if duration_us is not None:
            own |= {GX_DURATION: round(duration_us * 1000), GX_DURATION_ORIGIN: duration_origin}
            if duration_source:
                own[GX_DURATION_SOURCE] = duration_source
        value = self._add(name, op_type, inputs, specs, own)
        for before in control:
            self.control(before, value)
        return value

    def control(self, before: Value, after: Value) -> None:
        """Control edge: ``after`` runs after ``before``, no data is passed."""
        self._editor.add_control(before.node, after.node)

    # ---------------------------------------------------------------- context
    @contextmanager
    def attributes(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Operators added inside carry these attributes (sources do not, as in GE)."""
        before = self._extra
        self._extra = {**before, **values}
        try:
            yield
        finally:
            self._extra = before

    def label(self, tag: str) -> AbstractContextManager[None]:
        """``with b.label("22"):`` puts the operators on the user's stream ``22`` (``_user_stream_label``)."""
        return self.attributes({USER_STREAM_LABEL: tag})

    @contextmanager
    def subgraph(self, owner: Value, name: str, *, dynamic: bool = False) -> Iterator[tuple[Value, ...]]:
        """Body of a control-flow node. Yields one ``Data`` value per input the owner passes in (If and Case keep the
        condition). Names inside are prefixed by the subgraph's name; end with ``b.outputs(...)``.

        >>> b = GraphBuilder("g")
        >>> p, x = b.data("p", (), "bool"), b.data("x", (8,))
        >>> branch = b.op("If", p, x, name="if", shape=(8,))
        >>> with b.subgraph(branch, "then") as (inner,):
        ...     b.outputs(b.op("Relu", inner, name="relu"))
        >>> [b.build(branch).unique_names[i] for i in (2, 3, 4)]
        ['if', 'then/x', 'then/relu']
        """
        holder = self._editor.node(owner.node)
        scope = self._editor.add_scope(name, owner.node, dynamic=dynamic)
        self._members[scope] = []
        saved = (self._scope, self._prefix, self._extra)
        self._scope, self._prefix = scope, f"{name}/"
        skip = CONDITION_INPUTS.get(holder.op, 0)
        passed: list[Value] = []
        for i, t in enumerate(holder.inputs):
            if t is not None and i >= skip:
                spec = self._specs[t]
                source = self._source_name(t) or f"input_{i}"
                passed.append(self.data(source, spec[0], spec[1] or "float16", **{PARENT_INDEX: i}))
        try:
            yield tuple(passed)
            if scope not in self._ended:
                self.outputs(*self._leaves(scope))
        finally:
            self._scope, self._prefix, self._extra = saved

    def outputs(self, *values: Value) -> None:
        """End the current scope with a ``NetOutput`` that reads ``values`` in order.

        Nodes without a consumer get a control edge to it, as GE's NetOutputPass does for targets without outputs.
        """
        if self._scope in self._ended:
            raise GraphError("this scope already has its NetOutput", where=self._prefix or "root")
        self._ended.add(self._scope)
        loose = [n for n in self._members[self._scope] if not self._editor.node(n).outputs]
        saved, self._extra = self._extra, {}
        end = self._add("Node_Output", "NetOutput", values, [], {})
        self._extra = saved
        for n in loose:
            self._editor.add_control(n, end.node)

    def note(self, text: str) -> None:
        """Remark kept with the graph."""
        self._editor.note(text)

    def build(self, *results: Value) -> Graph:
        """Finish: adds the root ``NetOutput`` (reading ``results``, or every tensor nobody reads) and freezes."""
        if self._scope != 0:
            raise GraphError("build() inside a subgraph", where=self._prefix, todo="Call it after the with block.")
        if 0 not in self._ended:
            self.outputs(*(results or self._leaves(0)))
        return self._editor.freeze()

    # ---------------------------------------------------------------- inside
    def _add(
        self,
        name: str,
        op: str,
        inputs: Sequence[Value | None],
        specs: Sequence[tuple[Shape | None, str | None]],
        attrs: Mapping[str, Any],
    ) -> Value:
        if self._scope in self._ended and op != "NetOutput":
            raise GraphError("the scope is already closed by outputs()", where=self._prefix or "root", got=name or op)
        if not name:
            k = self._counts.get(op, 0)
            self._counts[op] = k + 1
            name = f"{op}_{k}"
        tensors = [None if v is None else v.tensor for v in inputs]
        i = self._editor.add_node(
            f"{self._prefix}{name}", op, inputs=tensors, outputs=specs, attrs=attrs, scope=self._scope
        )
        self._read.update(t for t in tensors if t is not None)
        self._members[self._scope].append(i)
        outs = self._editor.node(i).outputs
        self._specs.update(zip(outs, specs, strict=True))
        return Value(i, outs)

    def _leaves(self, scope: int) -> list[Value]:
        found: list[Value] = []
        for i in self._members[scope]:
            node = self._editor.node(i)
            if node.op not in SOURCE_LIKE and not any(t in self._read for t in node.outputs):
                found.extend(Value(i, node.outputs, k) for k in range(len(node.outputs)))
        return found

    def _source_name(self, tensor: int) -> str:
        for members in self._members.values():
            for i in members:
                if tensor in self._editor.node(i).outputs:
                    name = self._editor.node(i).name.rsplit("/", 1)[-1]
                    used = {self._editor.node(m).name for m in self._members[self._scope]}
                    return name if f"{self._prefix}{name}" not in used else ""
        return ""


def _shape(dims: Sequence[Dim] | None) -> Shape | None:
    return None if dims is None else tuple(dims)
