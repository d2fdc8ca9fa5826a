"""What an example carries besides its graph: title, lesson, options, variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from ge_explorer.graph.model import Graph
from ge_explorer.text import Text

F = TypeVar("F", bound=Callable[..., Graph])
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one example teaches.

    ``options`` are GE options to compile it with, ``variants`` the names its function accepts (first = default),
    ``plan_variants`` the plan strengths that make sense for it (the plan itself lives in ``ge_explorer.plan``).
    """

    name: str
    title: Text
    lesson: Text
    options: Mapping[str, str] = field(default_factory=lambda: _NONE)
    variants: tuple[str, ...] = ()
    plan_variants: tuple[str, ...] = ()

    @staticmethod
    def of(function: Callable[..., Graph]) -> Lesson:
        """Lesson attached by ``@example``."""
        lesson: Any = vars(function)["lesson"]
        assert isinstance(lesson, Lesson)
        return lesson


@dataclass(frozen=True, eq=False)
class Example:
    """A built example. ``name`` includes the variant where one was asked for."""

    name: str
    title: Text
    lesson: Text
    graph: Graph
    options: Mapping[str, str]
    variants: tuple[str, ...] = ()
    plan_variants: tuple[str, ...] = ()


def example(
    title: Text,
    lesson: Text,
    *,
    options: Mapping[str, str] | None = None,
    variants: tuple[str, ...] = (),
    plan_variants: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """Attach a lesson to a function that builds a graph."""

    def attach(function: F) -> F:
        record = Lesson(
            function.__name__, title, lesson, MappingProxyType(dict(options or {})), variants, plan_variants
        )
        vars(function)["lesson"] = record
        return function

    return attach
