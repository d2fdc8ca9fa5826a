"""A prediction is compared with the trace, right or wrong, and told why; hostile names stay text."""

from __future__ import annotations

import pytest

import ge_explorer as gx
from ge_explorer.errors import GraphError, OptionError
from ge_explorer.views.prediction import predict


def test_streams_right_and_wrong_with_the_rule() -> None:
    trace = gx.compile("fork_join")
    found = predict(trace, {"B1": 0, "C1": 0, "x": None})
    assert next((g.what, g.predicted, g.actual, g.right) for g in found) == ("B1", "0", "0", True)
    assert found.score == (sum(g.right for g in found), 3)
    assert all(g.why.en and g.why.get("zh") for g in found)
    assert found[2].actual == "none"
    assert repr(found).endswith("right")


def test_events_name_the_rule_that_dropped_one() -> None:
    b = gx.GraphBuilder("three")
    x = b.data("x", (8, 8))
    a = b.op("Relu", x, name="A", shape=(8, 8))
    with b.label("side"):
        c = b.op("Relu", a, name="C", shape=(8, 8))
        d = b.op("Add", a, c, name="D", shape=(8, 8))
    trace = gx.compile(b.build(b.op("Add", a, d, name="E", shape=(8, 8))))
    found = {g.what: g for g in predict(trace, events=["A>C", "A>D"])}
    assert found["A>C"].right and not found["A>D"].right
    assert found["A>D"].why.en
    assert found["D>E"].predicted == "none" and not found["D>E"].right


def test_wrong_names_are_one_clear_error() -> None:
    trace = gx.compile("fork_join")
    with pytest.raises(GraphError, match="no node named"):
        predict(trace, {"nobody": 1})
    with pytest.raises(OptionError, match="sender>receiver"):
        predict(trace, events=["A"])


def test_names_are_escaped() -> None:
    b = gx.GraphBuilder("g")
    x = b.data("x", (8,))
    trace = gx.compile(b.build(b.op("Relu", x, name="<img src=x onerror=alert(1)>", shape=(8,))))
    name = next(n.name for n in trace.final.graph if n.op == "Relu")
    assert "<img" not in predict(trace, {name: 0})._repr_html_()
