"""ONNX out and in again: valid for other tools, the same graph for us, the same numbers for onnx's evaluator."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from ge_explorer import examples  # noqa: E402
from ge_explorer.api import open_session  # noqa: E402
from ge_explorer.errors import OptionError  # noqa: E402
from ge_explorer.exports.onnx_export import decided, to_onnx  # noqa: E402
from ge_explorer.graph.model import Graph  # noqa: E402
from ge_explorer.loaders import load  # noqa: E402
from tests.loaders.test_node_models import backend_models  # noqa: E402
from tests.loaders.test_onnx_forms import model, value  # noqa: E402

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


def content(g: Graph) -> Any:
    """What must survive; names of unnamed things may change."""
    nodes = [(n.op, n.scope, [t is None for t in n.inputs], len(n.outputs)) for n in g]
    return sorted(map(repr, nodes)), len(g.edges), [len(s.nodes) for s in g.scopes if s is not None]


def is_valid(m: Any) -> bool:
    try:
        onnx.checker.check_model(m)
    except (onnx.checker.ValidationError, ValueError, RuntimeError, TypeError):
        return False
    return True


def round_trip(m: Any) -> Any:
    g = load(m, check=False).graph
    out = to_onnx(g, original=m)
    assert content(load(out, check=False).graph) == content(g)
    assert is_valid(out) or not is_valid(m)
    return out


@pytest.mark.parametrize("path", sorted((DATA / "light").glob("*.onnx"))[:3], ids=lambda p: p.stem)
def test_light_models(path: Path) -> None:
    round_trip(onnx.load(path))


@pytest.mark.slow
def test_every_backend_model() -> None:
    failed = []
    for name, source in backend_models():
        m = onnx.load(source) if isinstance(source, Path) else source
        try:
            round_trip(m)
        except Exception as e:
            failed.append(f"{name}: {type(e).__name__} {e}"[:300])
    assert failed == []


def cases(*starts: str) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = [c for c in collect_testcases() if c.model is not None and c.data_sets and c.name.startswith(starts)]
    return found


KINDS = (
    "test_if", "test_loop", "test_scan", "test_gemm_", "test_conv_", "test_split_", "test_clip_", "test_celu", "test_reshape_",
    "test_layer_normalization_2d", "test_optional", "test_sequence_insert", "test_qlinear", "test_softmax_cross_entropy_mean_exp",
)  # fmt: skip


def test_numbers_stay_equal() -> None:
    """Bodies with captures, functions, optionals, sequences, quantised operators: evaluated before and after."""
    checked = 0
    for case in cases(*KINDS):
        try:
            want = ReferenceEvaluator(case.model).run(None, feeds(case))
        except Exception:
            continue  # the evaluator lacks the operator: nothing to compare with
        got = ReferenceEvaluator(round_trip(case.model)).run(None, feeds(case))
        for a, b in zip(want, got, strict=True):
            assert repr(np.asarray(a, dtype=object).tolist()) == repr(np.asarray(b, dtype=object).tolist()), case.name
        checked += 1
    assert checked > 80


def feeds(case: Any) -> dict[str, Any]:
    return dict(zip([v.name for v in case.model.graph.input], case.data_sets[0][0], strict=True))


def test_attributes_of_ge_survive_as_metadata() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="r", _user_stream_label="side")
    g = load(model([node], [value("x", 1, [2])], [value("y", 1, [2])])).graph
    out = to_onnx(g)
    onnx.checker.check_model(out)  # the attribute in place would be an error
    assert load(out).graph.node("r").attrs["_user_stream_label"] == "side"


def test_what_was_decided_is_metadata() -> None:
    session = open_session("moe_shared_expert")
    s = decided(session.graph, session.trace.final)
    out = to_onnx(s.graph, s)
    onnx.checker.check_model(out)
    said = {n.name: {p.key: p.value for p in n.metadata_props} for n in out.graph.node}
    assert s.streams is not None and s.sync is not None
    for n in session.graph:
        if n.name in said:
            assert said[n.name]["gx.stream"] == str(int(s.streams.node[n.id]))
    assert sum("gx.sends" in m for m in said.values()) == len({e.send for e in s.sync.events})
    assert any(k.startswith("gx.offset.") for m in said.values() for k in m)


@pytest.mark.parametrize("name", examples.names())
def test_examples_come_back(name: str) -> None:
    g = examples.get(name).graph
    back = load(to_onnx(g)).graph
    kinds = lambda x: sorted(n.op for n in x if n.op not in ("Const", "Data"))  # noqa: E731
    assert kinds(back) == kinds(g)
    operators = {n.id for n in g if n.op not in ("Data", "Const", "NetOutput", "Variable")}
    assert len(back.control) == sum(a in operators and b in operators and g.node(a).scope == 0 for a, b in g.control)
    labels = lambda x: {n.name: n.attrs["_user_stream_label"] for n in x if "_user_stream_label" in n.attrs}  # noqa: E731
    assert labels(back) == labels(g)


def test_weights_nobody_kept_are_inputs_unless_the_file_is_given() -> None:
    w = numpy_helper.from_array(np.ones((300, 300), np.float32), "w")
    m = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")],
        [value("x", 1, [2, 300])],
        [value("y", 1, [2, 300])],
        (w,),
    )
    g = load(m).graph
    alone = to_onnx(g)
    onnx.checker.check_model(alone)
    assert [v.name for v in alone.graph.input] == ["x", "w"]
    assert alone.metadata_props[0].key == "gx.weights_as_inputs"
    whole = to_onnx(g, original=m)
    assert [v.name for v in whole.graph.input] == ["x"] and whole.graph.initializer[0].raw_data == w.raw_data


def test_folded_graph_computes_the_same() -> None:
    k = numpy_helper.from_array(np.array([2.0, 3.0], np.float32), "k")
    nodes = [helper.make_node("Add", ["k", "k"], ["c"], name="c"), helper.make_node("Mul", ["x", "c"], ["y"], name="m")]
    m = model(nodes, [value("x", 1, [2])], [value("y", 1, [2])], (k,))
    session = open_session(m)
    after = next(s.after for s in session.trace if s.name == "optimise-while-inferring")
    x = np.array([5.0, 7.0], np.float32)
    got = ReferenceEvaluator(to_onnx(after.graph)).run(None, {"x": x})[0]
    assert got.tolist() == ReferenceEvaluator(m).run(None, {"x": x})[0].tolist()


def test_a_state_of_another_graph_is_refused() -> None:
    session = open_session("chain")
    with pytest.raises(OptionError):
        to_onnx(examples.fork_join(), session.trace.final)
