"""The checker on what a GE dump records: nothing is compiled, the Send and Recv nodes say what the events are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ge_explorer.checks import check_invariants
from ge_explorer.cli import main
from ge_explorer.loaders import load
from ge_explorer.trace.recorded import snapshot_of
from ge_explorer.trace.state import Snapshot
from tests.checks.states import found, only
from tests.loaders.ge_text import Op, ge_onnx, ge_proto, two_streams

FORMS = {"ge_proto": ge_proto, "ge_onnx": ge_onnx}


def dump(ops: dict[str, list[Op]], form: str = "ge_proto") -> Snapshot:
    return snapshot_of(load(FORMS[form](ops)))


def moved(name: str, stream: int) -> dict[str, list[Op]]:
    ops = two_streams()
    next(o for o in ops["g"] if o.name == name).stream = stream
    return ops


@pytest.mark.parametrize("form", FORMS)
def test_a_finished_build_passes(form: str) -> None:
    rows = check_invariants(dump(two_streams(), form))
    assert {r.number for r in rows if r.status == "not applicable"} == {9, 10, 11}
    assert {r.status for r in rows} == {"pass", "not applicable"}


def test_a_lost_recv_leaves_a_dependency_open() -> None:
    ops = two_streams()
    ops["g"] = [o for o in ops["g"] if o.name != "g_Recv_1"]
    next(o for o in ops["g"] if o.name == "c").inputs.pop()
    s = dump(ops)
    assert found(s, 2) == [("GX110", "error")]
    assert "c (stream 0) needs b (stream 1)" in only(s, "GX110").message.en
    assert found(s, 5) == [("GX129", "error")]  # its Send is left without a partner


def test_a_send_on_another_stream_than_its_operator() -> None:
    assert found(dump(moved("g_Send_1", 0)), 6) == [("GX120", "error"), ("GX112", "error")]


def test_parts_of_one_stream_are_told_by_what_the_nodes_say() -> None:
    ops = moved("g_Send_1", 2)
    send = next(o for o in ops["g"] if o.name == "g_Send_1")
    assert ("GX120", "error") in found(dump(ops), 6)
    for o in ops["g"]:
        if o.stream is not None and o.stream >= 0:
            o.attrs["_logic_stream_id"] = 1 if o.stream == 2 else o.stream
    assert send.attrs["_logic_stream_id"] == 1
    s = dump(ops)
    assert found(s, 6) == []
    # ... but nothing orders b before its Send there: GE would have put a chain event between the parts
    assert found(s, 2) == [("GX110", "error")]


def test_the_command_judges_the_dump_and_not_our_compilation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ge_proto_00000001_graph_1_Build.txt"
    path.write_bytes(ge_proto(moved("g_Send_1", 0)))
    assert main(["check", str(path)]) == 0
    assert "GX120" not in capsys.readouterr().out
    assert main(["check", "--recorded", str(path)]) == 1
    out = capsys.readouterr().out
    assert "   6  fail" in out
    assert "GX120" in out
