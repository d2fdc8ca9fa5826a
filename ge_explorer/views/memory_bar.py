"""The switch of the memory views with the controls of the open one, as HTML; what the controls say is read back by ``apply``."""

from __future__ import annotations

from html import escape

from ge_explorer.text import Text
from ge_explorer.views.marks import by_letter
from ge_explorer.views.memory_filter import KINDS, SORTS, MemoryFilter
from ge_explorer.views.memory_page import VIEWS, MemoryChoice, MemoryPage
from ge_explorer.views.memory_plans import SHOWN_KEYS, TITLES
from ge_explorer.views.memory_steps import next_of
from ge_explorer.views.switcher import button_html, select_html, switch_html
from ge_explorer.views.table_html import text

TOPS = (0, 20, 50, 200, 1000)
ALL = Text("all", "全部")
_KIND = {"feature": Text("feature map", "特征图"), "workspace": Text("workspace", "工作区")}
JUMPS = {
    "first": (Text("|‹"), frozenset[str]()), "back": (Text("‹", "‹"), frozenset[str]()),
    "next": (Text("›", "›"), frozenset[str]()), "take": (Text("take ›", "取块 ›"), frozenset({"take"})),
    "new": (Text("new ›", "新建 ›"), frozenset({"new"})), "nest": (Text("nest ›", "嵌套 ›"), frozenset({"nest"})),
    "split": (Text("split ›", "拆分 ›"), frozenset({"split"})), "last": (Text("›|"), frozenset[str]()),
}  # fmt: skip


def bar_html(page: MemoryPage | None, view: str, c: MemoryChoice, lang: str, picked: tuple[int, ...] = ()) -> str:
    """Switch and controls. Without a plan there is nothing to control."""
    beside = "" if page is None else _controls(page, view, c, lang, picked)
    return f'<div class="gxp-bar">{switch_html(VIEWS, view, lang, beside)}</div>'


def _controls(page: MemoryPage, view: str, c: MemoryChoice, lang: str, picked: tuple[int, ...]) -> str:
    if view in ("map", "lifetimes"):
        return _filters(page, view, c, lang)
    if view == "curve":
        return button_html("peak", Text("back to the peak", "回到峰值"), lang) if c.at is not None else ""
    if page.book is None:
        return ""
    slow = ""
    if view in ("ab", "steps", "planners", "hints") and page.book.large and not c.everything:
        slow = button_html("everything", Text("run the slow planners too", "也运行较慢的规划器"), lang)
    if view == "ab":
        plans = [(k, TITLES[k]) for k in SHOWN_KEYS if not k.startswith("one-") or page.book.streams > 1]
        return slow + select_html("a", Text("A"), plans, c.a, lang) + select_html("b", Text("B"), plans, c.b, lang)
    if view in ("planners", "hints"):
        return slow
    if view == "steps":
        both = [(k, TITLES[k]) for k in ("ge", "ge-priority")]
        buttons = "".join(
            f'<button type="button" data-do="jump-{k}">{text(label, lang)}</button>' for k, (label, _) in JUMPS.items()
        )
        buttons = f'<span role="group">{buttons}</span>'
        return slow + select_html("ge", Text("planner", "规划器"), both, c.ge, lang) + buttons
    return _pins(page, c, lang, picked)


def _filters(page: MemoryPage, view: str, c: MemoryChoice, lang: str) -> str:
    f, v = c.filter, page.lives
    streams = [(str(m.stream), Text(m.letter)) for m in by_letter(v.marks.values())]
    out = ""
    if view == "lifetimes":
        out += select_html("sort", Text("sort", "排序"), list(SORTS.items()), f.sort, lang)
        if len(streams) > 1:
            own = [("", Text("its own stream", "自身的流")), *streams]
            now = "" if c.awaited is None else str(c.awaited)
            out += select_html("awaited", Text("until reusable on", "直到可复用于"), own, now, lang)
    tops = [(str(n), ALL if not n else Text(f"largest {n}", f"最大 {n} 个")) for n in TOPS]
    if view == "map":
        tops = tops[1:]
    out += select_html("top", Text("show", "显示"), tops, str(f.top or (200 if view == "map" else 0)), lang)
    if len(streams) > 1:
        now = "" if f.stream is None else str(f.stream)
        out += select_html("stream", Text("stream", "流"), [("", ALL), *streams], now, lang)
        on = " checked" if f.crossing else ""
        label = Text("read on another stream", "跨流读取")
        out += f'<label><input type="checkbox" data-do="crossing"{on}>{text(label, lang)}</label>'
    if any(b.kind == "workspace" for b in v.problem.buffers):
        out += select_html("kind", Text("kind", "类别"), [("", ALL), *((k, _KIND[k]) for k in KINDS)], f.kind, lang)
    name = text(Text("name contains", "名称包含"), lang)
    return out + (  # Lab's own shortcuts would take Enter away from the field
        f'<input type="search" data-lm-suppress-shortcuts="true" data-do="text" value="{escape(f.text, quote=True)}" '
        f'placeholder="{name}" aria-label="{name}">'
    )


def _pins(page: MemoryPage, c: MemoryChoice, lang: str, picked: tuple[int, ...]) -> str:
    out, v = "", page.lives
    if c.pinned is not None and c.pinned < v.count:
        label = Text(f"unpin {v.names[c.pinned]}", f"取消固定 {v.names[c.pinned]}")
        out += button_html("unpin", label, lang)
    chosen = [i for i in picked if 0 <= i < v.count and i != c.pinned]
    if chosen:
        out += button_html("pin", Text(f"pin {v.names[chosen[-1]]}", f"固定 {v.names[chosen[-1]]}"), lang)
    return out


def apply(page: MemoryPage | None, c: MemoryChoice, do: str, value: str, picked: tuple[int, ...] = ()) -> MemoryChoice:
    """Choice after a control was used; the same one for anything that is not a control (the page is not trusted)."""
    f = c.filter
    if do == "sort" and value in SORTS:
        return c.but(filter=f.but(sort=value))
    if do == "top" and value in {str(n) for n in TOPS}:
        return c.but(filter=f.but(top=int(value)))
    if do == "kind" and value in ("", *KINDS):
        return c.but(filter=f.but(kind=value))
    if do == "text":
        return c.but(filter=f.but(text=value[:200]))
    if do == "crossing":
        return c.but(filter=f.but(crossing=value == "true"))
    if do in ("stream", "awaited"):
        known = {str(s) for s in page.lives.marks} if page is not None else set()
        chosen = int(value) if value in known else None
        return c.but(filter=f.but(stream=chosen)) if do == "stream" else c.but(awaited=chosen)
    if do in ("a", "b") and value in SHOWN_KEYS:
        return c.but(**{do: value})
    if do == "ge" and value in ("ge", "ge-priority"):
        return c.but(ge=value, ge_step=0)
    if do == "everything":
        return c.but(everything=True)
    if do == "peak":
        return c.but(at=None)
    if do == "pin" and picked:
        return c.but(pinned=picked[-1])
    if do == "unpin":
        return c.but(pinned=None)
    return _jump(page, c, do.removeprefix("jump-")) if do.startswith("jump-") else c


def _jump(page: MemoryPage | None, c: MemoryChoice, where: str) -> MemoryChoice:
    if page is None or page.book is None or where not in JUMPS:
        return c
    if page.waits(c, c.ge):
        return c
    ge, last = page.book.get(c.ge).ge, page.steps_of(c) - 1
    if ge is None or last < 0:
        return c
    fixed = {"first": 0, "back": max(0, c.ge_step - 1), "next": min(last, c.ge_step + 1), "last": last}
    return c.but(ge_step=fixed[where] if where in fixed else next_of(ge, c.ge_step, JUMPS[where][1]))


def reset_for(c: MemoryChoice) -> MemoryChoice:
    """Choice kept when another state is shown: ids and positions of the old one mean nothing there."""
    return c.but(pinned=None, at=None, ge_step=0, awaited=None, filter=MemoryFilter(c.filter.sort, c.filter.top))
