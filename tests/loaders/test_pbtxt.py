"""The text-proto reader against protobuf's own printer, and against text that wants to break it."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.errors import InputError
from ge_explorer.loaders.pbtxt import Message, parse, unescape

onnx = pytest.importorskip("onnx")
from google.protobuf import text_format  # noqa: E402

name = st.text(max_size=12)
attribute = st.builds(
    lambda n, i, f, s, ints, floats, strings: onnx.AttributeProto(
        name=n, i=i, f=f, s=s, ints=ints, floats=floats, strings=strings
    ),
    name, st.integers(-(2**63), 2**63 - 1), st.floats(width=32, allow_nan=False), st.binary(max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), st.lists(st.floats(width=32, allow_nan=False), max_size=4),
    st.lists(st.binary(max_size=8), max_size=4),
)  # fmt: skip
node = st.builds(
    lambda n, t, i, a: onnx.NodeProto(name=n, op_type=t, input=i, attribute=a), name, name, st.lists(name, max_size=3),
    st.lists(attribute, max_size=3),
)  # fmt: skip


def content(m: Any) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for field, value in m.ListFields():
        for v in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
            v = v.encode() if isinstance(v, str) else v
            out.setdefault(field.name, []).append(content(v) if hasattr(v, "ListFields") else v)
    return out


def ours(m: Message) -> dict[str, list[Any]]:
    return {k: [ours(v) if isinstance(v, Message) else v for v in vs] for k, vs in m.fields.items()}


@given(st.lists(node, max_size=3), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_reads_what_protobuf_prints(nodes: list[Any], utf8: bool, one_line: bool) -> None:
    graph = onnx.GraphProto(name="g", node=nodes)
    text = text_format.MessageToString(graph, as_utf8=utf8, as_one_line=one_line)
    got, want = ours(parse(text.encode("utf-8", "surrogateescape"), "t")), content(graph)

    def close(a: Any, b: Any) -> bool:
        if isinstance(a, dict):
            return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
        if isinstance(a, list):
            return len(a) == len(b) and all(map(close, a, b))
        if isinstance(b, float):
            return bool(np.float32(a) == np.float32(b))
        return bool(a == b)

    assert close(got, want)


def test_notation() -> None:
    text = b"""# comment ; a: 1
    a: "x" 'y'  # joined
       "\\n\\x41\\101\\u4e2d"
    b: [1, -2,
        0x1F] c: 1.5f, d: -inf; e <f: true> g: { h: WORD } i { } [ext.name/x]: 3 big: 18446744073709551615"""
    m = parse(text, "t")
    assert m.fields["a"] == ["xy\nAA中".encode()] and m.fields["b"] == [1, -2, 31]
    assert m.fields["c"] == [1.5] and m.fields["d"] == [float("-inf")] and m.fields["big"] == [2**64 - 1]
    assert m.fields["e"][0].fields == {"f": [True]} and m.fields["g"][0].text("h") == "WORD" and "i" in m
    assert unescape(b"\\'\\\"\\?\\\\") == b"'\"?\\"


@pytest.mark.parametrize(
    "text",
    [
        b"a {" * 200_000, b"a: " + b"9" * 1_000_000, b'a: "' + b"\\" * 1_000_000, b"a" * 1_000_000, b"a: [" * 300_000,
        b" " * 1_000_000 + b"?", b"#" * 1_000_000 + b"\n}", b'a: "x' + b"\n" * 1_000_000, b"a: -" * 300_000, b"[" * 1_000_000,
        b"a: " + b"1." * 500_000, b"a" + b" " * 1_000_000 + b"b", b"a: 1e99999999999", b"a: \"" + b"x" * 1_000_000,
        b"}" * 1000, b"a { > }", b"\x00\x01", b"a: 0x" + b"f" * 100_000, b": 1", b"a: 'x\" ",
    ],
)  # fmt: skip
def test_hostile_text_ends_soon_in_an_error_with_a_place(text: bytes) -> None:
    started = time.perf_counter()
    if text == b"a: 1e99999999999":  # infinity, as protobuf reads it
        assert parse(text, "t").fields == {"a": [float("inf")]}
    else:
        with pytest.raises(InputError, match="byte") as e:
            parse(text, "t")
        assert len(str(e.value)) < 500
    assert time.perf_counter() - started < 3


def test_many_joined_texts_are_linear() -> None:
    started = time.perf_counter()
    m = parse(b"a: " + b'"x" ' * 300_000, "t")
    assert len(m.fields["a"][0]) == 300_000 and time.perf_counter() - started < 5
