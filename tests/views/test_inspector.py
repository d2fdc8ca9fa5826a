"""Inspector, search and "why one stream": facts with origin, decisions with source, links in both directions."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import ge_explorer.passes
from ge_explorer.api import compile as compile_graph
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.ids import Ref
from ge_explorer.views.find import find, pattern
from ge_explorer.views.inspector import FACET_LABELS, Inspector
from ge_explorer.views.palette import identify
from ge_explorer.views.why_one_stream import why_one_stream
from tests.views import small_trace


@pytest.fixture(scope="module")
def shown() -> Inspector:
    t = small_trace.trace()
    return Inspector(t, identify(t), small_trace.timeline(t))


def facts(model: dict) -> dict[str, str]:
    return {f["label"]["en"]: f["value"]["en"] for s in model["sections"] for f in s.get("facts", [])}


def section(model: dict, title: str) -> dict:
    return next(s for s in model["sections"] if s.get("title", {}).get("en") == title)


def test_node_shows_facts_reason_events_and_buffers(shown: Inspector) -> None:
    node = shown.trace.initial.graph.by_name["sh.quant"]
    m = shown.model([Ref("node", node)], 6)
    assert (m["title"], m["subtitle"], m["mark"]["letter"]) == ("sh.quant", "DynamicQuant", "B")
    got = facts(m)
    assert got["Stream"] == "B, GE id 0, label 22"
    assert got["Output"] == "[256, 7168] int8, 1.75 MiB"
    assert got["Time"] == "10.0 – 20.0 us"
    (why,) = section(m, "Why")["trail"]
    assert (why["from"], why["to"], why["final"]) == ("−1", "B (0)", True)
    assert (why["source"], why["path"].split(" ")[0]) == (
        "logical_stream_allocator.cc",
        "compiler/graph/build/stream/logical_stream_allocator.cc",
    )
    assert [r["ref"] for r in section(m, "Events")["rows"]] == ["event:0"]
    assert [r["text"] for r in section(m, "Buffers")["rows"]] == ["post_norm:0"]
    json.dumps(m)


def test_before_the_deciding_step_there_is_no_stream_and_no_reason(shown: Inspector) -> None:
    node = shown.trace.initial.graph.by_name["sh.quant"]
    m = shown.model([Ref("node", node)], 2)
    assert "Stream" not in facts(m)
    assert all(s.get("title", {}).get("en") != "Why" for s in m["sections"])


def test_event_stream_buffer_and_removed_event(shown: Inspector) -> None:
    event = shown.model([Ref("event", 0)], 6)
    assert facts(event)["Wait time"] == "10.0 us"
    assert [r["text"] for r in section(event, "Between")["rows"]] == ["post_norm", "sh.quant"]
    stream = shown.model([Ref("stream", 0)], 6)
    assert stream["titles"]["en"] == "Stream B, side"
    assert section(stream, "Operators")["note"]["en"] == "2"
    buffer = shown.model([Ref("buffer", 1)], 6)
    assert facts(buffer)["In use"] == "order 1, to the end"
    gone = shown.model([Ref("event", 1)], 6)
    assert facts(gone)["Rule"] == "same sender, later on the stream"


def test_nothing_selected_shows_the_step_and_its_rules(shown: Inspector) -> None:
    m = shown.model([], 3)
    assert m["titles"]["zh"] == "按标签"
    assert section(m, "Rules")["note"]["en"] == "2 of 2 used here"
    assert section(m, "Streams changed")["note"]["en"] == "7"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("^gmm", ["gmm1"]), ("QUANT", ["sh.quant", small_trace.EVIL]), ("op:MatMulV2", ["gate"]),
        ("label:22", ["sh.quant", small_trace.EVIL]),
        ("shape: 256,7168 ", None), ("<img", [small_trace.EVIL]), ("[", []), ("", []),
    ],
)  # fmt: skip
def test_search_finds_nodes(query: str, names: list[str] | None) -> None:
    t = small_trace.trace()
    got = [t.final.graph.unique_names[r.id] for r in find(t, 6, query)]
    assert got == names if names is not None else len(got) >= 6


def test_search_finds_streams_by_letter_and_number_and_events() -> None:
    t = small_trace.trace()
    ids = identify(t)
    assert find(t, 6, "stream B", ids) == find(t, 6, "stream 0", ids) == [Ref("stream", 0)]
    assert find(t, 6, "event 2") == [Ref("event", 2)]
    assert find(t, 5, "event 1") == [Ref("event", 1)]
    assert find(t, 6, "event 1") == []


def test_search_never_hangs_on_a_hostile_expression() -> None:
    assert not pattern("(a+)+$")("a" * 5000 + "!")


def test_one_stream_reason_ceiling_and_options() -> None:
    b = GraphBuilder("plain")
    x = b.data("x", (8,))
    left, right = b.op("Relu", x, name="l"), b.op("Relu", x, name="r")
    plain = b.build(b.op("Add", left, right, name="sum"))
    t = small_trace.run_trace(plain, small_trace.Pipeline.of([small_trace.Place(), small_trace.Assign()]))
    tasks = [plain.by_name[n] for n in ("l", "r", "sum")]
    tl = small_trace.serial(t, tasks, [10, 30, 5])
    predictions = {
        "cv": small_trace.Result(45_000, None, "", 1, 0, None),
        "LoadBalance:2": small_trace.Result(35_000, 1.0, "real", 2, 2, 1024),
    }
    m = why_one_stream(t, tl, predictions)
    assert m is not None
    assert [f["value"] for f in m["facts"]] == ["2", "1.29×"]
    assert "work 45.0 ÷ critical path 35.0 us" in m["facts"][1]["label"]["en"]
    assert "AIcoreEngine" in m["text"]["en"]
    rows = {r["key"]: r for r in m["rows"]}
    assert (rows["cv"]["us"]["en"], rows["cv"]["action"]) == ("no change", "")
    assert (rows["LoadBalance:2"]["us"]["en"], rows["LoadBalance:2"]["action"]) == ("35.0", "mode")
    assert (rows["LoadBalance:4"]["us"]["en"], rows["LoadBalance:4"]["action"]) == ("…", ""), "not computed yet"
    refused = why_one_stream(t, tl, {"cv": None})
    assert refused is not None
    assert refused["rows"][0]["us"]["zh"] == "失败"
    assert why_one_stream(small_trace.trace(), None, {}) is None


def facets_of(source: str) -> tuple[set[str], list[int]]:
    """Facets named in calls of ``ctx.decide``, and the lines where the facet is no text the file itself states."""
    tree, found, unclear = ast.parse(source), set[str](), list[int]()
    stated = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "decide"):
            continue
        named = [k.value for k in call.keywords if k.arg == "facet"]
        facet = named[0] if named else call.args[1]
        if isinstance(facet, ast.Constant) and isinstance(facet.value, str):
            found.add(facet.value)
        elif isinstance(facet, ast.Name) and facet.id in stated:
            found.add(stated[facet.id])
        else:
            unclear.append(call.lineno)
    return found, unclear


def test_every_facet_a_pass_decides_has_words_in_both_languages() -> None:
    folder = Path(next(iter(ge_explorer.passes.__path__)))
    used = set[str]()
    for file in sorted(folder.rglob("*.py")):
        found, unclear = facets_of(file.read_text("utf-8"))
        assert unclear == [], f"{file.name}: facet not readable"
        used |= found
    assert {"stream", "event", "engine", "offset"} <= used
    assert used - set(FACET_LABELS) == set()
    for facet in used:
        label = FACET_LABELS[facet]
        assert any("一" <= c <= "鿿" for c in label.get("zh")), facet


def test_pieces_of_a_concatenation_show_their_own_bytes() -> None:
    b = GraphBuilder("g")
    parts = [b.op("Relu", b.data(f"x{k}", (1, 64)), name=f"part{k}") for k in range(2)]
    joined = b.op("ConcatD", *parts, name="join", shape=(1, 128), attrs={"concat_dim": 1, "N": 2})
    t = compile_graph(b.build(b.op("Abs", joined, name="end")))
    m = Inspector(t, identify(t)).model([Ref("buffer", 0)], len(t.steps) - 1)
    rows = section(m, "Pieces")["rows"]
    assert [(row["text"], row["note"]["en"]) for row in rows] == [
        ("part0:0", "0 B"),
        ("join:0", "0 B"),
        ("part1:0", "128 B"),
    ]
