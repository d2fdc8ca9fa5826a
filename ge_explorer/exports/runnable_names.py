"""Tensor names of an exported graph: those of the model where they are free, inputs and outputs first."""

from __future__ import annotations

from ge_explorer.graph.model import DATA_LIKE, SOURCE_LIKE, Graph, Node
from ge_explorer.loaders.onnx_convert import OUTPUT_NAMES
from ge_explorer.passes.optimize.work import EXPECTED


class Names:
    """Tensor id -> name, unique over all scopes."""

    def __init__(self, g: Graph) -> None:
        self.of: dict[int, str] = {}
        self._owner: dict[str, int] = {}
        self._reserved: set[str] = set()
        order = [i for i in g.root.nodes if g.node(i).op in DATA_LIKE]
        for i in order:
            for t in g.node(i).outputs:
                name = g.tensor(t).name
                self._give(t, name if name and name != f"{g.node(i).name}:0" else g.node(i).name)
        for i in g.root.nodes:
            n = g.node(i)
            if n.op == "NetOutput":
                self._outputs(g, n)
        for x in g.tensors:
            if x is not None and x.id not in self.of:
                self._give(x.id, x.name or f"{g.node(x.producer).name}:{x.index}")

    def _outputs(self, g: Graph, end: Node) -> None:
        """The model's name of a result belongs to the operator that makes it; of several results it is the first."""
        reshaped = {k for k, _ in end.attrs.get(EXPECTED, ())}
        for k, (t, name) in enumerate(zip(end.inputs, end.attrs.get(OUTPUT_NAMES, ()), strict=False)):
            if t is None or not name or name in self._owner:
                continue
            maker = g.node(g.tensor(t).producer)
            if t in self.of or k in reshaped or maker.op in SOURCE_LIKE or maker.scope:
                self._reserved.add(name)
            else:
                self._give(t, name)

    def _give(self, t: int, wanted: str) -> None:
        name = wanted if wanted not in self._owner and wanted not in self._reserved else f"{wanted}__{t}"
        name = self.fresh(name)
        self._owner[name] = t
        self.of[t] = name

    def __getitem__(self, t: int) -> str:
        return self.of[t]

    def __setitem__(self, t: int, name: str) -> None:
        self.of[t] = name

    def taken_by(self, name: str) -> int | None:
        """Tensor that has this name; None when it is free (or kept for an output)."""
        return self._owner.get(name)

    def fresh(self, wanted: str) -> str:
        """A tensor name nobody has."""
        name, k = wanted, 1
        while name in self._owner or name in self._reserved:
            k += 1
            name = f"{wanted}_{k}"
        self._owner[name] = -1
        return name
