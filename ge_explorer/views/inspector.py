"""The inspector: facts about the selected thing, its why-trail, and what hangs on it. Also the step, when nothing is selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_explorer.ids import Ref
from ge_explorer.memory.model import FOREVER
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.diff import diff_snapshots
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.inspector_physical import PhysicalFacts, event_in
from ge_explorer.views.palette import Identities
from ge_explorer.views.physical_parts import operators
from ge_explorer.views.related import Related, related, stream_nodes
from ge_explorer.views.strip import badge
from ge_explorer.views.wording import both, count, name_of, size, source_file, us

SHOWN = 20
"""Rows of a list before it says how many more there are."""

_KIND = {"event": Text("event", "事件"), "stream": Text("stream", "流"), "buffer": Text("buffer", "缓冲区"),
         "node": Text("operator", "算子"), "task": Text("task", "任务"), "cluster": Text("cluster", "簇"),
         "part": Text("physical stream", "物理流")}  # fmt: skip
FACET_LABELS = {
    "stream": Text("stream", "流"), "event": Text("event", "事件"), "events": Text("events", "事件"),
    "active_stream_list": Text("streams it starts", "激活的流"), "engine": Text("engine", "引擎"),
    "cluster": Text("cluster", "簇"), "label": Text("stream label", "流标签"), "op": Text("operator type", "算子类型"),
    "order": Text("order", "顺序"), "offset": Text("offset", "偏移"), "route": Text("route", "路径"),
    "streams": Text("stream", "流"), "sync": Text("event", "事件"), "placement": Text("engine", "引擎"),
    "clusters": Text("cluster", "簇"), "memory": Text("memory", "内存"), "graph": Text("graph", "图"),
    "sequence": Text("order", "顺序"), "physical": Text("physical stream", "物理流"),
    "physical stream": Text("physical stream", "物理流"), "attached stream": Text("attached stream", "附属流"),
    "parts": Text("physical parts", "物理部分"), "huge": Text("huge stream", "超长流"), "tasks": Text("tasks", "任务"),
    "own sync": Text("own event or notify", "自有事件或 notify"), "own notify": Text("own notify", "自有 notify"),
    "node": Text("node", "节点"), "kernel": Text("kernel", "核函数"), "name": Text("name", "名称"),
    "body end": Text("end of a body", "子图结尾"),
    "fusion": Text("fusion", "融合"), "core limit": Text("core limit", "核数限制"), "attributes": Text("attributes", "属性"),
    "parallel group": Text("parallel group", "并行组"), "control": Text("control edge", "控制边"),
    "scope": Text("subgraph", "子图"), "branch": Text("branch", "分支"), "shape": Text("shape", "形状"),
    "input": Text("input", "输入"), "format": Text("format", "格式"),
    "dtype": Text("element type", "元素类型"), "readers": Text("readers", "读者"),
}  # fmt: skip
"""What a decision is about, in words, by its ``facet``: first those the passes use, then the facets of the snapshot."""
_ATTRS = {
    "_user_stream_label": Text("User label", "用户标签"),
    "_stream_label": Text("Stream label", "流标签"),
    "_parallel_group": Text("Group", "并行组"),
}
_FIDELITY = {
    "exact": Text("follows GE exactly", "与 GE 完全一致"),
    "simplified": Text("simplified from GE", "对 GE 的简化"),
    "ours": Text("ours, not GE's", "本工具自有，非 GE"),
}


class Inspector:
    """Builds inspector models for one trace. ``timeline`` and ``identities`` may be missing; facts they give are then left out."""

    def __init__(self, trace: Trace, identities: Identities | None = None, timeline: Timeline | None = None) -> None:
        self.trace, self.identities, self.timeline = trace, identities, timeline
        self.physical = PhysicalFacts()

    def model(self, selected: Sequence[Ref], step: int) -> dict[str, Any]:
        """JSON-able model: ``{kind, ref, title, subtitle, mark, more, sections}``.

        A section is ``{title, note, facts?, trail?, rows?}``; facts are ``{label, value, unit, origin}``; trail entries
        ``{title, text, from, to, source, path, final, quiet, ref_step}``; rows ``{text, note, ref, mark, origin}``.
        The first reference that exists at ``step`` is shown, ``more`` counts the others.
        """
        s = self.trace.snapshot(step)
        for ref in selected:
            for now in self.trace.forward(ref, -1, step) if ref.kind == "node" else (ref,):
                shown = self._one(s, now, step)
                if shown is not None:
                    return {**shown, "ref": str(now), "more": 0 if ref.kind == "part" else len(selected) - 1}
        if selected:
            return self._gone(selected[0], step)
        return self._step(step)

    def _one(self, s: Snapshot, ref: Ref, step: int) -> dict[str, Any] | None:
        if ref.kind == "task" and self.timeline is not None and 0 <= ref.id < self.timeline.node.size:
            return self._node(s, int(self.timeline.node[ref.id]), step)
        if ref.kind == "node":
            return self._node(s, ref.id, step)
        if ref.kind == "event":
            return self._event(s, ref.id, step)
        if ref.kind == "stream":
            return self._stream(s, ref.id, step)
        if ref.kind == "buffer":
            return self._buffer(s, ref.id, step)
        if ref.kind == "part":
            return self._part(s, ref.id, step)
        return None

    # ---------------------------------------------------------------- the four kinds
    def _node(self, s: Snapshot, i: int, step: int) -> dict[str, Any] | None:
        node = s.graph.nodes[i] if 0 <= i < s.graph.id_bound else None
        if node is None:
            return None
        ge, facts = Origin.GE_RULE, []
        stream = self._stream_of(s, i)
        if stream is not None:
            facts.append(_fact(Text("Stream", "流"), self._stream_name(stream, step, s), ge))
        elif s.streams is not None:
            facts.append(_fact(Text("Stream", "流"), Text("none", "无"), ge))
        if s.placement is not None and i < len(s.placement.engine) and s.placement.engine[i]:
            core = s.placement.core[i]
            facts.append(
                _fact(
                    Text("Engine", "引擎"),
                    s.placement.engine[i] + (f", {core}" if core not in ("", "NONE") else ""),
                    ge,
                )
            )
        facts.extend(self.physical.node_facts(s, i))
        if s.order is not None and i < s.order.size and s.order[i] >= 0:
            facts.append(_fact(Text("Order", "顺序"), f"{int(s.order[i])}", ge))
        for k, t in enumerate(node.outputs[:4]):
            facts.append(
                _fact(
                    Text(f"Output {k}", f"输出 {k}") if len(node.outputs) > 1 else Text("Output", "输出"), _tensor(s, t)
                )
            )
        facts.extend(self._times(i))
        if node.origin:
            made = ", ".join(name_of(self.trace.initial, Ref("node", o)) for o in node.origin[:4])
            facts.append(_fact(Text("Made from", "由来"), made))
        for key, label in _ATTRS.items():
            if key in node.attrs:
                facts.append(_fact(label, str(node.attrs[key])))
        ref = Ref("node", i)
        linked = related(self.trace, [ref], step, self.timeline)
        subtitle = node.op + (f" ({node.source_op})" if node.source_op and node.source_op != node.op else "")
        page = self._page(ref, name_of(s, ref), subtitle, self._mark(stream, step), facts, s, linked, step)
        if stream is not None and s.physical is not None:
            parts = self.physical.part_section(s, stream, int(s.physical.node[i]), self._mark(stream, step))
            if parts is not None:
                page["sections"].append(parts)
        return page

    def _event(self, s: Snapshot, uid: int, step: int) -> dict[str, Any] | None:
        e = event_in(s, uid)
        if e is None:
            return None
        ge = Origin.GE_RULE
        ends = [
            _row(
                name_of(s, Ref("node", e.send)),
                Text("records", "记录"),
                Ref("node", e.send),
                self._mark(self._stream_of(s, e.send), step),
            ),
            _row(
                name_of(s, Ref("node", e.recv)),
                Text("waits", "等待"),
                Ref("node", e.recv),
                self._mark(self._stream_of(s, e.recv), step),
            ),
        ]
        facts = [
            _fact(Text("Kind", "类型"), e.kind, ge),
            _fact(Text("Cause", "原因"), e.cause.replace("_", " "), ge),
            _fact(Text("GE id", "GE 编号"), str(e.id), ge),
        ]
        waits = (
            [] if self.timeline is None else [g for g in self.timeline.gaps if g.reason == "event" and g.event == uid]
        )
        if waits:
            facts.append(
                _fact(
                    Text("Wait time", "等待时长"), f"{us(sum(g.end_ns - g.start_ns for g in waits))} us", Origin.MODEL
                )
            )
        ref = Ref("event", uid)
        page = self._page(ref, f"event {e.id}", "", None, facts, s, Related(), step)
        page["titles"] = both(Text(f"Event {e.id}", f"事件 {e.id}"))
        page["sections"].append({"title": both(Text("Between", "两端")), "rows": ends})
        return page

    def _stream(self, s: Snapshot, i: int, step: int) -> dict[str, Any] | None:
        members = stream_nodes(s, i)
        if s.streams is None or not (members or any(i in ids for ids in s.streams.attached.values())):
            return None
        ge = Origin.GE_RULE
        who = self.identities.of(step, i) if self.identities else None
        facts = [_fact(Text("GE id", "GE 编号"), str(i), ge)]
        if who is not None:
            facts.append(_fact(Text("Engine", "引擎"), who.engine or "–", ge))
            if who.label:
                facts.append(_fact(Text("Label", "标签"), who.label, ge))
        members = operators(s, members)
        facts.append(_fact(Text("Operators", "算子"), count(len(members)), ge))
        if self.timeline is not None and self.timeline.makespan_ns:
            busy = self.timeline.busy_ns(i)
            facts.append(
                _fact(Text("Busy", "忙时"), f"{us(busy)} us", Origin.MODEL, f"{busy / self.timeline.makespan_ns:.0%}")
            )
        if s.sync is not None:
            activators = [n for n, ids in s.sync.active_streams.items() if i in ids]
            if activators:
                names = ", ".join(name_of(s, Ref("node", n)) for n in activators[:3])
                facts.append(_fact(Text("Activated by", "激活者"), names, ge))
        ref = Ref("stream", i)
        events = () if s.sync is None else tuple(e.uid for e in s.sync.events if i in (e.send_stream, e.recv_stream))
        page = self._page(
            ref, f"stream {i}", "", self._mark(i, step), facts, s, Related(nodes=members, events=events), step
        )
        parts = self.physical.part_section(s, i, -1, self._mark(i, step))
        if parts is not None:
            page["sections"].insert(1, parts)
        role = who.role if who else Text("")
        page["titles"] = both(
            Text(f"Stream {who.letter}, {role.en}", f"流 {who.letter}，{role.get('zh')}")
            if who
            else Text(f"Stream {i}", f"流 {i}")
        )
        return page

    def _part(self, s: Snapshot, i: int, step: int) -> dict[str, Any] | None:
        logical = s.physical.logic_of[i] if s.physical is not None and 0 <= i < s.physical.count else -1
        made = Text("made after the split", "切分后新建")
        name = self._stream_name(logical, step, s) if logical >= 0 else made
        found = self.physical.part_page(s, i, self._mark(logical, step), name)
        if found is None:
            return None
        title, facts, sections = found
        trail = self.trail(Ref("stream", logical), step) if logical >= 0 else []
        why = {"title": both(Text("Why", "为什么")), "note": both(str(len(trail))), "trail": trail[-60:]}
        return {
            "kind": "part", "title": title, "titles": both(Text(f"Physical stream {i}", f"物理流 {i}")), "more": 0,
            "subtitle": both(_KIND["part"]), "mark": self._mark(logical, step),
            "sections": [{"facts": facts}, *([why] if trail else []), *sections],
        }  # fmt: skip

    def _buffer(self, s: Snapshot, i: int, step: int) -> dict[str, Any] | None:
        if s.memory is None or not 0 <= i < len(s.memory.problem.buffers):
            return None
        b, life = s.memory.problem.buffers[i], s.memory.problem.lifetimes[i]
        number, unit = size(b.size)
        end = Text("to the end", "到末尾") if life.end == FOREVER else Text(f"order {life.end}", f"顺序 {life.end}")
        facts = [
            _fact(Text("Size", "大小"), f"{number} {unit}", Origin.ASSUMED if b.assumed else Origin.GE_RULE),
            _fact(Text("Offset", "偏移"), f"{count(s.memory.plan.offsets[i])} B", Origin.MODEL),
            _fact(Text("Kind", "类型"), b.kind),
            _fact(
                Text("In use", "使用期"),
                Text(f"order {life.begin}, {end.en}", f"顺序 {life.begin}，{end.get('zh')}"),
                Origin.GE_RULE,
            ),
            _fact(Text("Planner", "规划器"), s.memory.plan.planner),
        ]
        if b.raw_size and b.raw_size != b.size:
            facts.insert(1, _fact(Text("Unpadded", "未对齐"), f"{count(b.raw_size)} B"))
        ref = Ref("buffer", i)
        page = self._page(ref, b.name or "(empty)", "", self._mark(b.stream, step), facts, s, Related(), step)
        for title, ids in ((Text("Written by", "写入者"), b.producers), (Text("Read by", "读取者"), b.readers)):
            rows = [
                _row(name_of(s, Ref("node", n)), Text(""), Ref("node", n), self._mark(self._stream_of(s, n), step))
                for n in ids[:SHOWN]
            ]
            if rows:
                page["sections"].append({"title": both(title), "note": both(count(len(ids))), "rows": rows})
        if b.inside:
            page["sections"].append(self._pieces(s, i))
        return page

    def _pieces(self, s: Snapshot, i: int) -> dict[str, Any]:
        """Tensors of a buffer that do not all begin at its start: inputs of a concatenation without a task, for example."""
        assert s.memory is not None
        b, start = s.memory.problem.buffers[i], s.memory.plan.offsets[i]
        at = sorted((b.inside.get(t, 0), t) for t in b.tensors)
        rows = [
            _row(s.graph.tensor(t).name, Text(f"{count(start + k)} B"), Ref("node", s.graph.tensor(t).producer))
            for k, t in at[:SHOWN]
        ]
        return {"title": both(Text("Pieces", "分片")), "note": both(count(len(at))), "rows": rows}

    # ---------------------------------------------------------------- parts
    def _page(self, ref: Ref, title: str, subtitle: str, mark: dict[str, Any] | None, facts: list[dict[str, Any]],
              s: Snapshot, linked: Related, step: int) -> dict[str, Any]:  # fmt: skip
        sections: list[dict[str, Any]] = [{"facts": facts}]
        trail = self.trail(ref, step)
        if trail:
            n = len(trail)
            sections.append(
                {
                    "title": both(Text("Why", "为什么")),
                    "note": both(Text(f"{n} decision{'s' if n > 1 else ''}", f"{n} 个决策")),
                    "trail": trail[-60:],
                }
            )
        sections.extend(self._links(ref, s, linked, step))
        kind = _KIND.get(ref.kind, Text(ref.kind))
        return {
            "kind": ref.kind,
            "title": title,
            "titles": None,
            "subtitle": subtitle or both(kind),
            "mark": mark,
            "sections": sections,
        }

    def trail(self, ref: Ref, step: int) -> list[dict[str, Any]]:
        """Decisions about ``ref`` up to ``step`` in order. ``final``: holds now (filled dot); ``quiet``: left it alone."""
        out = []
        for entry in self.trace.why(ref, upto=step):
            d, p = entry.decision, entry.step.pass_
            rule = p.rules[d.rule]
            source = rule.source or p.source
            evidence = [{"text": name_of(entry.step.after, r), "ref": str(r)} for r in d.evidence[:6]]
            out.append(
                {
                    "title": both(entry.step.title if entry.step.title.en else p.name),
                    "facet": both(FACET_LABELS.get(d.facet, Text(d.facet))),
                    "text": both(d.note or rule.text),
                    "from": self._value(d.facet, d.before, entry.step.index - 1),
                    "to": self._value(d.facet, d.after, entry.step.index),
                    "source": source_file(source), "path": source, "final": entry.final, "quiet": not d.decisive,
                    "step": entry.step.index, "evidence": evidence,
                }
            )  # fmt: skip
        return out

    def _links(self, ref: Ref, s: Snapshot, linked: Related, step: int) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        if s.sync is not None and ref.kind in ("node", "stream"):
            rows = []
            for uid in linked.events[:SHOWN]:
                e = event_in(s, uid)
                if e is not None:
                    ends = f"{name_of(s, Ref('node', e.send))} → {name_of(s, Ref('node', e.recv))}"
                    rows.append(_row(f"{e.id}: {ends}", Text(""), Ref("event", uid)))
            note = count(len(linked.events)) if rows else Text("none", "无")
            out.append({"title": both(Text("Events", "事件")), "note": both(note), "rows": rows})
        if s.memory is not None and linked.buffers:
            rows = []
            for i in linked.buffers[:SHOWN]:
                b = s.memory.problem.buffers[i]
                number, unit = size(b.size)
                role = Text("writes", "写") if ref.id in b.producers else Text("reads", "读")
                rows.append(
                    _row(
                        b.name or "(empty)",
                        Text(f"{role.en}, {number} {unit}", f"{role.get('zh')}，{number} {unit}"),
                        Ref("buffer", i),
                        origin="ge",
                    )
                )
            out.append(
                {"title": both(Text("Buffers", "缓冲区")), "note": both(count(len(linked.buffers))), "rows": rows}
            )
        if ref.kind == "stream":
            rows = [
                _row(name_of(s, Ref("node", n)), Text(s.graph.node(n).op), Ref("node", n)) for n in linked.nodes[:SHOWN]
            ]
            out.append({"title": both(Text("Operators", "算子")), "note": both(count(len(linked.nodes))), "rows": rows})
        return out

    def _times(self, i: int) -> list[dict[str, Any]]:
        t = self.timeline
        if t is None:
            return []
        out = []
        for k in (t.node == i).nonzero()[0].tolist()[:4]:
            start, end = int(t.start_ns[k]), int(t.end_ns[k])
            origin = Origin.MEASURED if t.origin == "measured" else Origin.MODEL
            out.append(_fact(Text("Time", "时间"), f"{us(start)} – {us(end)} us", origin, us(end - start)))
            out.extend(self._given(i, end - start, t.cost_origin[k]))
            if t.aic[k] or t.aiv[k]:
                cores = Text(
                    f"{int(t.aic[k])} cube, {int(t.aiv[k])} vector", f"{int(t.aic[k])} Cube，{int(t.aiv[k])} Vector"
                )
                out.append(_fact(Text("Cores", "核"), cores, Origin.ASSUMED))
            if k in t.critical:
                out.append(
                    _fact(Text("Slack", "余量"), Text("0, on the critical path", "0，在关键路径上"), Origin.MODEL)
                )
        return out

    def _given(self, i: int, ns: int, origin: str) -> list[dict[str, Any]]:
        """Where a measured duration comes from."""
        if origin != Origin.MEASURED.value:
            return []
        node = self.trace.final.graph.nodes[i] if i < self.trace.final.graph.id_bound else None
        members = node.attrs.get("_gx_duration_members") if node is not None else None
        word = Text("measured (profile)", "实测（profile）")
        if members:
            word = Text(f"measured (profile), sum of {members} members", f"实测（profile），{members} 个成员之和")
        return [
            _fact(Text("Duration", "时长"), Text(f"{us(ns)} us, {word.en}", f"{us(ns)} us，{word.zh}"), Origin.MEASURED)
        ]

    def _step(self, step: int) -> dict[str, Any]:
        if step < 0 or step >= len(self.trace.steps):
            graph = self.trace.initial.graph
            facts = [
                _fact(Text("Nodes", "节点"), count(len(graph))),
                _fact(Text("Data edges", "数据边"), count(len(graph.edges))),
                _fact(Text("Control edges", "控制边"), count(len(graph.control))),
                _fact(Text("Subgraphs", "子图"), count(sum(x is not None for x in graph.scopes) - 1)),
            ]
            titles = Text("Before the first step", "第一步之前")
            return {"kind": "step", "ref": "step:-1", "title": "", "titles": both(titles), "subtitle": graph.name, "mark": None,
                    "more": 0, "sections": [{"facts": facts}]}  # fmt: skip
        x = self.trace.steps[step]
        p = x.pass_
        facts = [
            _fact(Text("Result", "结果"), badge(x, self.identities)),
            _fact(Text("GE name", "GE 名称"), p.ge_name or "–"),
            _fact(Text("Fidelity", "忠实度"), _FIDELITY[p.fidelity]),
            _fact(Text("Decisions", "决策"), count(len(x.decisions))),
        ]
        if x.ge_status:
            facts.insert(1, _fact(Text("GE status", "GE 状态"), x.ge_status, Origin.GE_RULE))
        if p.option_keys:
            facts.append(_fact(Text("Options", "选项"), ", ".join(sorted(p.option_keys))))
        about = x.reason if x.reason is not None else p.summary
        sections: list[dict[str, Any]] = [{"text": both(about)}, {"facts": facts}]
        used = {d.rule for d in x.decisions}
        rules: list[dict[str, Any]] = []
        for key, r in p.rules.items():
            source = r.source or p.source
            rules.append(
                {
                    "title": both(key.replace("_", " ").replace("-", " ")), "facet": both(""), "text": both(r.text),
                    "from": None, "to": None, "source": source_file(source), "path": source, "final": key in used,
                    "quiet": key not in used, "step": step, "evidence": [],
                }
            )  # fmt: skip
        if rules:
            note = Text(f"{len(used)} of {len(rules)} used here", f"此处用到 {len(used)} / {len(rules)}")
            sections.append({"title": both(Text("Rules", "规则")), "note": both(note), "trail": rules})
        moved = diff_snapshots(x.before, x.after).moved if x.status == "changed" else ()
        if moved:
            rows = [
                _row(
                    m.name, Text(""), Ref("node", m.id), self._mark(m.after if isinstance(m.after, int) else None, step)
                )
                for m in moved[:SHOWN]
            ]
            sections.append(
                {"title": both(Text("Streams changed", "流变化")), "note": both(count(len(moved))), "rows": rows}
            )
        return {"kind": "step", "ref": f"step:{step}", "title": "", "titles": both(x.title if x.title.en else p.name),
                "subtitle": x.name, "mark": None, "more": 0, "sections": sections}  # fmt: skip

    def _gone(self, ref: Ref, step: int) -> dict[str, Any]:
        where = Text("does not exist at this step", "在此步骤不存在")
        name = name_of(self.trace.final, ref)
        if name.startswith("#"):
            name = name_of(self.trace.initial, ref)
        removed = self.trace.snapshot(step).sync
        note = where
        sections: list[dict[str, Any]] = []
        if ref.kind == "event" and removed is not None:
            hit = next((r for r in removed.removed if r.event.uid == ref.id), None)
            if hit is not None:
                note = Text("removed", "已删除")
                sections.append(
                    {
                        "facts": [
                            _fact(Text("Removed by", "删除于"), hit.step, Origin.GE_RULE),
                            _fact(Text("Rule", "规则"), hit.rule, Origin.GE_RULE),
                        ]
                    }
                )
        trail = self.trail(ref, step)
        if trail:
            sections.append({"title": both(Text("Why", "为什么")), "note": both(str(len(trail))), "trail": trail})
        return {
            "kind": ref.kind,
            "ref": str(ref),
            "title": name,
            "titles": None,
            "subtitle": both(note),
            "mark": None,
            "more": 0,
            "sections": sections,
        }

    # ---------------------------------------------------------------- streams
    def _stream_of(self, s: Snapshot, i: int) -> int | None:
        if s.streams is None or i >= s.streams.node.size or s.streams.node[i] < 0:
            return None
        return int(s.streams.node[i])

    def _mark(self, stream: int | None, step: int) -> dict[str, Any] | None:
        if stream is None or stream < 0 or self.identities is None:
            return None
        return mark(self.identities, step, stream)

    def _stream_name(self, stream: int, step: int, s: Snapshot) -> Text:
        who = self.identities.of(step, stream) if self.identities else None
        if who is None:
            return Text(f"GE id {stream}", f"GE 编号 {stream}")
        label = f", label {who.label}" if who.label else ""
        label_zh = f"，标签 {who.label}" if who.label else ""
        return Text(f"{who.letter}, GE id {stream}{label}", f"{who.letter}，GE 编号 {stream}{label_zh}")

    def _value(self, facet: str, value: Any, step: int) -> str | None:
        """Short form of a decision's value; a stream number gets its letter."""
        if value is None:
            return None
        if facet in ("streams", "stream") and isinstance(value, int) and value >= 0 and self.identities is not None:
            who = self.identities.of(max(-1, step), value)
            if who is not None:
                return f"{who.letter} ({value})"
        text = ("−" + str(-value)) if isinstance(value, int) and value < 0 else str(value) if value != "" else "“”"
        return text if len(text) <= 40 else f"{text[:39]}…"


def mark(identities: Identities, step: int, stream: int) -> dict[str, Any] | None:
    """Stream mark ``{letter, index, role}`` for the front end, or None for a stream without identity at ``step``."""
    if not -1 <= step < len(identities.by_step) - 1:
        return None
    who = identities.of(step, stream)
    return None if who is None else {"letter": who.letter, "index": who.index, "role": both(who.role)}


def _fact(label: Text, value: Text | str, origin: Origin | None = None, note: str = "") -> dict[str, Any]:
    return {"label": both(label), "value": both(value), "origin": origin.value if origin else "", "note": note}


def _row(text: str, note: Text, ref: Ref, mark: dict[str, Any] | None = None, origin: str = "") -> dict[str, Any]:
    return {"text": text, "note": both(note), "ref": str(ref), "mark": mark, "origin": origin}


def _event(s: Snapshot, uid: int) -> Event | None:
    return next((e for e in s.sync.events if e.uid == uid), None) if s.sync is not None else None


def _tensor(s: Snapshot, i: int) -> Text:
    t = s.graph.tensors[i] if 0 <= i < len(s.graph.tensors) else None
    if t is None:
        return Text("unknown", "未知")
    dims = "?" if t.shape is None else "[" + ", ".join("?" if d is None or d == -1 else str(d) for d in t.shape) + "]"
    n = t.nbytes
    if n is None:
        return Text(f"{dims} {t.dtype or '?'}, size unknown", f"{dims} {t.dtype or '?'}，大小未知")
    number, unit = size(n)
    return Text(f"{dims} {t.dtype}, {number} {unit}", f"{dims} {t.dtype}，{number} {unit}")
