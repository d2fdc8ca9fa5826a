"""Textbook common-subexpression elimination by recursive fingerprints: the variant GE does not have."""

from __future__ import annotations

import hashlib

from ge_explorer.graph.builder import INNER_STREAM_LABEL, USER_STREAM_LABEL
from ge_explorer.graph.model import SOURCE_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import ranks
from ge_explorer.passes.optimize.facts import CONST, CONTROL_V1
from ge_explorer.passes.optimize.work import Work

_STATE = (
    "Random",
    "Dropout",
    "Multinomial",
    "Bernoulli",
    "Hcom",
    "Variable",
    "Assign",
    "Send",
    "Recv",
    "Queue",
    "Stack",
    "Print",
)
_LABELS = (USER_STREAM_LABEL, INNER_STREAM_LABEL, "_op_aicore_num", "_op_vectorcore_num")


def merge_by_fingerprint(w: Work, scope: int) -> None:
    """Merge any two nodes of one graph with equal type, attributes (labels apart) and inputs of equal fingerprint."""
    from ge_explorer.passes.optimize.common_subexpression import merge

    first: dict[str, int] = {}
    prints: dict[int, str] = {}
    for i in ranks(w, scope):
        n = w.node(i)
        prints[i] = _fingerprint(w, n, prints)
        k = first.setdefault(prints[i], i)
        if k == i or n.op == "NetOutput":
            continue
        if any(part in n.op for part in _STATE) or n.op in CONTROL_V1 or n.subgraphs:
            w.keep(n, "stateful", [Ref("node", k)])
            continue
        other = w.node(k)
        same = n.control_in == other.control_in and all(n.attrs.get(a) == other.attrs.get(a) for a in _LABELS)
        merge(w, k, n, "fingerprint" if same else "fingerprint-unsafe")


def _fingerprint(w: Work, n: Node, prints: dict[int, str]) -> str:
    attrs = sorted(
        (k, repr(v)) for k, v in n.attrs.items() if k not in _LABELS and k not in ("_gx_function", "_gx_call")
    )
    own = f"{n.id}" if n.op in SOURCE_LIKE and not (n.op in CONST and "_gx_value" in n.attrs) else ""
    inputs = []
    for k, t in enumerate(n.inputs):
        producer = -1 if t is None else w.e.tensor(t).producer
        inputs.append((prints.get(producer, str(producer)), 0 if t is None else w.e.tensor(t).index, w.shape(n, k)))
    text = repr((n.op, n.source_op, own, attrs, inputs, len(n.outputs)))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
