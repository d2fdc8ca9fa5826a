"""Random graphs: every pass keeps the interface of the graph, invents no cycle, and has nothing to do a second time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.base import OptimizePass
from tests.passes.optimize.helpers import run

NAMES = sorted(n for n in pipelines.PASSES if issubclass(pipelines.PASSES.get(n), OptimizePass))
NAMES.append("common-subexpression{variant=fingerprint}")


@st.composite
def networks(draw: st.DrawFn, size: int = 14) -> Graph:
    """Shape-correct networks over tensors of 24 elements, with what the passes look for."""
    b = GraphBuilder("random")
    shapes: list[tuple[int, ...]] = [(24,), (4, 6), (1, 24), (2, 3, 4), (1, 4, 1, 6)]
    pool: list[tuple[Value, tuple[int, ...], str]] = []
    for k in range(draw(st.integers(1, 2))):
        shape = draw(st.sampled_from(shapes))
        pool.append((b.data(f"x{k}", shape, "int64"), shape, "int64"))
    count = 0

    def constant(values: object) -> Value:
        nonlocal count
        count += 1
        a = np.asarray(values, dtype=np.int64)
        return b.const(f"c{count}", a.shape, "int64", **{VALUE: ConstantValue.of(a, "int64")})

    for _ in range(draw(st.integers(1, 2))):
        shape = draw(st.sampled_from(shapes))
        fill = draw(st.integers(0, 2))
        pool.append((constant(np.full(shape, fill)), shape, "int64"))
    for k in range(draw(st.integers(1, size))):
        v, shape, dtype = draw(st.sampled_from(pool[-5:]))
        op = draw(st.sampled_from(
            ["Neg", "Abs", "Identity", "Reshape", "Transpose", "Cast", "Add", "Unsqueeze", "Squeeze", "Shape", "Dropout", "Add"]
        ))  # fmt: skip
        control = [pool[0][0]] if draw(st.integers(0, 9)) == 0 else []
        attrs = {"_user_stream_label": "s"} if draw(st.integers(0, 9)) == 0 else {}
        made, kind = shape, dtype
        if op == "Add":
            other = draw(st.sampled_from([p for p in pool if p[1] == shape and p[2] == dtype]))
            out = b.op("Add", v, other[0], name=f"n{k}", control=control, attrs=attrs)
        elif op == "Reshape":
            made = draw(st.sampled_from(shapes))
            out = b.op(op, v, constant(made), name=f"n{k}", shape=made, control=control, attrs=attrs)
        elif op == "Transpose":
            perm = draw(st.permutations(range(len(shape))))
            made = tuple(shape[p] for p in perm)
            out = b.op(op, v, constant(perm), name=f"n{k}", shape=made, control=control, attrs=attrs)
        elif op == "Unsqueeze":
            made = (1, *shape)
            out = b.op(op, v, name=f"n{k}", shape=made, attrs={"axes": (0,), **attrs}, control=control)
        elif op == "Squeeze" and shape[:1] == (1,):
            made = shape[1:]
            out = b.op(op, v, name=f"n{k}", shape=made, attrs={"axes": (0,), **attrs}, control=control)
        elif op == "Cast":
            kind = draw(st.sampled_from(["int64", "float", "float16"]))
            out = b.op(op, v, name=f"n{k}", dtype=kind, control=control, attrs=attrs)
        elif op == "Shape":
            out = b.op(op, v, name=f"n{k}", shape=(len(shape),), dtype="int64", control=control, attrs=attrs)
            made, kind = (len(shape),), "int64"
        else:
            out = b.op(op if op != "Squeeze" else "Neg", v, name=f"n{k}", control=control, attrs=attrs)
        pool.append((out, made, kind))
        if len(made) > 5:
            pool.pop()
    ends = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
    return b.build(*(e[0] for e in ends))


def interface(g: Graph) -> tuple[object, ...]:
    """Inputs and results: names, shapes and types."""
    end = next(n for n in g if n.op == "NetOutput" and n.scope == 0)
    expected = dict(end.attrs.get("_gx_input_shapes", ()))
    ends = []
    for k, t in enumerate(end.inputs):
        assert t is not None, "a result is gone"
        ends.append((tuple(expected.get(k, g.tensor(t).shape or ())), g.tensor(t).dtype))
    return (sorted(n.name for n in g if n.op == "Data"), ends)


def sound(g: Graph) -> None:
    """Names are unique per graph (freeze checks it), edges lead to nodes that exist, and there is no cycle."""
    missing = {n.id: len(g.pred[n.id]) for n in g}
    ready = [i for i, k in missing.items() if k == 0]
    for i in ready:
        for j in g.succ[i]:
            missing[j] -= 1
            if not missing[j]:
                ready.append(j)
    assert len(ready) == len(g), "cycle"
    for n in g:
        for k, t in enumerate(n.inputs):
            assert t is None or any(e.dst_in == k for e in g.data_in[n.id])


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=networks())
@pytest.mark.parametrize("name", NAMES)
def test_every_pass_keeps_the_interface(name: str, graph: Graph) -> None:
    after = run(graph, name).final.graph
    sound(after)
    assert interface(after) == interface(graph)
    again = run(after, name)
    assert again.steps[0].status in ("unchanged", "skipped"), [str(d) for d in again.steps[0].decisions]


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=networks())
def test_the_whole_half_keeps_the_interface_and_settles(graph: Graph) -> None:
    t = run(graph)
    for s in t:
        sound(s.after.graph)
        assert interface(s.after.graph) == interface(graph), s.name
        changed = {d.subject.id for d in s.decisions if d.decisive}
        before, after = s.before.graph, s.after.graph
        for n in before:
            if after.nodes[n.id] is None:
                assert n.id in changed, f"{s.name} removed {n.name} without a word"
        for n in after:
            if n.id >= before.id_bound:
                assert n.origin or n.op in ("Const", "Reshape"), n.name
    final = t.final.graph
    again = run(final).final.graph
    count = sorted((n.op, len(n.inputs)) for n in final if not n.is_source)
    assert sorted((n.op, len(n.inputs)) for n in again if not n.is_source) == count
