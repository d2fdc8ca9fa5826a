"""A stage of the user's own, with GE's checks."""

from __future__ import annotations

import pytest

import ge_explorer as gx
from ge_explorer.passes.streams.custom_stream import StreamPassContext


def alone(ctx: StreamPassContext) -> None:
    """Puts one node on a stream of its own."""
    name = next(n.name for n in ctx.graph if ctx.stream(n.name) >= 0)
    ctx.set_stream(name, ctx.allocate_next_stream())
    assert ctx.stream(name) == ctx.max_stream_id


def test_a_user_pass_adds_a_stream_and_says_so_in_the_trail() -> None:
    plain, own = gx.compile("mixed_engines"), gx.compile("mixed_engines", stream_passes=[alone])
    step = own.step("custom-stream")
    assert own.failed is None and step.status == "changed"
    before, after = step.before.streams, step.after.streams
    assert before is not None and after is not None
    assert after.custom == (before.next_stream,)
    moved = [d for d in step.decisions if d.facet == "stream"]
    assert [d.after for d in moved] == [before.next_stream]
    assert moved[0].note is not None and moved[0].note.en == "alone"
    assert plain.final.streams is not None and own.final.streams is not None
    assert own.final.streams.count >= plain.final.streams.count


@pytest.mark.parametrize("stream", [-1, 99, True, "1"])
def test_a_stream_nobody_allocated_is_refused_as_in_ge(stream: int) -> None:
    def wrong(ctx: StreamPassContext) -> None:
        ctx.set_stream(next(iter(ctx.graph)).name, stream)

    failed = gx.compile("fork_join", stream_passes=[wrong]).failed
    assert failed is not None and failed.error is not None
    assert failed.error.code == "E13028"
    assert failed.ge_status == "PARAM_INVALID"


def test_an_exception_of_the_function_fails_the_step_with_its_name() -> None:
    def broken(ctx: StreamPassContext) -> None:
        raise KeyError("gelu")

    failed = gx.compile("fork_join", stream_passes=[broken]).failed
    assert failed is not None and failed.error is not None
    assert failed.error.code == "E13028"
    assert "KeyError" in str(failed.error) and "broken" in str(failed.error)


def test_several_passes_run_in_the_order_given_and_not_in_single_stream_mode() -> None:
    seen: list[str] = []
    passes = [lambda ctx: seen.append("a"), lambda ctx: seen.append("b")]
    gx.compile("fork_join", stream_passes=passes)
    assert seen == ["a", "b"]
    trace = gx.compile("mixed_engines", mode="single", stream_passes=passes)
    assert seen == ["a", "b"]
    assert trace.step("custom-stream").status == "skipped"
