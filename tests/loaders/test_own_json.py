"""Our file gives back the same graph, facts and parts; anything else ends in one InputError."""

import json
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer import examples
from ge_explorer.errors import InputError
from ge_explorer.graph.constant import ConstantValue
from ge_explorer.loaders import load
from ge_explorer.loaders.own_json import from_json, to_json
from ge_explorer.loaders.own_json_values import pack, unpack
from ge_explorer.plan.builtin import plan_for
from ge_explorer.trace.content import same_content
from tests.loaders.ge_text import ge_proto, two_streams

plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text() | st.binary()
values = st.recursive(
    plain | st.builds(ConstantValue, st.just("int8"), st.just((2,)), st.binary(min_size=2, max_size=2)),
    lambda inner: st.lists(inner).map(tuple) | st.lists(inner)
    | st.dictionaries(st.text(), inner).map(MappingProxyType),
    max_leaves=12,
)  # fmt: skip


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, MappingProxyType):
        return isinstance(b, MappingProxyType) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


@given(values)
@settings(max_examples=200, deadline=None)
def test_every_value_comes_back(value: Any) -> None:
    assert same(unpack(json.loads(json.dumps(pack(value)))), value)


@pytest.mark.parametrize("name", sorted(examples.names()))
def test_examples_come_back(name: str) -> None:
    graph = examples.get(name).graph
    assert same_content(load(to_json(graph).encode()).graph, graph)


def test_facts_and_parts_come_back() -> None:
    r = load(ge_proto(two_streams(), {"stream_num": 2}))
    plan = plan_for(examples.get("moe_c1c2c3").graph) if "moe_c1c2c3" in examples.names() else None
    parts = {"plan": json.loads(plan.to_json())} if plan is not None else {"note": [1, "two"]}
    d = from_json(to_json(r.graph, r.recorded, parts))
    assert same_content(d.recorded, r.recorded) and dict(d.parts) == parts
    assert load(to_json(r.graph, r.recorded).encode()).recorded is not None


def mutated(change: Any) -> bytes:
    raw = json.loads(to_json(examples.get("fork_join").graph))
    change(raw)
    return json.dumps(raw).encode()


BROKEN: dict[str, Any] = {
    "newer": lambda r: r.update(format="ge_explorer.graph/2"),
    "plan": lambda r: r.update(format="ge_explorer.plan/1"),
    "no nodes": lambda r: r["graph"].pop("nodes"),
    "node id": lambda r: r["graph"]["nodes"][0].__setitem__(0, 5),
    "short row": lambda r: r["graph"]["nodes"][1].pop(),
    "edge to nowhere": lambda r: r["graph"]["edges"].append([0, 0, 999, 0]),
    "edge of text": lambda r: r["graph"]["edges"].append(["a", 0, 1, 0]),
    "lost edge": lambda r: r["graph"]["edges"].pop(),
    "control loop": lambda r: r["graph"]["control"].append([1, 1]),
    "unknown form": lambda r: r["graph"].update(attrs={"$eval": "1"}),
    "bad bytes": lambda r: r["graph"].update(attrs={"$map": [["k", {"$bytes": "%%%"}]]}),
    "scope list": lambda r: r["graph"]["scopes"][0].__setitem__(2, {"$tuple": [0]}),
    "scope holds itself": lambda r: r["graph"]["scopes"][0].__setitem__(3, 0),
    "same name": lambda r: r["graph"]["nodes"][1].__setitem__(1, r["graph"]["nodes"][2][1]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name: str) -> None:
    with pytest.raises(InputError) as e:
        load(mutated(BROKEN[name]))
    assert e.value.todo and "\n" not in str(e.value)


def test_deep_json_is_refused() -> None:
    with pytest.raises(InputError, match="deep"):
        load(b'{"format": "ge_explorer.graph/1", "graph": ' + b"[" * 100_000)
