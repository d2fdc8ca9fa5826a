"""Load model A, then B: which device streams each gets. The operations so far are data; the page is a function of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ge_explorer.device.chips import chip_named
from ge_explorer.runtime import DeviceSession, DynamicModel, StaticModel
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views import runtime_table
from ge_explorer.views.loadable import model_of
from ge_explorer.views.marks import Mark, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.switcher import button_html, select_html
from ge_explorer.views.table import TablePicture
from ge_explorer.views.table_html import figures_html, table_html, text

SAME = ""
"""``second`` of a device history: the same model once more."""
LIMITS: Mapping[str, Text] = {
    "documented": Text("documented limit", "文档上限"),
    "code": Text("limit in the code", "代码中的上限"),
    "8": Text("8 streams", "8 条流"),
    "5": Text("5 streams", "5 条流"),
}
ACTIONS: Mapping[str, Text] = {
    "load-a": Text("Load A", "加载 A"),
    "load-b": Text("Load B", "加载 B"),
    "unload-a": Text("Unload A", "卸载 A"),
    "unload-b": Text("Unload B", "卸载 B"),
    "restart": Text("Start over", "重新开始"),
}
Action = Literal["load-a", "load-b", "unload-a", "unload-b"]
FIRST: tuple[Action, ...] = ("load-a", "load-b")


@dataclass(frozen=True, slots=True)
class DeviceHistory:
    """What was done on a fresh device. ``second`` names the graph of B, ``limit`` is a key of ``LIMITS``."""

    done: tuple[Action, ...] = FIRST
    second: str = SAME
    limit: str = "documented"

    def after(self, do: str, value: str, known: Sequence[str] = ()) -> DeviceHistory:
        """Next history for a gesture of the page; the same one for anything unknown. A new B or limit starts over."""
        if do == "restart":
            return replace(self, done=())
        if do in ("load-a", "load-b", "unload-a", "unload-b") and len(self.done) < 50:
            return replace(self, done=(*self.done, do))  # type: ignore[arg-type]  # one of the four actions
        if do == "second" and (value == SAME or value in known):
            return DeviceHistory(second=value, limit=self.limit)
        if do == "limit" and value in LIMITS:
            return DeviceHistory(second=self.second, limit=value)
        return self


def replay(h: DeviceHistory, a: Snapshot, b: Snapshot, chip: str) -> DeviceSession:
    """The device after the history; unloading what is not loaded does nothing."""
    found = chip_named(chip)
    limit = int(h.limit) if h.limit.isdecimal() else None
    device = DeviceSession(found.name, limit=limit, basis="code" if h.limit == "code" else "documented")
    models: dict[str, StaticModel | DynamicModel] = {"a": model_of(a, "A"), "b": model_of(b, "B")}
    for step in h.done:
        verb, _, key = step.partition("-")
        name = key.upper()
        loaded = device.state.find(name) is not None
        if verb == "load" and not loaded:
            device = device.load_model(models[key])
        elif verb == "unload" and loaded:
            device = device.unload(name)
    return device


def controls(h: DeviceHistory, device: DeviceSession, graphs: Sequence[tuple[str, str]], lang: str) -> str:
    """Buttons for what can be done now, and the selects for B and the limit."""
    here = {k: device.state.find(k.upper()) is not None for k in "ab"}
    off = {
        "load-a": here["a"],
        "load-b": here["b"],
        "unload-a": not here["a"],
        "unload-b": not here["b"],
        "restart": not h.done,
    }
    buttons = "".join(button_html(k, t, lang, disabled=off[k]) for k, t in ACTIONS.items())
    again = (SAME, Text("this model once more", "同一模型再次加载"))
    others = [again, *((name, Text(title)) for name, title in graphs)]
    second = select_html("second", Text("B is", "B 为"), others, h.second, lang)
    limit = select_html("limit", Text("device", "设备"), list(LIMITS.items()), h.limit, lang)
    return f'<div class="gxp-seg">{buttons}{second}{limit}</div>'


def html(device: DeviceSession, marks: Mapping[int, Mark], same: bool, lang: str = "en") -> str:
    """Figures, what the operations did, device streams, steps of the last operation."""
    known = {"A": marks, "B": marks} if same else {"A": marks}
    p: TablePicture = runtime_table.build(device, marks=known)
    done = "".join(_operation(x.title, x.outcome.ok, x.outcome.status, lang) for x in device.history)
    trail = f'<p class="gxp-note">{done or text(Text("Nothing is loaded.", "未加载任何模型。"), lang)}</p>'
    tables = "".join(f"<h4>{text(t.title, lang)}</h4>{table_html(t, lang)}" for t in p.tables)
    note = Text(
        "Which device number a stream gets is assumed: the lowest free one. How many are taken follows GE and the runtime.",
        "设备流编号为假设：取最小空闲编号。占用数量按 GE 与运行时规则。",
    )
    return figures_html(p.figures, lang) + trail + tables + f'<p class="gxp-note">{text(note, lang)}</p>'


NOTHING = Text(
    "A step failed or no stream is assigned: there is no model to load.", "有步骤失败或尚未分配流，没有可加载的模型。"
)


def still(trace: Trace, identities: Mapping[int, StreamIdentity], chip: str, lang: str = "en") -> str:
    """The page for a reader without a kernel: the final state loaded twice."""
    s = trace.final
    if trace.failed is not None or s.streams is None:
        return f'<p class="gxp-note">{text(NOTHING, lang)}</p>'
    device = replay(DeviceHistory(), s, s, chip)
    return html(device, stream_marks(s, identities), True, lang)


def _operation(title: Text, ok: bool, status: str, lang: str) -> str:
    end = "" if ok else f' <span class="gxp-error">{text(Text(f"refused: {status}", f"被拒绝：{status}"), lang)}</span>'
    return f'<span class="gxp-op">{text(title, lang)}{end}</span>'
