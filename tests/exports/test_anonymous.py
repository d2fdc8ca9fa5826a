"""Anonymised graphs say nothing and still compile to the same streams, events and peak."""

import pytest

from ge_explorer import examples
from ge_explorer.api import open_session
from ge_explorer.exports.anonymous import Names, anonymous
from ge_explorer.exports.graph_json import session_json
from ge_explorer.loaders import load
from ge_explorer.loaders.own_json import to_json
from tests.loaders.ge_text import ge_proto, two_streams


@pytest.mark.parametrize("name", examples.names())
def test_same_decisions(name: str) -> None:
    g = examples.get(name).graph
    hidden, _ = anonymous(g, key=b"k")
    a, b = (open_session(x).trace.final for x in (g, hidden))
    assert a.streams is not None and b.streams is not None
    assert [int(a.streams.node[i]) for i in g.node_ids] == [int(b.streams.node[i]) for i in hidden.node_ids]
    events = [None if x.sync is None else len(x.sync.events) for x in (a, b)]
    assert events[0] == events[1]
    assert (a.memory is None) == (b.memory is None)
    if a.memory is not None and b.memory is not None:
        assert a.memory.plan.peak == b.memory.plan.peak


@pytest.mark.parametrize("name", examples.names())
def test_no_name_is_left(name: str) -> None:
    g = examples.get(name).graph
    text = to_json(anonymous(g, key=b"k")[0])
    secret = {n.name for n in g} | {g.name} | {s.name for s in g.scopes if s is not None}
    public = {n.op for n in g} | {n.source_op for n in g} | {"index", "value", "graph"}
    left = {s for s in secret - public if len(s) > 3 and f'"{s}"' in text}
    assert not left


def test_shapes_stay_and_the_key_decides_the_names() -> None:
    g = examples.fork_join()
    a, b = (anonymous(g, key=k)[0] for k in (b"1", b"1"))
    assert [n.name for n in a] == [n.name for n in b] != [n.name for n in anonymous(g)[0]]
    assert [t.shape for t in a.tensors if t] == [t.shape for t in g.tensors if t]


def test_names_keep_their_order() -> None:
    texts = ["b", "a10", "a2", "_x", "中", "Z"]
    names = Names(texts, b"k")
    assert sorted(texts) == sorted(texts, key=names)


def test_a_dump_round_trip() -> None:
    loaded = load(ge_proto(two_streams(), {"stream_num": 2, "model_path": "/home/secret/model.onnx"}))
    text = session_json(loaded.graph, loaded, {"options": {"ge.x": "/home/secret"}, "plan": {}}, anonymise=True)
    assert "secret" not in text and "plan" not in text
    back = load(text.encode())
    assert back.recorded is not None and loaded.recorded is not None
    assert dict(back.recorded.streams) == dict(loaded.recorded.streams)
    assert back.recorded.events == loaded.recorded.events
