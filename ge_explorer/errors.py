"""One exception tree. Every message says what, where, the value got, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GxError(Exception):
    """Base of all errors of this package.

    ``what`` is one sentence; ``where`` a file, byte, line, node or option; ``got`` the offending value;
    ``todo`` the next action. ``exit_code`` is what the command line returns.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", got: object = None, todo: str = "") -> None:
        where = printable(where)
        self.what, self.where, self.got, self.todo = what, where, got, todo
        parts = [what]
        if where:
            parts.append(f"at {where}")
        if got is not None:
            parts.append(f"got {shorten(got)}")
        text = ", ".join(parts)
        super().__init__(f"{text}. {todo}" if todo else text)


class InputError(GxError):
    """A file or object that cannot become a graph (wrong format, truncated, hostile, too large)."""


class OptionError(GxError):
    """An option, pipeline text, chip, example or pass name that does not exist or has an illegal value."""


class GraphError(GxError):
    """A graph that breaks a structural rule (duplicate name, missing tensor, cycle where none is allowed)."""


class ContractError(GxError):
    """A pass broke its own contract (undeclared read or write, broken invariant): a bug in the pass."""


class PassFailed(GxError):
    """A pass stopped as GE would. ``code`` is GE's report code (such as E10055), ``ge_status`` its status name.

    ``inner_status`` is the status inside GE where it differs from what the entry point returns.
    """

    def __init__(
        self,
        what: str,
        *,
        code: str = "",
        ge_status: str = "FAILED",
        inner_status: str = "",
        where: str = "",
        got: object = None,
        todo: str = "",
    ) -> None:
        super().__init__(what, where=where, got=got, todo=todo)
        self.code, self.ge_status, self.inner_status = code, ge_status, inner_status or ge_status


def printable(text: str, limit: int = 400) -> str:
    """The text with control characters escaped (names come from files), cut at ``limit`` characters.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    plain = text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


def shorten(value: object, limit: int = 80) -> str:
    """Printable one-line form of any value, control characters escaped, cut at ``limit`` characters."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Sentence that offers the closest known names.

    >>> did_you_mean("fork_jon", ["chain", "fork_join"])
    "Did you mean 'fork_join'? Known: chain, fork_join."
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    listed = ", ".join(names[:40]) + (" …" if len(names) > 40 else "")
    return (f"Did you mean {close[0]!r}? " if close else "") + f"Known: {listed}."
