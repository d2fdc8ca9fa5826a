"""Activation graph as HTML: boxes with stream marks over an SVG of edges, then the same as a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ge_explorer.ids import Ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.activation_graph import KINDS, SOURCES, ActivationPicture, Activator, StreamBox
from ge_explorer.views.activation_layout import BOX_H, ActivationLayout, Spot, Wire, place
from ge_explorer.views.table import Column, Figure, Part, Row, Table, cut, thing, words
from ge_explorer.views.table_html import figures_html, mark_html, table_html, text

MODEL = Text("model starts", "模型启动")
ROWS = 100


def activation_html(p: ActivationPicture, lang: str = "en", selected: Iterable[Ref] = ()) -> str:
    """Figures, picture, table, notes."""
    chosen = set(selected)
    notes = "".join(f'<p class="gxp-note">{text(n, lang)}</p>' for n in p.notes)
    if p.left_out:
        notes += f'<p class="gxp-note">{text(Text("{n} streams are left out.", "略去 {n} 条流。").format(n=p.left_out), lang)}</p>'
    return (
        figures_html(figures(p), lang)
        + _drawing(p, place(p), lang, chosen)
        + table_html(table(p), lang, chosen)
        + notes
    )


def figures(p: ActivationPicture) -> tuple[Figure, ...]:
    """How many streams start with the model and how many later."""
    rule = Origin.GE_RULE
    heads = len(p.heads)
    return (
        Figure(Text(str(heads)), Text("start with the model", "条流随模型启动"), rule),
        Figure(Text(str(len(p.boxes) - heads)), Text("started later", "条流之后启动"), rule),
        Figure(Text(str(len(p.activators))), Text("nodes that start streams", "个激活节点"), rule),
    )


def table(p: ActivationPicture) -> Table:
    """Stream, who starts it, how."""
    rows = []
    for b in sorted(p.boxes, key=lambda b: (b.with_model, b.stream)):
        who: list[Part] = []
        how: list[Part] = []
        for m in b.starters:
            a = p.activators[m]
            who.append(thing(a.name, a.ref, p.boxes[a.home].mark if a.home >= 0 else b.mark))
            how.append(Part(_how(a), origin=Origin.GE_RULE, new_line=bool(how)))
            if a.kind in SOURCES:
                how.append(words(SOURCES[a.kind], code=True, tone="muted"))
        if b.with_model:
            who.insert(0, Part(Text("the model", "模型")))
            again = (
                Text("and again in every round", "每轮再次启动")
                if how
                else Text("nobody starts it: it runs from the beginning", "无人启动：从头运行")
            )
            how.insert(0, Part(again, origin=None if how else Origin.GE_RULE, tone="muted"))
        cells = (
            (Part(Text(f"GE id {b.stream}", f"GE 编号 {b.stream}"), mark=b.mark),
             *((Part(b.part, tone="muted"),) if b.part.en else ())),
            (Part(Text(str(b.nodes)), origin=Origin.GE_RULE),),
            tuple(who) or (words("–", tone="muted"),), tuple(how) or (words("–", tone="muted"),),
        )  # fmt: skip
        rows.append(Row(cells, b.ref, b.refs))
    shown, left = cut(rows, ROWS)
    columns = (
        Column(Text("stream", "流"), nowrap=True), Column(Text("nodes", "节点"), "right", True),
        Column(Text("started by", "启动者")), Column(Text("how", "方式")),
    )  # fmt: skip
    return Table(
        Text("Who starts which stream", "谁启动哪条流"),
        columns,
        shown,
        left,
        Text("No stream is in use.", "没有使用流。"),
    )


def _how(a: Activator) -> Text:
    kind = KINDS[a.kind]
    return Text(f"{kind.en} {a.detail}".strip(), f"{kind.get('zh')} {a.detail}".strip())


def _drawing(p: ActivationPicture, lay: ActivationLayout, lang: str, chosen: set[Ref]) -> str:
    if not p.boxes:
        return ""
    lit = {n for n, s in enumerate(lay.spots) if _refs(p, s) & chosen}
    wires = "".join(_wire(w, bool({w.src, w.dst} & lit)) for w in lay.wires)
    boxes = "".join(_spot(p, s, lay, lang, n in lit) for n, s in enumerate(lay.spots))
    size = f"width:{lay.width}px;height:{lay.height}px"
    return (
        f'<div class="gxp-act" role="group" aria-label="{text(p.alt, lang)}"><div style="{size}">'
        f'<svg width="{lay.width}" height="{lay.height}" aria-hidden="true">{wires}</svg>{boxes}</div></div>'
    )


def _refs(p: ActivationPicture, s: Spot) -> set[Ref]:
    if s.kind == "stream":
        return set(p.boxes[s.index].refs)
    return {p.activators[s.index].ref} if s.kind == "activator" else set()


def _wire(w: Wire, lit: bool) -> str:
    points = " ".join(f"{x},{y}" for x, y in w.points[:-1])
    (x, y) = w.points[-1]
    css = " ".join(c for c, on in (("gxp-back", w.back), ("gxp-on", lit)) if on)
    return (
        f'<g class="{css}"><polyline points="{points} {x - 5},{y}"/><path d="M{x} {y}l-7 -3.5v7Z"/></g>'
    )  # fmt: skip


def _spot(p: ActivationPicture, s: Spot, lay: ActivationLayout, lang: str, lit: bool) -> str:
    at = f"left:{s.x}px;top:{s.y}px;width:{s.w}px;height:{BOX_H}px"
    on = " gxp-on" if lit else ""
    if s.kind == "model":
        return f'<div class="gxp-ab gxp-am" style="{at}"><span>{text(MODEL, lang)}</span></div>'
    if s.kind == "more":
        more = Text(f"+{len(lay.folded)} that start nothing", f"另 {len(lay.folded)} 条不启动别的流")
        return f'<div class="gxp-ab gxp-am" style="{at}"><span>{text(more, lang)}</span></div>'
    if s.kind == "stream":
        return _stream(p.boxes[s.index], at, on, lang)
    a = p.activators[s.index]
    tip = escape(f"{a.name} ({a.op})", quote=True)
    return (
        f'<div class="gxp-ab gxp-an{on}" style="{at}" data-ref="{a.ref}" tabindex="0" role="button" title="{tip}">'
        f"<b>{escape(a.name)}</b><i>{text(_how(a), lang)}</i></div>"
    )


def _stream(b: StreamBox, at: str, on: str, lang: str) -> str:
    role = b.mark.role if b.mark.index >= 0 else Text("new stream", "新流")
    name = (Text(f"label {b.mark.label}", f"标签 {b.mark.label}") if b.mark.label else role).get(lang)
    number = (
        Text(f"id {b.stream}", f"编号 {b.stream}") if b.part.en else Text(f"GE id {b.stream}", f"GE 编号 {b.stream}")
    )
    second = Text(", ").get(lang).join(x for x in (number.get(lang), b.part.get(lang)) if x)
    tint = f" gxp-as gxp-c{b.mark.index % 8}" if b.mark.index >= 0 else ""
    ref = b.ref if b.ref.kind == "part" else stream_ref(b.ref.id)
    tip = escape(f"{name}, {second}", quote=True)
    return (
        f'<div class="gxp-ab{tint}{on}" style="{at}" data-ref="{ref}" tabindex="0" role="button" title="{tip}">'
        f"{mark_html(b.mark)}<span><b>{escape(name)}</b><i>{escape(second)}</i></span></div>"
    )
