"""Loader for GE's own dump ``ge_proto_*.txt``: protobuf text of a ModelDef, or of a bare GraphDef (torchair's txt).

Source of the fields: graph_metadef/proto/ge_ir.proto. proto3 leaves out zeros, so a missing ``id`` or ``stream_id`` is 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ge_explorer.errors import InputError, shorten
from ge_explorer.loaders.ge_attributes import attributes, desc, fold_entry
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_records import CONTROL, GraphRecord, ModelRecord, OpRecord, split_input
from ge_explorer.loaders.pbtxt import Fold, Message, parse, text_head
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

_MODEL = re.compile(
    r"^(graph\s*[{<]|(name|version|custom_version)\s*:|attr\s*[{<]\s*key\s*:|attr_groups\s*[{<])", re.ASCII
)
_OP = re.compile(rb"(?:^|[\s{<])op\s*[{<]")
INT32 = (-(2**31), 2**31 - 1)


class GeProtoLoader:
    """Text of a ModelDef or GraphDef, recognised by its first field and an ``op {``."""

    def sniff(self, source: Source) -> bool:
        """True for text that starts like a ModelDef or GraphDef and holds operators of GE's form."""
        if not source.is_text:
            return False
        head = text_head(source)
        if re.match(r"op\s*[{<]", head):
            return True
        return bool(_MODEL.match(head)) and (_OP.search(source.data) is not None or _only_graphs(head))

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with byte, line or node."""
        return build(read_model(source), source, settings)


GE_PROTO = GeProtoLoader()


def _only_graphs(head: str) -> bool:
    """A ModelDef whose graphs have no operator (yet): ``graph { name: "x" }`` without ONNX's ``node``."""
    return head.startswith("graph") and re.match(r"graph\s*[{<]\s*name\s*:", head) is not None


def read_model(source: Source) -> ModelRecord:
    """Records of the file."""
    top = parse(source.data, source.name, OP_FOLDS)
    return model_record(top)


def model_record(top: Message) -> ModelRecord:
    """Records of a parsed ModelDef or GraphDef."""
    bare = "op" in top and "graph" not in top
    graphs = [graph_record(top)] if bare else [graph_record(g) for g in top.all("graph") if isinstance(g, Message)]
    if not graphs:
        raise InputError("the dump holds no graph", todo="Dump it again.")
    attrs = {} if bare else attributes(top)
    return ModelRecord("ge_proto GraphDef" if bare else "ge_proto ModelDef", graphs, attrs)


def graph_record(m: Message) -> GraphRecord:
    """One GraphDef."""
    ops = [o for o in m.all("op") if isinstance(o, OpRecord)]
    return GraphRecord(m.text("name"), ops, attributes(m), [split_input(t) for t in m.texts("output")], m.at)


def op_record(m: Message) -> OpRecord:
    """One OpDef (used as a fold, so that the fields of an operator are dropped as soon as it is read)."""
    name = m.text("name")
    if not name:
        raise InputError("an operator has no name", got=m.text("type") or None, todo="Dump the graph again.")
    stream = m.integer("stream_id")
    if not INT32[0] <= stream <= INT32[1]:
        raise InputError(
            "a stream id does not fit 32 bits", where=f"node {shorten(name)}", got=stream, todo="Dump it again."
        )
    op = OpRecord(
        name, m.text("type"), [split_input(t) for t in m.texts("input")], attributes(m),
        [desc(d) for d in m.all("output_desc") if isinstance(d, Message)],
        [desc(d) for d in m.all("input_desc") if isinstance(d, Message)],
        id=m.integer("id"), stream=stream, implicit_stream="stream_id" not in m,
        input_offsets=m.integers("input_i"), output_offsets=m.integers("output_i"), workspace=m.integers("workspace"),
        workspace_bytes=m.integers("workspace_bytes"), subgraphs=m.texts("subgraph_name"), at=m.at,
    )  # fmt: skip
    written = set(m.fields) - {"name", "type", "input"}
    op.bare = not written
    _input_from_names(m, op)
    return op


def _input_from_names(m: Message, op: OpRecord) -> None:
    """Old dumps give edges in ``src_name``/``src_index`` only; where ``input`` is there, it wins (the others go stale).

    Only data inputs have an index: the names behind the last index are control predecessors.
    """
    if op.inputs:
        return
    names, indices = m.texts("src_name"), m.integers("src_index")
    rest = CONTROL if indices else 0
    op.inputs = [(n, indices[k] if k < len(indices) else rest) if n else None for k, n in enumerate(names)]


OP_FOLDS: dict[str, Fold] = {"attr": fold_entry, "op": op_record}
"""Folds for any text that holds OpDefs."""
