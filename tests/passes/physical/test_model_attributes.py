"""What the compile leaves on the model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from physical_cases import chain, compile_from_events

import ge_explorer as gx
from ge_explorer.passes.physical.model_attributes import model_attributes


def test_the_split_map_and_the_counts_of_a_split_chain() -> None:
    attrs = {f"n{i}": {"attached": (1,)} for i in range(344)}
    found = model_attributes(compile_from_events(chain(344, attrs)).final)
    assert found.model == {"stream_num": 4, "event_num": 3, "notify_num": 0, "notify_types": [], "huge_stream_list": []}
    assert found.graph == {"_split_logic_stream_2_origin_logic_stream": "0:0,1:1,2:0,3:1"}
    assert found.nodes["n343"] == {"_logic_stream_id": 0, "_logic_attached_stream_id": 1}
    sends = {k: v for k, v in found.nodes.items() if "Send" in k}
    assert sends and all(set(v) == {"event_id"} for v in sends.values())


def test_streams_of_a_custom_pass_and_a_huge_stream() -> None:
    own = gx.compile("mixed_engines", stream_passes=[lambda ctx: ctx.allocate_next_stream()])
    assert model_attributes(own.final).graph["_custom_logical_stream_ids"].isdecimal()
    options = {"ge.enableSingleStream": "true", "gx.maxTasksPerStream": "100", "gx.maxTasksPerHugeStream": "2000"}
    assert model_attributes(gx.compile("chain", options={**options, "gx.tasksPerNode": "40"}).final).model[
        "huge_stream_list"
    ] == [0]


def test_a_snapshot_before_the_streams_is_refused() -> None:
    with pytest.raises(ValueError, match="no streams"):
        model_attributes(gx.compile("chain").initial)
