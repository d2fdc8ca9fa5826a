"""Runtime panel: load this model, then another, and see which device streams they hold."""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer import examples
from ge_explorer.api import open_session
from ge_explorer.device.chips import chip_named
from ge_explorer.runtime import DeviceSession
from ge_explorer.trace.state import Snapshot
from ge_explorer.views import runtime_page, runtime_table
from ge_explorer.views.marks import Mark, stream_marks
from ge_explorer.views.runtime_page import SAME, DeviceHistory
from ge_explorer.views.table import TablePicture
from ge_explorer.views.table_html import text
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.switch_panel import SwitchPanel


class RuntimePanel(SwitchPanel):
    """The final state of this session is A; B is the same or a built-in example, compiled when it is first chosen."""

    name = "runtime"

    def __init__(self, on_select: OnSelect | None = None) -> None:
        super().__init__(on_select)
        self.history = DeviceHistory()
        self._others: dict[str, Snapshot] = {}
        self._graphs = [(x.name, x.name) for x in examples.lessons()]

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Device streams as a table."""
        return runtime_table.build(self._device(ctx))

    def body(self, ctx: PanelContext) -> str:
        """Controls and tables; a sentence where there is nothing to load yet."""
        trace = ctx.session.trace
        s = trace.final
        if trace.failed is not None or s.streams is None:
            return f'<p class="gxp-note">{text(runtime_page.NOTHING, ctx.lang)}</p>'
        device = self._device(ctx)
        marks: Mapping[int, Mark] = stream_marks(s, ctx.identities_at(ctx.final_step))
        head = runtime_page.controls(self.history, device, self._graphs, ctx.lang)
        return head + runtime_page.html(device, marks, self.history.second == SAME, ctx.lang)

    def act(self, do: str, value: str) -> bool:
        """Load, unload, start over, another B, another limit."""
        after = self.history.after(do, value, [name for name, _ in self._graphs])
        changed = after != self.history
        self.history = after
        return changed

    def _device(self, ctx: PanelContext) -> DeviceSession:
        a = ctx.session.trace.final
        return runtime_page.replay(
            self.history, a, self._second(a, chip_named(ctx.session.chip).name), ctx.session.chip
        )

    def _second(self, a: Snapshot, chip: str) -> Snapshot:
        name = self.history.second
        if name == SAME:
            return a
        key = f"{name}@{chip}"
        if key not in self._others:
            self._others[key] = open_session(name, chip=chip).trace.final
        return self._others[key]
