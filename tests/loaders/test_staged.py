"""A folder of dumps: order, gaps, doubles, two naming schemes; one id space; a trace by content."""

from pathlib import Path

import pytest

import ge_explorer as gx
from ge_explorer.errors import InputError
from ge_explorer.loaders import load
from ge_explorer.session import Session
from ge_explorer.trace.recorded import trace_of
from tests.loaders.ge_text import Op, ge_onnx, ge_proto, two_streams


def chain(*names: str, stream: int = 0, fused: dict[str, tuple[str, ...]] | None = None) -> dict[str, list[Op]]:
    ops = [Op("x", "Data", stream=-1 if stream else 0, id=0)]
    for k, n in enumerate(names):
        attrs = {"_datadump_original_op_names": fused[n]} if fused and n in fused else {}
        ops.append(Op(n, "Relu", [f"{ops[-1].name}:0"], stream, k + 1, attrs))
    return {"g": ops}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    a, fused = chain("conv", "relu", "add"), chain("convrelu", "add", fused={"convrelu": ("conv", "relu")})
    built = chain("convrelu", "add", stream=1)
    return write(
        tmp_path,
        {
            "ge_proto_00000007_graph_11_Build.txt": ge_proto(built, {"stream_num": 2}),
            "ge_onnx_00000007_graph_11_Build.pbtxt": ge_onnx(built),
            "ge_proto_00000001_graph_11_PreRunBegin.txt": ge_proto(a),
            "ge_proto_00000002_graph_11_AfterInfershape.txt": ge_proto(a) + b"# other bytes, same graph\n",
            "ge_onnx_00000004_graph_11_PreRunAfterOptimizeSubgraph.pbtxt": ge_onnx(fused),
            "ge_proto_00003_PreRunAfterOptimize1.txt": ge_proto(a)[:-9],
            "notes.md": b"# not a dump",
            ".hidden": b"x",
            "root_model.om": b"IMOD" + bytes(300),
        },
    )


def test_order_gaps_doubles_and_leftovers(folder: Path) -> None:
    r = load(folder)
    assert [(s.index, s.name, s.missing_before) for s in r.stages] == [
        (1, "PreRunBegin", 0), (2, "AfterInfershape", 0), (4, "PreRunAfterOptimizeSubgraph", 1), (7, "Build", 2)
    ]  # fmt: skip
    assert r.stages[-1].file.startswith("ge_proto"), "the richer form of a stage wins"
    assert r.graph is r.stages[-1].result.graph and r.recorded is not None and r.recorded.stage == "Build"
    notes = " ".join(i.message.en for i in r.report.issues)
    assert "ge_proto_00003" in notes and "ge_onnx_00000007" in notes and "root_model.om" in notes
    assert any("2 dumps before Build" in t.en for t in r.report.missing)


def test_ids_follow_names_and_fusions(folder: Path) -> None:
    first, _, third, last = (s.result.graph for s in load(folder).stages)
    assert first.by_name["add"] == third.by_name["add"] == last.by_name["add"]
    conv, relu = first.by_name["conv"], first.by_name["relu"]
    assert third.node("convrelu").origin == (conv, relu) and third.nodes[conv] is None
    assert third.node("convrelu").id == last.node("convrelu").id


def test_trace_status_is_by_content(folder: Path) -> None:
    trace = trace_of(load(folder).stages)
    assert [(s.name, s.status) for s in trace] == [
        ("prerunbegin", "changed"), ("afterinfershape", "unchanged"),
        ("gap-before-prerunafteroptimizesubgraph", "skipped"), ("prerunafteroptimizesubgraph", "changed"),
        ("gap-before-build", "skipped"), ("build", "changed"),
    ]  # fmt: skip
    assert trace.steps[5].changed == ("streams", "sync") or "streams" in trace.steps[5].changed
    why = trace.why("add", "stream")
    assert [e.decision.after for e in why] == [1]
    diff = trace.diff(1, 3)
    assert diff is not None
    session = Session.from_trace(trace)
    assert session.trace is trace and session.issues is not None


def test_other_graphs_are_named(tmp_path: Path) -> None:
    write(tmp_path, {f"ge_proto_0000000{k}_graph_{g}_{s}.txt": ge_proto(chain(f"n{g}")) for k, g, s in
                     [(1, 5, "A"), (2, 9, "A"), (3, 5, "B")]})  # fmt: skip
    r = load(tmp_path)
    assert [s.name for s in r.stages] == ["A", "B"] and any("9" in t.en for t in r.report.missing)


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_bytes(ge_proto(chain("secret")))
    inner = tmp_path / "dumps"
    inner.mkdir()
    (inner / "ge_proto_00000002_B.txt").symlink_to(outside)
    write(inner, {"ge_proto_00000001_A.txt": ge_proto(chain("a"))})
    assert [s.name for s in load(inner).stages] == ["A"]


def test_a_folder_without_dumps_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"hello"})
    with pytest.raises(InputError, match="no compiler dump.*a.txt"):
        load(tmp_path)


def test_a_folder_opens_like_a_file(folder: Path) -> None:
    assert gx.compile(str(folder)).failed is None
    assert len(load(write(folder, {"ge_proto_00000009_graph_11_Last.txt": ge_proto(two_streams())})).graph) == 9
