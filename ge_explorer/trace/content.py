"""Exact content comparison of facets: the runner's ``changed`` and the diff both rest on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ge_explorer.trace.state import FACETS, Snapshot


def same_content(a: Any, b: Any) -> bool:
    """True if two values hold the same data. Shared objects are equal at once, so unchanged parts cost nothing."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b))
    if is_dataclass(a):
        return all(same_content(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same_content(a[k], b[k]) for k in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(same_content(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def changed_facets(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Names of the facets whose content differs."""
    return tuple(f for f in FACETS if not same_content(getattr(before, f), getattr(after, f)))
