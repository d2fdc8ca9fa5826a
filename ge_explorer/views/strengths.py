"""Comparison of the strengths of a plan: one column each, single stream first, with its change against one stream."""

from __future__ import annotations

import html
from collections.abc import Mapping

from ge_explorer.plan.compare import StrengthResult
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.wording import count, mib, percent, ratio, us

_NOTE = Text("Simulated, not measured.", "仿真结果，非实测。")


class StrengthTable:
    """Figures per strength; prints as text, shows as a table in a notebook."""

    def __init__(self, results: Mapping[str, StrengthResult]) -> None:
        self.results = dict(results)

    def rows(self, lang: str = "en") -> list[list[str]]:
        """Header row, then one row per figure: name, origin mark, one cell per strength."""
        names = {"": Text("as is", "原图"), "single": Text("single", "单流")}
        base = self.results.get("single")
        out = [["", "", *(names.get(n, Text(n)).get(lang) for n in self.results)]]

        def add(label: Text, origin: Origin, cells: list[str]) -> None:
            out.append([label.get(lang), origin.mark, *cells])

        every = list(self.results.values())
        add(Text("makespan, us", "总时长 us"), Origin.MODEL, [us(r.makespan_ns) for r in every])
        whole = base.makespan_ns if base else 0
        against = [percent((r.makespan_ns - whole) / whole, sign=True) if whole else "–" for r in every]
        add(Text("against single", "相对单流"), Origin.MODEL, against)
        none = Text("not applicable", "不适用").get(lang)
        add(
            Text("overlap", "重叠率"), Origin.MODEL,
            [none if r.overlap_pct is None else f"{ratio(r.overlap_pct)} {r.verdict}" for r in every],
        )  # fmt: skip
        add(Text("streams", "流"), Origin.GE_RULE, [count(r.streams) for r in every])
        add(Text("events", "事件"), Origin.GE_RULE, [count(r.events) for r in every])
        add(
            Text("peak memory, MiB", "内存峰值 MiB"),
            Origin.MODEL,
            ["–" if r.peak is None else mib(r.peak) for r in every],
        )
        return out

    def __repr__(self) -> str:
        rows = self.rows()
        widths = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
        lines = [
            "  ".join(c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(r, widths, strict=True)))
            for r in rows
        ]
        return "\n".join([*(line.rstrip() for line in lines), _NOTE.en])

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        th = "".join(f"<th style='text-align:right'>{html.escape(c)}</th>" for c in head)
        tr = "".join(
            "<tr>" + "".join(_cell(c, "left" if k < 2 else "right") for k, c in enumerate(r)) + "</tr>" for r in body
        )
        note = html.escape(f"{_NOTE.en} {_NOTE.zh}")
        return f"<table><thead><tr>{th}</tr></thead><tbody>{tr}</tbody></table><p>{note}</p>"


def _cell(text: str, align: str) -> str:
    return f"<td style='text-align:{align}'>{html.escape(text)}</td>"
