"""The streams tab: table, physical parts, activation graph and GE's own summary. One view is built at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ge_explorer.device.chips import Chip
from ge_explorer.ids import Ref
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views import activation_graph, physical_parts, stream_budget, stream_summary_panel, streams
from ge_explorer.views.activation_html import activation_html
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.parts_html import gauges_html, parts_html
from ge_explorer.views.table import TablePicture
from ge_explorer.views.table_html import picture_html, table_html, text

VIEWS: Mapping[str, Text] = {
    "table": Text("Budget", "预算"),
    "parts": Text("Physical parts", "物理部分"),
    "activation": Text("Activation", "激活"),
    "summary": Text("GE's summary", "GE 摘要"),
}
"""View key -> name on the switch."""


class StreamsPage:
    """One state's streams page. Each view's model is built when it is first asked for, then kept (selection only redraws)."""

    def __init__(
        self, s: Snapshot, identities: Mapping[int, StreamIdentity], chip: Chip, timeline: Timeline | None = None
    ) -> None:
        self.s, self.identities, self.chip, self.timeline = s, identities, chip, timeline
        self._models: dict[str, object] = {}

    def html(self, view: str, lang: str = "en", selected: Iterable[Ref] = ()) -> str:
        """HTML of a view (a key of ``VIEWS``)."""
        return {"table": self._table, "parts": self._parts, "activation": self._activation, "summary": self._summary}[
            view
        ](lang, selected)

    def all_html(self, lang: str = "en") -> str:
        """All views one below the other with headings, for the page without a kernel."""
        parts = [self.html("table", lang)]
        for view in ("parts", "activation", "summary"):
            parts.append(f"<h3>{text(VIEWS[view], lang)}</h3>{self.html(view, lang)}")
        return "".join(parts)

    def table(self) -> TablePicture:
        """Model of the table."""
        if "table" not in self._models:
            self._models["table"] = streams.build(self.s, self.identities, timeline=self.timeline)
        found = self._models["table"]
        assert isinstance(found, TablePicture)
        return found

    def _table(self, lang: str, selected: Iterable[Ref]) -> str:
        if "gauges" not in self._models:
            self._models["gauges"] = stream_budget.build(self.s, self.identities, self.chip)
        gauges = self._models["gauges"]
        assert isinstance(gauges, tuple)
        p = self.table()
        if not gauges:
            return picture_html(p, lang, selected)
        bare = p.figures[-1]
        note = f'<p class="gxp-note">{text(bare.value, lang)} {text(bare.label, lang)}</p>'
        return gauges_html(gauges, lang) + "".join(table_html(t, lang, set(selected)) for t in p.tables) + note

    def _parts(self, lang: str, selected: Iterable[Ref]) -> str:
        if "parts" not in self._models:
            self._models["parts"] = physical_parts.build(self.s, self.identities)
        p = self._models["parts"]
        if not isinstance(p, physical_parts.PartsPicture):
            return f'<p class="gxp-note">{text(physical_parts.NOT_YET, lang)}</p>'
        return parts_html(p, lang, selected)

    def _activation(self, lang: str, selected: Iterable[Ref]) -> str:
        if "activation" not in self._models:
            self._models["activation"] = activation_graph.build(self.s, self.identities)
        p = self._models["activation"]
        if not isinstance(p, activation_graph.ActivationPicture):
            return f'<p class="gxp-note">{text(self.table().alt, lang)}</p>'
        return activation_html(p, lang, selected)

    def _summary(self, lang: str, selected: Iterable[Ref]) -> str:
        if "summary" not in self._models:
            self._models["summary"] = stream_summary_panel.build(self.s)
        p = self._models["summary"]
        assert isinstance(p, TablePicture)
        chosen = set(selected)
        tables = "".join(f"<h4>{text(t.title, lang)}</h4>{table_html(t, lang, chosen)}" for t in p.tables)
        notes = "".join(f'<p class="gxp-note">{text(n, lang)}</p>' for n in p.notes)
        return picture_html(TablePicture(p.name, p.figures, (), p.alt), lang) + tables + notes
