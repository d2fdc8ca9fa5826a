"""Physical parts and budget gauges as HTML. Bars are as wide as their share; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ge_explorer.ids import Ref
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import number
from ge_explorer.views.physical_parts import Lane, PartBar, PartsPicture
from ge_explorer.views.stream_budget import Gauge
from ge_explorer.views.table_html import mark_html, origin_html, table_html, text


def gauges_html(gauges: Iterable[Gauge], lang: str = "en") -> str:
    """Row of gauges: title, used / limit with their marks, bar, biggest consumer, note."""
    return f'<div class="gxp-gs">{"".join(_gauge(g, lang) for g in gauges)}</div>'


def _gauge(g: Gauge, lang: str) -> str:
    limit = "–" if g.limit is None else number(g.limit)
    kept = f" + {g.reserve}" if g.reserve else ""
    bar = ""
    if g.limit:
        reserve = f'<u style="width:{min(100.0, 100 * g.reserve / g.limit):.2f}%"></u>' if g.reserve else ""
        bar = f'<i style="width:max({100 * g.share:.2f}%, {2 if g.used else 0}px)"></i>{reserve}'
    over = Text("over the limit", "超过上限").get(lang) if g.over else ""
    who = f"{mark_html(g.mark)}{text(g.biggest, lang)}" if g.biggest is not None else ""
    ref = f' data-ref="{g.ref}"' if g.ref is not None else ""
    said = f"{g.title.get(lang)}: {number(g.used)}{kept} / {limit} {over}".strip()
    lines = f'<div class="gxp-gw"{ref}>{who}</div>' if who else ""
    if over:
        lines = f'<div class="gxp-error">{escape(over)}</div>{lines}'
    note = f'<div class="gxp-gn">{text(g.note, lang)}</div>' if g.note is not None else ""
    return (
        f'<div class="gxp-g{" gxp-over" if g.over else ""}" data-gauge="{escape(g.key)}">'
        f'<div class="gxp-gt"><span>{text(g.title, lang)}</span><span><b>{number(g.used)}</b>{origin_html(g.origin, lang)}'
        f"{kept} / {limit}{origin_html(g.limit_origin, lang) if g.limit is not None else ''}</span></div>"
        f'<div class="gxp-gb" role="img" aria-label="{escape(said, quote=True)}">{bar}</div>{lines}{note}</div>'
    )


def parts_html(p: PartsPicture, lang: str = "en", selected: Iterable[Ref] = ()) -> str:
    """Conclusion, lanes, chain events, attached streams, notes."""
    chosen = set(selected)
    lanes = "".join(_lane(x, p.origin, lang, chosen) for x in p.lanes)
    left = Text(f"{p.left_out} more streams are not drawn.", f"另有 {p.left_out} 条流未画出。")
    more = f'<p class="gxp-note">{text(left, lang)}</p>' if p.left_out else ""
    notes = "".join(f'<p class="gxp-note">{text(n, lang)}</p>' for n in p.notes)
    heads = [f"<h4>{text(t.title, lang)}</h4>{table_html(t, lang, chosen)}" for t in (p.chains, p.attached)]
    return f'<p class="gxp-lead">{text(p.alt, lang)}</p><div class="gxp-ps">{lanes}</div>{more}{notes}{"".join(heads)}'


def _lane(lane: Lane, origin: Origin, lang: str, chosen: set[Ref]) -> str:
    if lane.logical >= 0:
        role, number_ = lane.mark.role, Text(f"GE id {lane.logical}", f"GE 编号 {lane.logical}")
    else:
        role, number_ = Text("new stream", "新流"), Text("made after the split", "切分后新建")
    more = Text(f"+{lane.left_out} parts", f"另 {lane.left_out} 个部分")
    rest = f'<span class="gxp-pm">{text(more, lang)}</span>' if lane.left_out else ""
    ref = f' data-ref="stream:{lane.logical}" tabindex="0" role="button"' if lane.logical >= 0 else ""
    bars = "".join(_bar(b, lane, origin, lang, chosen) for b in lane.bars)
    label = Text(f"label {lane.mark.label}", f"标签 {lane.mark.label}")
    under = f"<i>{text(label, lang)}</i>" if lane.mark.label else ""
    return (
        f'<div class="gxp-pl"><div class="gxp-ph"{ref}>{mark_html(lane.mark)}<span><b>{text(role, lang)}</b>'
        f'<i>{text(number_, lang)}</i>{under}</span></div><div class="gxp-pt">{bars}{rest}</div></div>'
    )


def _bar(b: PartBar, lane: Lane, origin: Origin, lang: str, chosen: set[Ref]) -> str:
    p = b.load
    limit = p.limit or 0
    fill = min(100.0, 100 * p.tasks / limit) if limit else 100.0
    kept = min(100.0 - 0.01, 100 * RESERVE / limit) if limit else 0.0
    name = Text(f"part {p.ordinal}", f"第 {p.ordinal} 部分")
    ends = b.first if b.first == b.last else f"{b.first} … {b.last}"
    on = " gxp-on" if chosen & set(b.refs) else ""
    chain = ""
    if b.chain is not None:
        tip = Text(f"event {b.chain.id} keeps the order over the cut", f"事件 {b.chain.id} 保证切口处的顺序").get(lang)
        lit = " gxp-on" if Ref("event", b.chain.uid) in chosen else ""
        chain = (
            f'<span class="gxp-pc{lit}" data-ref="event:{b.chain.uid}" tabindex="0" role="button" title="{escape(tip)}">'
            f"<b>{b.chain.id}</b></span>"
        )
    sizes = Text(f"id {p.physical}, {b.nodes} op{'s' * (b.nodes != 1)}", f"编号 {p.physical}，{b.nodes} 个算子")
    of = f" + {RESERVE} / {number(limit)}" if limit else ""
    tone = f" gxp-c{lane.mark.index % 8}" if lane.mark.index >= 0 else ""
    over = f' <span class="gxp-error">{text(Text("over", "超限"), lang)}</span>' if p.over else ""
    huge = f" {text(Text('huge', '超长流'), lang)}" if p.huge else ""
    return (
        f'<div class="gxp-pw">{chain}<div class="gxp-pp{tone}{on}" data-ref="{b.ref}" tabindex="0" role="button" '
        f'title="{escape(ends, quote=True)}">'
        f'<div class="gxp-pb"><i style="width:{fill:.2f}%"></i><u style="width:{kept:.2f}%"></u></div>'
        f"<div><b>{text(name, lang)}</b> <span>{text(sizes, lang)}{huge}</span></div>"
        f"<div>{number(p.tasks)}{origin_html(origin, lang)}<span>{of} {text(Text('tasks', '任务'), lang)}</span>{over}</div>"
        f'<div class="gxp-pe">{escape(ends)}</div></div></div>'
    )
