"""Built-in examples: small graphs that each teach one thing.

``examples.names()`` lists them, ``examples.get("moe_shared_expert")`` returns the graph with its lesson and options,
``examples.moe_shared_expert()`` returns the graph alone. Variants are written ``silu_barrier:B``.
"""

from __future__ import annotations

from collections.abc import Callable

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.examples.lesson import Example, Lesson
from ge_explorer.graph.model import Graph
from ge_explorer.registry import Registry

__all__ = ["EXAMPLES", "Example", "Lesson", "get", "lessons", "names"]

EXAMPLES: Registry[Callable[..., Graph]] = Registry(
    "example",
    {
        "chain": "ge_explorer.examples.basics:chain",
        "fork_join": "ge_explorer.examples.basics:fork_join",
        "diamond_long_branch": "ge_explorer.examples.basics:diamond_long_branch",
        "residual_block": "ge_explorer.examples.networks:residual_block",
        "attention_block": "ge_explorer.examples.networks:attention_block",
        "moe_shared_expert": "ge_explorer.examples.plans:moe_shared_expert",
        "silu_barrier": "ge_explorer.examples.plans:silu_barrier",
        "three_stream_crossing": "ge_explorer.examples.streams:three_stream_crossing",
        "training_step_allreduce": "ge_explorer.examples.streams:training_step_allreduce",
        "control_flow_if": "ge_explorer.examples.control:control_flow_if",
        "mixed_engines": "ge_explorer.examples.streams:mixed_engines",
        "needs_splitting": "ge_explorer.examples.streams:needs_splitting",
        "while_loop": "ge_explorer.examples.control:while_loop",
        "dynamic_batch": "ge_explorer.examples.streams:dynamic_batch",
        "two_branches_cv": "ge_explorer.examples.basics:two_branches_cv",
    },
    group="ge_explorer.examples",
)
"""Name -> function that builds the graph; imported when first used, open to other packages through entry points."""


def names() -> list[str]:
    """Names of all examples, in teaching order."""
    return list(EXAMPLES.names())


def lessons() -> list[Lesson]:
    """Title, lesson and options of every example, without building the graphs."""
    return [Lesson.of(EXAMPLES.get(name)) for name in names()]


def get(name: str) -> Example:
    """Example by name, or ``name:variant`` where it has variants; OptionError with the closest names otherwise."""
    base, _, variant = name.partition(":")
    function = EXAMPLES.get(base)
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
        return EXAMPLES.get(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {did_you_mean(name, EXAMPLES.names())}")


def __dir__() -> list[str]:
    return [*__all__, *EXAMPLES.names()]
