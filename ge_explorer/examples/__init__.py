"""Built-in examples: small graphs that each teach one thing.

``examples.names()`` lists them, ``examples.get("moe_shared_expert")`` returns the graph with its lesson and options,
``examples.moe_shared_expert()`` returns the graph alone. Variants are written ``silu_barrier:B``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import MappingProxyType

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.examples.lesson import Example, Lesson
from ge_explorer.graph.model import Graph

__all__ = ["EXAMPLES", "Example", "Lesson", "get", "lessons", "names"]

EXAMPLES = MappingProxyType(
    {
        "chain": "basics",
        "fork_join": "basics",
        "diamond_long_branch": "basics",
        "residual_block": "networks",
        "attention_block": "networks",
        "moe_shared_expert": "plans",
        "silu_barrier": "plans",
        "three_stream_crossing": "streams",
        "training_step_allreduce": "streams",
        "control_flow_if": "control",
        "mixed_engines": "streams",
        "needs_splitting": "streams",
        "while_loop": "control",
        "two_branches_cv": "basics",
    }
)
"""Name -> module of this package that holds the function of that name; imported when first used."""


def names() -> list[str]:
    """Names of all examples, in teaching order."""
    return list(EXAMPLES)


def _function(name: str) -> Callable[..., Graph]:
    if name not in EXAMPLES:
        raise OptionError(f"no example named {name!r}", todo=did_you_mean(name, EXAMPLES))
    module = importlib.import_module(f"{__name__}.{EXAMPLES[name]}")
    function: Callable[..., Graph] = getattr(module, name)
    return function


def lessons() -> list[Lesson]:
    """Title, lesson and options of every example, without building the graphs."""
    return [Lesson.of(_function(name)) for name in names()]


def get(name: str) -> Example:
    """Example by name, or ``name:variant`` where it has variants; OptionError with the closest names otherwise."""
    base, _, variant = name.partition(":")
    function = _function(base)
    lesson = Lesson.of(function)
    if variant and variant not in lesson.variants:
        raise OptionError(
            f"example {base!r} has no variant {variant!r}",
            todo=did_you_mean(variant, lesson.variants) if lesson.variants else "It has no variants.",
        )
    graph = function(variant) if variant else function()
    return Example(name, lesson.title, lesson.lesson, graph, lesson.options, lesson.variants, lesson.plan_variants)


def __getattr__(name: str) -> Callable[..., Graph]:
    if name in EXAMPLES:
        return _function(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {did_you_mean(name, EXAMPLES)}")


def __dir__() -> list[str]:
    return [*__all__, *EXAMPLES]
