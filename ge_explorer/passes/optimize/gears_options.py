"""Gears: the fixed sizes a user lists for the dynamic dimensions of the inputs. Reads GE's four options.

Source: multi_batch_options.cc and dynamic_gear.md. Sizes fill the -1 dimensions of the inputs in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.graph.model import DATA_LIKE, Graph

INPUT_SHAPE, BATCH, IMAGE, DIMS = "ge.inputShape", "ge.dynamicBatchSize", "ge.dynamicImageSize", "ge.dynamicDims"
NODE_TYPE, HYBRID = "ge.dynamicNodeType", "ge.compileHybridMode"
KEYS = frozenset({INPUT_SHAPE, BATCH, IMAGE, DIMS, NODE_TYPE, HYBRID})
FEWEST, MOST = 2, 100


@dataclass(frozen=True, slots=True)
class Gears:
    """``rows[i]``: the sizes of gear i, one a dynamic dimension; ``shapes[i]``: shape of every root Data by name."""

    rows: tuple[tuple[int, ...], ...]
    shapes: tuple[Mapping[str, tuple[int, ...]], ...]
    key: str


def asks_for_gears(option: Callable[[str], str]) -> bool:
    """True if one of the three gear options is set."""
    return any(option(k) for k in (BATCH, IMAGE, DIMS))


def is_hybrid(option: Callable[[str], str]) -> bool:
    """True if GE compiles a second graph for sizes that match no gear (UserHybridGraphManager::IsHybridMode)."""
    return bool(option(INPUT_SHAPE) and option(DIMS)) and option(NODE_TYPE) == "1" and option(HYBRID) == "1"


def read_gears(option: Callable[[str], str], g: Graph) -> Gears | None:
    """Gears of the options for this graph; None when none are asked for. OptionError names the option and the place."""
    given = [k for k in (BATCH, IMAGE, DIMS) if option(k)]
    if not given:
        return None
    if len(given) > 1:
        raise OptionError(f"only one of {', '.join(given)} may be given", where=given[1], got=option(given[1]))
    key = given[0]
    rows = _rows(option(key), key)
    shapes = _input_shapes(option(INPUT_SHAPE), g)
    holes = [(name, k) for name, dims in shapes.items() for k, d in enumerate(dims) if d < 0]
    _check_holes(holes, key, len(rows[0]), shapes)
    out = []
    for row in rows:
        filled = {name: list(dims) for name, dims in shapes.items()}
        values = row * (len(holes) // len(row)) if key != DIMS else row
        for (name, k), value in zip(holes, values, strict=True):
            filled[name][k] = value
        out.append({name: tuple(dims) for name, dims in filled.items()})
    return Gears(rows, tuple(out), key)


def _rows(text: str, key: str) -> tuple[tuple[int, ...], ...]:
    groups = text.split(",") if key == BATCH else text.split(";")
    rows = []
    for part in groups:
        numbers = [p.strip() for p in part.split(",")]
        if not all(p.isascii() and p.isdigit() and 0 < int(p) < 2**31 for p in numbers):
            raise OptionError("gear sizes are positive whole numbers (GE reports E10038)", where=key, got=part.strip())
        rows.append(tuple(int(p) for p in numbers))
    if any(len(r) != len(rows[0]) for r in rows) or (key == IMAGE and len(rows[0]) != 2):
        raise OptionError(
            "every gear needs the same number of sizes (GE reports E10037)", where=key, got=text,
            todo="Separate gears by ';'.",
        )  # fmt: skip
    if len(set(rows)) != len(rows):
        twice = next(r for r in rows if rows.count(r) > 1)
        raise OptionError("two gears are equal (GE reports E10039)", where=key, got=",".join(map(str, twice)))
    if not FEWEST <= len(rows) <= MOST:
        code = "GE reports E10035" if len(rows) < FEWEST else "GE's manual names this limit"
        raise OptionError(f"there are {FEWEST} to {MOST} gears ({code})", where=key, got=len(rows))
    return tuple(rows)


def _input_shapes(text: str, g: Graph) -> dict[str, list[int]]:
    """Shape of every root Data, -1 where a gear decides: from the option, else from the graph's unknown dimensions."""
    datas = [n for n in map(g.node, g.root.nodes) if n.op in DATA_LIKE]
    known: dict[str, list[int]] = {}
    for n in datas:
        shape = g.tensor(n.outputs[0]).shape if n.outputs else ()
        known[n.name] = [d if isinstance(d, int) and d >= 0 else -1 for d in shape or ()]
    for part in (p for p in text.split(";") if p.strip()):
        name, _, dims = part.strip().rpartition(":")
        if name not in known:
            raise OptionError(f"no input named {name!r}", where=INPUT_SHAPE, todo=did_you_mean(name, known))
        words = [w.strip() for w in dims.split(",")] if dims.strip() else []
        if not all(w == "-1" or (w.isascii() and w.isdigit()) for w in words):
            raise OptionError("a dimension is a number or -1", where=INPUT_SHAPE, got=part)
        node = next(n for n in datas if n.name == name)
        rank = g.tensor(node.outputs[0]).shape
        if rank is not None and len(rank) != len(words):
            raise OptionError(f"input {name!r} has {len(rank)} dimensions", where=INPUT_SHAPE, got=part)
        known[name] = [int(w) for w in words]
    return known


def _check_holes(holes: list[tuple[str, int]], key: str, width: int, shapes: Mapping[str, list[int]]) -> None:
    if not holes:
        raise OptionError("no input has a dynamic dimension", where=key, todo=f"Write -1 for it in {INPUT_SHAPE}.")
    if key == BATCH and any(k != 0 for _, k in holes):
        raise OptionError("batch gears need -1 in dimension 0 only", where=INPUT_SHAPE, got=dict(shapes))
    if key == IMAGE and any(sum(n == name for n, _ in holes) != 2 for name, _ in holes):
        raise OptionError("image gears need -1 for height and width", where=INPUT_SHAPE, got=dict(shapes))
    if key == DIMS and len(holes) != width:
        raise OptionError(
            f"{len(holes)} dimensions are -1 but each gear has {width} sizes (GE reports E10046)", where=DIMS
        )
