"""Sizes as polynomials of the file's symbols, with one spelling per value, so that equal sizes have equal names.

>>> a, b = Size.of("batch"), Size.of(12)
>>> str(a * b), str(a * b // b), str(a + Size.of(1) + a)
('12*batch', 'batch', '2*batch + 1')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
TERMS = 8
"""Longer sums are given up: nobody reads them, and each would make the next one longer."""
LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Size:
    """Sum of integer multiples of products of symbols; ``terms`` sorted by product, no zero."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(value: int | str) -> Size:
        """A number, a symbol of the file, or a spelling made here."""
        if isinstance(value, int):
            return Size((((), value),) if value else ())
        return _parse(value)

    @property
    def number(self) -> int | None:
        """The value when there is no symbol in it."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def __add__(self, other: Size) -> Size:
        out = dict(self.terms)
        for m, c in other.terms:
            out[m] = out.get(m, 0) + c
        return _size(out)

    def __sub__(self, other: Size) -> Size:
        return self + other * Size.of(-1)

    def __mul__(self, other: Size) -> Size:
        out: dict[Monomial, int] = {}
        for m, c in self.terms:
            for n, d in other.terms:
                key = tuple(sorted(m + n))
                out[key] = out.get(key, 0) + c * d
        return _size(out)

    def __floordiv__(self, other: Size) -> Size | None:
        """Exact quotient by a single product (or by an equal size); None when it is not exact."""
        if self == other and other.terms:
            return Size.of(1)
        if len(other.terms) != 1:
            return None
        [(n, d)] = other.terms
        out: dict[Monomial, int] = {}
        for m, c in self.terms:
            rest = list(m)
            for symbol in n:
                if symbol not in rest:
                    return None
                rest.remove(symbol)
            if c % d:
                return None
            out[tuple(rest)] = c // d
        return _size(out)

    def __str__(self) -> str:
        """Products first, the number last."""
        parts: list[str] = []
        for m, c in sorted(self.terms, key=lambda t: (not t[0], t[0])):
            sign = "-" if c < 0 else "+"
            body = "*".join(([str(abs(c))] if abs(c) != 1 or not m else []) + list(m))
            parts.append(f"{sign} {body}" if parts else ("-" if c < 0 else "") + body)
        return " ".join(parts) or "0"


def _size(terms: Mapping[Monomial, int]) -> Size:
    return Size(tuple(sorted((m, c) for m, c in terms.items() if c)))


def _parse(text: str) -> Size:
    """Spellings of ``__str__`` come apart again; any other text is one symbol."""
    terms: dict[Monomial, int] = {}
    sign = 1
    for word in text.split(" "):
        if word in ("+", "-"):
            sign = -1 if word == "-" else 1
            continue
        if word.startswith("-") and not terms:
            sign, word = -1, word[1:]
        factors = word.split("*")
        number = 1
        if factors[0].isascii() and factors[0].isdigit() and len(factors[0]) < 19:
            number = int(factors.pop(0))
        if not all(factors) or (not factors and "*" in word):
            return Size((((text,), 1),))
        key = tuple(sorted(factors))
        terms[key] = terms.get(key, 0) + sign * number
    out = _size(terms)
    return out if str(out) == text else Size((((text,), 1),))


def plain(size: Size | None) -> int | str | None:
    """Number, spelling, or None for an unknown, overlong or impossible size."""
    if size is None:
        return None
    n = size.number
    if n is not None:
        return n if 0 <= n < LARGEST else None
    return (
        str(size)
        if len(size.terms) <= TERMS and all(abs(c) < LARGEST and len(m) <= TERMS for m, c in size.terms)
        else None
    )
