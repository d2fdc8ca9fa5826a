"""same-transdata-breadth: equal TransData behind casts, on hand-made graphs."""

from __future__ import annotations

from typing import Any

from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from tests.passes.optimize.helpers import rules, run, source

SHAPE, STORED = (1, 32, 4, 4), (1, 2, 4, 4, 16)
PASS = "same-transdata-breadth"


def stored(g: Graph) -> Graph:
    """Copy in which every TransData says its formats."""
    e = GraphEditor(g)
    for n in g:
        for t in n.outputs:
            if n.op == "TransData":
                e.set_tensor(t, attrs={"format": "NC1HWC0", "origin_format": "NCHW", "origin_shape": SHAPE})
            elif g.tensor(t).shape == SHAPE:
                e.set_tensor(t, attrs={"format": "NCHW", "origin_format": "NCHW"})
    return e.freeze()


def trans(b: GraphBuilder, v: Value, name: str, **attrs: Any) -> Value:
    formats = {"src_format": "NCHW", "dst_format": "NC1HWC0"}
    return b.op("TransData", v, name=name, shape=STORED, attrs={**formats, **attrs})


def two_branches(first: str | None, second: str | None, *, read: bool = False, label: str = "") -> Graph:
    """x -> [Cast] -> TransData -> Abs, twice; ``read``: the first Cast has another reader."""
    b = GraphBuilder("g")
    x = b.op("Neg", b.data("x", SHAPE, "float16"), name="x0")
    ends = []
    for k, dtype in enumerate((first, second)):
        v = b.op("Cast", x, name=f"cast{k}", dtype=dtype) if dtype else x
        if read and k == 0:
            ends.append(b.op("Exp", v, name="other"))
        extra = {"_stream_label": label} if label and k == 1 else {}
        ends.append(b.op("Abs", trans(b, v, f"td{k}", **extra), name=f"end{k}"))
    return stored(b.build(*ends))


def kinds(g: Graph) -> list[str]:
    return sorted(n.op for n in g if n.op in ("Cast", "TransData"))


def test_casts_follow_one_transdata() -> None:
    t = run(two_branches("bfloat16", "bfloat16"), PASS)
    g = t.final.graph
    assert kinds(g) == ["Cast", "Cast", "TransData"]
    assert source(g, "td1") == "x0", "of equals, the last stays"
    assert g.tensor(g.node("td1").outputs[0]).dtype == "float16", "it takes the type in front of the casts"
    for k in (0, 1):
        assert source(g, f"end{k}") == f"cast{k}"
        assert source(g, f"cast{k}") == "td1"
        out = g.tensor(g.node(f"cast{k}").outputs[0])
        assert (out.shape, out.dtype, out.attrs["format"]) == (STORED, "bfloat16", "NC1HWC0")
    assert rules(t) == {"moved-up": {"td1"}, "same-transdata": {"td0"}}
    assert run(g, PASS).steps[0].status == "unchanged"


def test_the_branch_without_cast_keeps_its_transdata() -> None:
    g = run(two_branches("bfloat16", None), PASS).final.graph
    assert source(g, "td1") == "x0" and source(g, "end1") == "td1"
    assert source(g, "cast0") == "td1" and source(g, "end0") == "cast0"


def test_a_cast_with_other_readers_is_copied() -> None:
    g = run(two_branches("bfloat16", "bfloat16", read=True), PASS).final.graph
    assert source(g, "other") == "cast0" and source(g, "cast0") == "x0"
    assert source(g, "end0") == "fusion_cast_1" and source(g, "fusion_cast_1") == "td1"
    assert g.tensor(g.node("other").inputs[0] or 0).shape == SHAPE


def test_labels_keep_branches_apart() -> None:
    assert run(two_branches("bfloat16", "bfloat16", label="s"), PASS).steps[0].status == "unchanged"


def test_another_width_keeps_its_place() -> None:
    t = run(two_branches("float", "float"), PASS)
    assert t.steps[0].status == "unchanged"
    assert rules(t) == {"width": {"td0", "td1"}}


def test_two_plain_siblings_are_left_to_the_breadth_pass_or_merged() -> None:
    g = run(two_branches(None, None), PASS).final.graph
    assert kinds(g) == ["TransData"]
    assert source(g, "end0") == source(g, "end1") == "td1"
