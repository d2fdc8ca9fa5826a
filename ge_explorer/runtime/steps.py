"""What the runtime did, one line a step, and the outcome of a whole operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ge_explorer.runtime.flags import Status
from ge_explorer.text import Text

Action = Literal[
    "check", "unload", "create", "reuse", "bind", "notify", "event", "rollback", "split", "validate", "occupy", "destroy", "fail",
    "done",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuntimeStep:
    """One thing the runtime does. ``streams`` are serials of the device streams it is about; ``source`` GE file and symbol."""

    action: Action
    text: Text
    source: str
    streams: tuple[int, ...] = ()
    status: Status = "SUCCESS"
    code: str = ""

    @property
    def ok(self) -> bool:
        """False for the step that ended the operation."""
        return self.status == "SUCCESS"


def failure(text: Text, source: str, status: Status = "FAILED", code: str = "E19999") -> RuntimeStep:
    """The step an operation ends with when GE gives up."""
    return RuntimeStep("fail", text, source, status=status, code=code)


def span(numbers: tuple[int, ...] | list[int]) -> str:
    """Ascending numbers in short form.

    >>> span([0, 1, 2, 5])
    '0–2, 5'
    """
    parts: list[list[int]] = []
    for n in sorted(numbers):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    shown = [str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}" for a, b in parts]
    return ", ".join(shown[:20]) + (" …" if len(shown) > 20 else "")


def streams_word(numbers: tuple[int, ...] | list[int]) -> str:
    """Singular or plural with the numbers.

    >>> streams_word([3])
    'stream 3'
    """
    return f"stream{'s' * (len(numbers) != 1)} {span(numbers)}"
