"""What the rules about values and shapes in a model work on: values, known shapes, and a node's inputs and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ge_explorer.loaders.onnx_exprs import Size
from ge_explorer.loaders.onnx_records import NodeRecord

LIMIT = 64
"""Elements of a followed vector: shapes are shorter."""
Item = Size | None
Dims = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar (``scalar``), vector or table (``columns`` > 0, row by row) of whole numbers; None where one is unknown.

    Tables are what exporters turn the pads of Pad around in: Reshape to two columns, reverse, Transpose, Reshape back.
    """

    items: Dims
    scalar: bool = False
    columns: int = 0


@dataclass
class Shapes:
    """What is known: ``of`` the shapes (None: rank unknown), ``value`` followed vectors, ``better`` shapes found here."""

    of: dict[str, Dims]
    value: dict[str, Value] = field(default_factory=dict)
    better: dict[str, Dims] = field(default_factory=dict)


class Args:
    """Inputs and attributes of one node."""

    def __init__(self, n: NodeRecord, k: Shapes) -> None:
        self.n, self.k = n, k
        self.attrs = {a.name: a for a in n.attributes}

    def value(self, i: int) -> Value | None:
        """A scalar or vector; tables are for the rules that ask for one."""
        v = self.any_value(i)
        return v if v is not None and not v.columns else None

    def table(self, i: int) -> list[Dims] | None:
        """Rows of a table."""
        v = self.any_value(i)
        if v is None or not v.columns:
            return None
        return [v.items[k : k + v.columns] for k in range(0, len(v.items), v.columns)]

    def any_value(self, i: int) -> Value | None:
        """Scalar, vector or table of an input."""
        s = self.n.inputs[i] if i < len(self.n.inputs) else None
        return self.k.value.get(s) if s is not None else None

    def shape(self, i: int) -> Dims | None:
        """Shape of an input; None when its rank is unknown."""
        s = self.n.inputs[i] if i < len(self.n.inputs) else None
        return self.k.of.get(s) if s is not None else None

    def given(self, i: int) -> bool:
        """True when the input is connected."""
        return i < len(self.n.inputs) and self.n.inputs[i] is not None

    def number(self, name: str, default: int) -> int:
        """A whole-number attribute."""
        return int(self.attrs[name].i) if name in self.attrs else default

    def ints(self, name: str, index: int) -> list[int] | None:
        """Whole numbers of an attribute, or of an input in newer versions. None when unknown."""
        if name in self.attrs:
            return [int(v) for v in self.attrs[name].ints]
        v = self.value(index)
        numbers = [x.number if x is not None else None for x in v.items] if v is not None else [None]
        return None if any(x is None for x in numbers) else [x for x in numbers if x is not None]

    def vector(self, i: int) -> Dims | None:
        """Elements of a shape vector; unknown ones where only its length is known."""
        v = self.value(i)
        if v is not None:
            return v.items
        shape = self.shape(i)
        length = shape[0].number if shape is not None and len(shape) == 1 and shape[0] is not None else None
        return (None,) * length if length is not None and length <= LIMIT else None


def product(items: Sequence[Item]) -> Item:
    """All sizes multiplied; None when one is unknown."""
    total: Item = Size.of(1)
    for x in items:
        if x is None or total is None:
            return None
        total = total * x
    return total
