"""Attached resources of the graphs of a dynamic-shape model, in the rounds in which GE hands them out.

GE keeps one pass object for all these graphs and never empties its groups: nodes of different graphs with one key share the
resource, and every further graph hands out all ids again, so only those of the last round count and the counter grows by more
than is in use. Source: dynamic_stream_allocator.cc (AssignAttachedResource), attach_resource_assign_helper.cc
(ClassifyNodesByGroup).
"""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.passes.dynamic.scopes import dynamic_scopes
from ge_explorer.passes.streams.attached_keys import KeyCounter, Resource, Wish, wishes
from ge_explorer.trace.state import Snapshot


def rounds(s: Snapshot, kind: Resource) -> Iterator[list[Wish]]:
    """Per graph (the root, then subgraphs of unknown shapes) everything asked for so far, in the order ids are given."""
    assert s.streams is not None
    main = dict(enumerate(s.streams.node.tolist()))
    counter = KeyCounter()
    groups: dict[tuple[str, str, int], Wish] = {}
    for scope in dynamic_scopes(s.graph, s.scope_order):
        for wish in wishes(s.graph, scope, kind, main, counter):
            key = (wish.group, wish.key, wish.num)
            groups.setdefault(key, Wish(*key)).nodes.extend(wish.nodes)
        if groups:
            yield [groups[k] for k in sorted(groups)]
