"""PyTorch modules; skipped where torch is not installed."""

from typing import Any

import pytest

from ge_explorer.errors import InputError, OptionError
from ge_explorer.loaders import load

torch = pytest.importorskip("torch")

import ge_explorer as gx  # noqa: E402


class Branches(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.left = torch.nn.Linear(8, 8)
        self.right = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())

    def forward(self, x: Any) -> Any:
        a = self.left(x)
        with gx.stream("side"):
            b = self.right(x)
        return torch.relu(a) + b, b.split(4, dim=1)


def test_two_branches() -> None:
    r = load(Branches(), (torch.randn(2, 8),))
    g = r.graph
    side = {n.name for n in g if n.attrs.get("_user_stream_label") == "side"}
    assert side == {"right.0/linear_1", "right.1/relu"}
    assert g.node("right.0/linear_1").attrs["_gx_module_type"] == "Linear"
    weights = {n.name: g.tensor(n.outputs[0]).shape for n in g if n.op == "Const"}
    assert weights == {"left.weight": (8, 8), "left.bias": (8,), "right.0.weight": (8, 8), "right.0.bias": (8,)}
    assert not g.root.dynamic and len(g.node("Node_Output").inputs) == 3
    assert all(t.nbytes for t in g.tensors if t is not None)
    assert r.report.counts["labels"] == {"side": 2}


def test_the_label_becomes_a_stream() -> None:
    trace = gx.compile(Branches(), example_inputs=(torch.randn(2, 8),))
    assert trace.failed is None and trace.final.streams is not None
    g, streams = trace.final.graph, trace.final.streams.node
    assert streams[g.node("right.1/relu").id] != streams[g.node("left/linear").id]
    assert trace.final.sync is not None and len(trace.final.sync.events) >= 1


def test_labels_nest_and_do_nothing_while_the_module_runs() -> None:
    class Nested(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            with gx.stream("a"):
                y = x + 1
                with gx.stream("b"):
                    y = y * 2
                return y - 3

    assert Nested()(torch.ones(1)).item() == 1.0
    g = load(Nested(), (torch.ones(2),)).graph
    assert [n.attrs["_user_stream_label"] for n in g if n.op not in ("Data", "NetOutput")] == ["a", "b", "a"]
    with pytest.raises(OptionError), gx.stream(""):
        pass


def test_keyword_inputs_and_exported_programs() -> None:
    m, x = Branches(), torch.randn(2, 8)
    by_name, by_place = load(m, {"x": x}).graph, load(m, (x,)).graph
    program = load(torch.export.export(m, (x,))).graph
    assert len(by_name) == len(by_place) == len(program)


def test_dynamic_batch() -> None:
    batch = torch.export.Dim("batch", min=2)
    g = load(torch.export.export(Branches(), (torch.randn(4, 8),), dynamic_shapes={"x": {0: batch}})).graph
    assert g.root.dynamic
    rows = {g.tensor(n.outputs[0]).shape[0] for n in g if n.op not in ("Const", "NetOutput")}  # type: ignore[index]
    assert len(rows) == 1 and isinstance(rows.pop(), str)


def test_control_flow() -> None:
    class Cond(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda v: v.sin() + 1, lambda v: v.cos(), (x,))

    g = load(Cond(), (torch.ones(3),)).graph
    owner = next(n for n in g if n.op == "If")
    assert len(owner.subgraphs) == 2
    for s in owner.subgraphs:
        data = [g.node(i) for i in g.scope(s).nodes if g.node(i).op == "Data"]
        assert [owner.inputs[d.attrs["_parent_node_index"]] for d in data] == [owner.inputs[1]]


def test_what_cannot_be_traced_is_one_sentence() -> None:
    class Bad(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(InputError, match="cannot trace"):
        load(Bad(), (torch.ones(1),))
    with pytest.raises(InputError, match="example inputs"):
        load(Branches())
    with pytest.raises(OptionError, match="PyTorch"):
        load("chain", (1,))
