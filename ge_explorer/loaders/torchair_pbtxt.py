"""Loader for torchair's ``.pbtxt`` dump: GE operators in the notation of a TensorFlow graph.

``node { name op input… attr { key value { s: "<text of the attribute>" } } }``; ``^name`` is a control input, the
descriptors are attributes ``[i]x`` and ``[o]y`` whose text is read a second time. Source: torchair
python/torchair/_ge_concrete_graph/utils.py (convert_to_pbtxt).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ge_explorer.errors import InputError, shorten
from ge_explorer.loaders.ge_attributes import attribute, desc, fold_entry
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_records import CONTROL, GraphRecord, ModelRecord, OpRecord, split_input
from ge_explorer.loaders.pbtxt import Fold, Message, parse, text_head
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

_OP_FIELD = re.compile(rb'(?:^|[\s{])op\s*:\s*["\']')
_FOLDS: dict[str, Fold] = {"attr": fold_entry}


class TorchairPbtxtLoader:
    """TensorFlow graph notation, recognised by ``node {`` with ``op:`` fields."""

    def sniff(self, source: Source) -> bool:
        """True for text that starts with ``node {`` and has ``op: "…"`` (ONNX writes ``op_type``)."""
        return (
            source.is_text
            and re.match(r"node\s*[{<]", text_head(source)) is not None
            and _OP_FIELD.search(source.data) is not None
        )

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with byte, line or node; a real TensorFlow graph is refused by name."""
        top = parse(source.data, source.name, {"node": _node})
        ops = [o for o in top.all("node") if isinstance(o, OpRecord)]
        if ops and not any(op.outputs or op.input_descs for op in ops):
            raise InputError(
                "this is a TensorFlow graph, not a dump of torchair (it has no [o] descriptors)", where=source.name,
                todo="Convert it to ONNX (tf2onnx).",
            )  # fmt: skip
        graph = GraphRecord(Path(source.name).stem or "graph", ops)
        return build(ModelRecord("torchair pbtxt", [graph]), source, settings)


TORCHAIR_PBTXT = TorchairPbtxtLoader()


def _node(m: Message) -> OpRecord:
    name = m.text("name")
    if not name:
        raise InputError("a node has no name", got=m.text("op") or None, todo="Dump the graph again.")
    op = OpRecord(name, m.text("op"), at=m.at)
    for text in m.texts("input"):
        op.inputs.append((text[1:], CONTROL) if text.startswith("^") else split_input(text))
    for entry in m.all("attr"):
        if not isinstance(entry, Message):
            continue
        key = entry.text("key")
        raw = entry.last("value", Message, Message()).last("s", bytes, b"")
        inner = parse(raw, f"attribute {shorten(key, 40)} of node {shorten(name)}", _FOLDS)
        if key.startswith("[o]"):
            op.outputs.append(desc(inner))
        elif key.startswith("[i]"):
            op.input_descs.append(desc(inner))
        else:
            op.attrs[key] = attribute(inner)
    return op
