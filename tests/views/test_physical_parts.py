"""Physical parts: a bar per part, chain events between them, and the same in words."""

from __future__ import annotations

from ge_explorer.ids import event, node, part
from ge_explorer.views import physical_parts
from ge_explorer.views.parts_html import parts_html
from tests.views.activation_cases import split_moe
from tests.views.panel_cases import moe_snapshot
from tests.views.test_stream_load import letters


def picture() -> physical_parts.PartsPicture:
    s = split_moe()
    found = physical_parts.build(s.trace.final, letters(s))
    assert found is not None
    return found


def test_lanes_in_letter_order_with_every_part_and_its_end_operators() -> None:
    p = picture()
    assert [x.mark.letter for x in p.lanes] == ["A", "B"]
    assert [[b.load.physical for b in x.bars] for x in p.lanes] == [[1, 2, 4], [0, 3]]
    first = p.lanes[0].bars[0]
    assert (first.first, first.last, first.nodes) == ("post_norm", "memset", 4)
    assert sum(b.nodes for x in p.lanes for b in x.bars) == 15, "Send, Recv and inputs are not operators"
    assert "2 logical streams become 5 physical ones, chained by 3 events" in p.alt.en


def test_every_part_but_the_first_is_led_into_by_its_own_chain_event() -> None:
    p = picture()
    s = split_moe().trace.final
    assert s.physical is not None
    for lane in p.lanes:
        assert lane.bars[0].chain is None
        for a, b in zip(lane.bars, lane.bars[1:], strict=False):
            assert b.chain is not None
            assert (b.chain.send_stream, b.chain.recv_stream) == (a.load.physical, b.load.physical)
            assert int(s.physical.node[b.chain.recv]) == b.load.physical
    assert [r.cells[0][0].text.en for r in p.chains.rows] == ["2", "3", "4"]


def test_html_selects_parts_events_and_nodes_and_speaks_chinese() -> None:
    p = picture()
    html = parts_html(p, "en", [part(2)])
    assert html.count("gxp-pp") == html.count('data-ref="part:') == 5
    assert html.count('class="gxp-pc"') == 3
    assert html.count(" gxp-on") == 1
    gmm1 = split_moe().trace.final.graph.by_name["gmm1"]
    assert parts_html(p, "en", [node(gmm1)]).count(" gxp-on") == 1
    assert "gxp-pc gxp-on" in parts_html(p, "en", [event(physical_parts.chain_events(split_moe().trace.final)[0].uid)])
    assert "部分" in parts_html(p, "zh")


def test_nothing_counted_is_said_and_an_unsplit_state_has_one_part_each() -> None:
    assert physical_parts.build(moe_snapshot(), {}) is None
    s = split_moe()
    early = physical_parts.build(s.trace.step("count-tasks").after, {})
    assert early is not None
    assert [len(x.bars) for x in early.lanes] == [1, 1]
    assert "Not split yet" in early.notes[0].en
