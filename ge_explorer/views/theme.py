"""Colours of pictures that cannot read CSS variables (Bokeh, standalone SVG), derived from ground and text as the design does."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.views.palette import BAR_TINT, NODE_TINT, swatch

UI_FONT = '-apple-system, BlinkMacSystemFont, "Segoe UI", Inter, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif'


def mix(a: str, b: str, percent: float) -> str:
    """``percent`` of colour ``a`` on colour ``b`` (both ``#rrggbb``), as CSS ``color-mix(in srgb)`` does.

    >>> mix("#000000", "#ffffff", 50)
    '#808080'
    """
    x, y = (tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in (a, b))
    k = percent / 100
    return "#" + "".join(f"{int(p * k + q * (1 - k) + 0.5):02x}" for p, q in zip(x, y, strict=True))


@dataclass(frozen=True, slots=True)
class Theme:
    """Ground and text colour, everything else derived. ``font`` is a CSS font list, ``dark`` picks the palette column."""

    dark: bool = False
    bg: str = "#ffffff"
    fg: str = "#000000"
    font: str = UI_FONT

    @staticmethod
    def named(name: str) -> Theme:
        """ "light" or "dark" with JupyterLab's ground colours."""
        return Theme(True, "#212121", "#ffffff") if name == "dark" else Theme()

    @property
    def ink(self) -> str:
        """Text, selection, current step."""
        return mix(self.fg, self.bg, 88)

    @property
    def ink2(self) -> str:
        """Secondary text."""
        return mix(self.fg, self.bg, 65)

    @property
    def ink3(self) -> str:
        """Edges and icons; never text."""
        return mix(self.fg, self.bg, 46)

    @property
    def line(self) -> str:
        """Hairlines and grid."""
        return mix(self.fg, self.bg, 11)

    @property
    def line2(self) -> str:
        """Borders."""
        return mix(self.fg, self.bg, 22)

    @property
    def soft2(self) -> str:
        """Overlap shade and hover."""
        return mix(self.fg, self.bg, 7)

    @property
    def error(self) -> str:
        """Errors and exceeded limits only."""
        return mix("#ef5350" if self.dark else "#d32f2f", self.fg, 88)

    def stream(self, index: int) -> str:
        """Solid colour of an identity (grey without one)."""
        s = swatch(index)
        return s.dark if self.dark else s.light

    def bar(self, index: int) -> str:
        """Fill of bars and marks."""
        return mix(self.stream(index), self.bg, BAR_TINT[self.dark])

    def node(self, index: int) -> str:
        """Fill of nodes."""
        return mix(self.stream(index), self.bg, NODE_TINT[self.dark])

    def area(self, index: int) -> str:
        """Fill of stacked core use."""
        return mix(self.stream(index), self.bg, 34)

    def hatch(self, index: int) -> str:
        """Hatch lines on a bar: visible, yet text stays readable."""
        return mix(self.stream(index), self.bar(index), 34)
