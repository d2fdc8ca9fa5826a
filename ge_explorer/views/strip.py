"""The pass strip: one chip per step in chapters, what each step changed, and why a step failed or did not run."""

from __future__ import annotations

from typing import Any

from ge_explorer.errors import GxError, PassFailed
from ge_explorer.text import Text
from ge_explorer.trace.diff import Diff, diff_snapshots
from ge_explorer.trace.passes import CHAPTERS
from ge_explorer.trace.state import PhysicalStreams
from ge_explorer.trace.trace import Step, Trace
from ge_explorer.views.palette import Identities
from ge_explorer.views.wording import both, count, signed, size

_STATUS = {
    "unchanged": Text("no change", "无变化"),
    "skipped": Text("not needed", "不适用"),
    "disabled": Text("off", "已关"),
    "failed": Text("failed", "失败"),
    "not_run": Text("not run", "未运行"),
}


def toggle_key(step: Step) -> str:
    """Key that switches the step's pass on and off: its name without the scope (``topological-sort#2``)."""
    return step.name.split("@", 1)[0] or step.pass_.name


def strip_model(trace: Trace, identities: Identities | None = None) -> dict[str, Any]:
    """JSON-able model of the strip.

    ``chapters``: list of ``{key, title, steps}``; a step is ``{index, key, title, scope, status, badge, tip, can_toggle}``.
    ``badge`` says what changed, counted by an exact diff of the states before and after; ``status`` is the runner's.
    ``quiet`` are the indices of steps that changed nothing (what "hide unchanged" folds); a step that is off or failed is
    never quiet. ``failed`` is the failure (see ``failure_model``) or None.
    """
    chapters: list[dict[str, Any]] = []
    quiet: list[int] = []
    for step in trace.steps:
        chapter = step.pass_.chapter
        if not chapters or chapters[-1]["key"] != chapter:
            chapters.append({"key": chapter, "title": both(CHAPTERS[chapter]), "steps": []})
        if step.status in ("unchanged", "skipped"):
            quiet.append(step.index)
        chapters[-1]["steps"].append(_chip(step, identities))
    return {"chapters": chapters, "count": len(trace.steps), "quiet": quiet, "failed": failure_model(trace)}


def _chip(step: Step, identities: Identities | None) -> dict[str, Any]:
    p = step.pass_
    return {
        "index": step.index,
        "key": toggle_key(step),
        "title": both(p.title if p.title.en else p.name),
        "scope": step.before.graph.scope(step.scope).name if step.scope else "",
        "status": step.status,
        "badge": both(badge(step, identities)),
        "tip": both(_tip(step)),
        "can_toggle": True,
    }


def badge(step: Step, identities: Identities | None = None) -> Text:
    """What the step changed in at most two counts with units, or its status in a word (failed: GE's code)."""
    if step.status == "failed":
        code = step.error.code if isinstance(step.error, PassFailed) else ""
        return Text(code) if code else _STATUS["failed"]
    if step.status == "skipped" and not step.pass_.modelled:
        return Text("not modelled", "未建模")
    if step.status != "changed":
        return _STATUS[step.status]
    parts = _counts(diff_snapshots(step.before, step.after), step, identities)
    if not parts:
        return Text("reworked", "已更新")
    shown = parts[:2] if len(parts[0].en) + len(parts[min(1, len(parts) - 1)].en) <= 18 else parts[:1]
    return Text(" ".join(x.en for x in shown), " ".join(x.get("zh") for x in shown))


def _counts(d: Diff, step: Step, identities: Identities | None) -> list[Text]:
    """Most telling count first; the order inside a chapter follows what that chapter is about."""
    out: list[Text] = []
    plus, minus = len(d.nodes_added), len(d.nodes_removed)
    if plus or minus:
        both_signs = " ".join(signed(n) for n in (-minus, plus) if n)
        out.append(_n(both_signs, plus + minus, "node", "节点"))
    if d.moved:
        out.append(_moved(d, step, identities))
    if d.events_added or d.events_removed:
        delta = " ".join(signed(n) for n in (len(d.events_added), -len(d.events_removed)) if n)
        out.append(_n(delta, len(d.events_added) + len(d.events_removed), "event", "事件"))
    if d.peak[1] is not None and d.peak[0] != d.peak[1]:
        number, unit = size(d.peak[1]) if d.peak[0] is None else size(d.peak[1] - d.peak[0], sign=True)
        out.append(Text(f"{number} {unit}"))
    elif d.offsets:
        out.append(Text(f"{count(len(d.offsets))} offsets", f"{count(len(d.offsets))} 个偏移"))
    if d.engines:
        first = all(m.before is None for m in d.engines)
        n = count(len(d.engines))
        out.append(Text(f"{n} placed", f"{n} 个已定") if first else Text(f"{n} engines", f"{n} 个引擎"))
    if d.clusters[0] != d.clusters[1]:
        total, first = d.clusters[1], d.clusters[0] == 0
        delta = count(total) if first else signed(total - d.clusters[0])
        out.append(_n(delta, total if first else 2, "cluster", "簇"))
    if d.reordered and not out:
        first = step.before.sequence is None
        n = count(d.reordered)
        out.append(Text(f"{n} in order", f"{n} 个已排序") if first else Text(f"{n} reordered", f"{n} 个重排"))
    if d.nodes_changed and not out:
        out.append(_n(count(len(d.nodes_changed)), len(d.nodes_changed), "node", "节点"))
    if d.activations:
        out.append(_n(signed(len(d.activations)), len(d.activations), "activation", "激活"))
    if d.renumbered:
        n = count(len(d.renumbered))
        out.append(Text(f"{n} renumbered", f"{n} 个重编号"))
    if not out:
        out.extend(_facets(step))
    return out


def _facets(step: Step) -> list[Text]:
    """Changes no count speaks of: streams of clusters before they reach the nodes, marks, activation lists."""
    a, b = step.before, step.after
    if "streams" in step.changed and b.streams is not None:
        old = a.streams.cluster if a.streams is not None else ()
        new = b.streams.cluster
        n = sum(1 for i, v in enumerate(new) if v != (old[i] if i < len(old) else -1))
        if n:
            return [_n(f"{count(n)}", n, "cluster", "簇")]
        before = a.streams.next_stream if a.streams is not None else 0
        if b.streams.next_stream != before:
            return [
                Text(
                    f"{signed(b.streams.next_stream - before)} streams", f"{signed(b.streams.next_stream - before)} 流"
                )
            ]
    if "sync" in step.changed:
        return [Text("marks", "标记")]
    if "clusters" in step.changed:
        return [Text("clusters", "簇更新")]
    if "tasks" in step.changed and b.tasks is not None:
        n = sum(g.count for groups in b.tasks.of.values() for g in groups)
        return [_n(count(n), n, "task", "任务")]
    if "physical" in step.changed and b.physical is not None:
        return [_physical(a.physical, b.physical)]
    return []


def _physical(a: PhysicalStreams | None, b: PhysicalStreams) -> Text:
    """What a physical step did: streams made, nodes put on another one, or only activation lists."""
    if a is None:
        return _n(count(b.count), b.count, "stream", "流")
    if a.count != b.count:
        return _n(signed(b.count - a.count), abs(b.count - a.count), "stream", "流")
    shared = min(a.node.size, b.node.size)
    n = int((a.node[:shared] != b.node[:shared]).sum()) + b.node.size - shared
    if n:
        return Text(f"{count(n)} placed", f"{count(n)} 个已定")
    lists = {i: x for i, x in a.sync.active_streams.items() if x} != {
        i: x for i, x in b.sync.active_streams.items() if x
    }
    return Text("lists", "激活表") if lists else Text("checked", "已检查")


def _moved(d: Diff, step: Step, identities: Identities | None) -> Text:
    n = count(len(d.moved))
    targets = {m.after for m in d.moved}
    if len(targets) == 1:
        (target,) = targets
        if target in (None, -1):
            return Text(f"{n} lose stream", f"{n} 个失流")
        who = identities.of(step.index, target) if identities is not None and isinstance(target, int) else None
        name = who.letter if who else f"#{target}"
        return Text(f"{n} → {name}")
    k = len(targets - {None, -1})
    if all(m.before in (None, -1) for m in d.moved):
        return Text(f"{n} on {k} streams", f"{n} 个入 {k} 流")
    return Text(f"{n} moved", f"{n} 个换流")


def _n(shown: str, n: int, en: str, zh: str) -> Text:
    return Text(f"{shown} {en}" if n == 1 else f"{shown} {en}s", f"{shown} {zh}")


def _tip(step: Step) -> Text:
    p = step.pass_
    if step.status in ("skipped", "disabled", "not_run") and step.reason is not None:
        head = step.reason
    elif step.status == "failed":
        head = Text(str(step.error)) if step.error else _STATUS["failed"]
    else:
        head = p.summary if p.summary.en else p.title
    return Text(f"{_close(head.en, '.')} ({p.name})", f"{_close(head.get('zh'), '。')}（{p.name}）")


def _close(sentence: str, stop: str) -> str:
    return sentence if sentence.endswith((".", "。", "!", "?", "…")) else sentence + stop


def failure_model(trace: Trace) -> dict[str, Any] | None:
    """Why the trace stopped, for the red outlined state: what, where, value, GE code, and repairs that are one click.

    A repair is ``{label, action, …}`` with action ``toggle`` (``key``, ``on``), ``option`` (``key``, ``value``) or ``select``
    (``refs``). The passes switched off that make a missing facet come first.
    """
    step = trace.failed
    if step is None:
        return None
    e = step.error
    failed = e if isinstance(e, PassFailed) else None
    names = [s for s in trace.steps if s.status == "not_run"]
    repairs: list[dict[str, Any]] = []
    for off in blocking(trace):
        label = Text(f"Switch “{off.title.en}” on again", f"重新打开“{off.title.get('zh')}”")
        repairs.append({"label": both(label), "action": "toggle", "key": toggle_key(off), "on": True})
    values = trace.initial.options.values
    for key in sorted(step.pass_.option_keys & set(values)):
        label = Text(f"Remove option {key}={values[key]}", f"移除选项 {key}={values[key]}")
        repairs.append({"label": both(label), "action": "option", "key": key, "value": ""})
    refs = list(dict.fromkeys(str(r) for i in step.issues for r in i.refs))
    if refs:
        label = Text(f"Show the {len(refs)} places", f"查看这 {len(refs)} 处")
        repairs.append({"label": both(label), "action": "select", "refs": refs[:200]})
    if not repairs or repairs[0]["action"] != "toggle":
        label = Text(f"Switch “{step.title.en}” off", f"关闭“{step.title.get('zh')}”")
        repairs.append({"label": both(label), "action": "toggle", "key": toggle_key(step), "on": False})
    title = step.title if step.title.en else Text(step.pass_.name)
    return {
        "index": step.index,
        "title": both(Text(f"{title.en} failed", f"{title.get('zh')}失败")),
        "code": failed.code if failed else "",
        "ge_status": step.ge_status,
        "what": e.what if isinstance(e, GxError) else str(e),
        "where": e.where if isinstance(e, GxError) else "",
        "todo": e.todo if isinstance(e, GxError) else "",
        "note": both(
            Text(
                f"Steps before it stay usable; {len(names)} steps after it did not run.",
                f"之前的步骤仍可查看，之后的 {len(names)} 步未运行。",
            )
        ),
        "source": step.pass_.source,
        "repairs": repairs,
    }


def blocking(trace: Trace) -> tuple[Step, ...]:
    """Steps switched off that make a facet the failed step reads and misses; empty when that is not the cause."""
    step = trace.failed
    if step is None:
        return ()
    missing = {f for f in step.pass_.reads - step.pass_.writes if getattr(step.before, f) is None}
    return tuple(
        s for s in trace.steps[: step.index] if s.status == "disabled" and s.scope == 0 and s.pass_.writes & missing
    )
