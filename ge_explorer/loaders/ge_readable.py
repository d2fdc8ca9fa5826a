"""Loader for GE's readable dump ``ge_readable_*.txt``.

``%y : [#users=1] = Node[type=Add] (inputs = (x1=%a, x2=%b), attrs = {axis: 0})``, ``get_element[node=%n](1)`` for one
output of several, ``return (%y)``. Two dialects: argument names in the inputs or not, ``#users`` or ``users``. The form
holds no control edges, streams, shapes or types (graph_metadef/graph/utils/readable_dump.cc).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError, shorten
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_dtypes import ge_dtype
from ge_explorer.loaders.ge_readable_values import Braces, read_braces, split_items
from ge_explorer.loaders.ge_records import DescRecord, GraphRecord, ModelRecord, OpRecord
from ge_explorer.loaders.pbtxt import as_text, text_head
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

LINE_LIMIT = 1024 * 1024
"""Bytes of one line. GE shortens constants, so real lines are a few kilobytes."""
_GRAPH = re.compile(r'graph\("(?P<name>.*)"\):\Z')
# The atomic group fixes where the name ends, so that a hostile line costs one walk over it.
_NODE = re.compile(r"%(?>(?P<name>.+?) : \[#?users=\d{1,9}\] = )Node\[type=(?P<type>[^\]]*+)\] \((?P<rest>.*)\)\Z")
_ELEMENT = re.compile(
    r"%(?>(?P<name>.+?) : \[#?users=\d{1,9}\] = )get_element\[node=%(?P<node>.+)\]\((?P<index>\d{1,9})\)\Z"
)
_RETURN = re.compile(r"return \((?P<rest>.*)\)\Z")


class GeReadableLoader:
    """Readable dump, recognised by its first line ``graph("…"):``."""

    def sniff(self, source: Source) -> bool:
        """True for text that starts with ``graph("``."""
        return source.is_text and text_head(source).startswith('graph("')

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with the line."""
        return build(read_model(source), source, settings)


GE_READABLE = GeReadableLoader()


def read_model(source: Source) -> ModelRecord:
    """Records of the file: the first graph is the root, the others are its subgraphs."""
    reader = _Reader(source)
    at = 0
    for number, raw in enumerate(source.data.split(b"\n"), 1):
        if len(raw) > LINE_LIMIT:
            raise reader.error("a line is too long", number, f"{len(raw)} bytes")
        text = as_text(raw).strip(" \t\r\ufeff")
        if text and not text.startswith("#"):
            reader.line(text, number, at)
        at += len(raw) + 1
    model = ModelRecord("ge_readable", reader.graphs)
    if not reader.graphs:
        raise reader.error("the dump holds no graph", 1)
    names = {g.name for g in reader.graphs}
    for op, wanted in reader.links:
        op.subgraphs = [w for w in wanted if w in names]
    model.counts = {
        "get_element_lines": reader.elements, "input_references": reader.references, "returns": reader.returns,
        "stream_id_histogram": {},
    }  # fmt: skip
    return model


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.graphs: list[GraphRecord] = []
        self.links: list[tuple[OpRecord, list[str]]] = []
        self.elements = self.references = 0
        self.returns: list[str] = []
        self._value: dict[str, tuple[str, int]] = {}

    def error(self, what: str, number: int, got: object = None) -> InputError:
        return InputError(
            f"this readable dump cannot be read: {what}", where=f"{self.source.name}, line {number}", got=got,
            todo="Copy or dump the file again.",
        )  # fmt: skip

    def line(self, text: str, number: int, at: int) -> None:
        m = _GRAPH.match(text)
        if m:
            self.graphs.append(GraphRecord(m["name"], at=at))
            self._value = {}
            return
        if not self.graphs:
            raise self.error("the first line names no graph", number, text)
        m = _NODE.match(text)
        if m:
            self._node(m, number, at)
            return
        m = _ELEMENT.match(text)
        if m:
            self.elements += 1
            if m["node"] not in self._value:
                raise self.error("get_element names an operator that is not above it", number, m["node"])
            self._value[m["name"]] = (m["node"], int(m["index"]))
            return
        m = _RETURN.match(text)
        if m:
            self.returns.append(text)
            self.graphs[-1].results = [link for _, link in self._links(m["rest"], number)]
            return
        raise self.error("this line is neither a node, an output nor a return (or it is cut off)", number, text)

    def _node(self, m: re.Match[str], number: int, at: int) -> None:
        op = OpRecord(m["name"], m["type"], at=at)
        for key, _, value in (self._part(p, number) for p in self._split(m["rest"], number)):
            if key == "inputs":
                pairs = self._links(value[1:-1], number)
                op.inputs = [link for _, link in pairs]
                self.references += len(pairs)
                names = tuple(n for n, _ in pairs)
                if any(names):
                    op.attrs["_gx_input_names"] = names
            elif key == "attrs":
                self._attrs(op, value, number)
            else:
                raise self.error("a node holds inputs and attrs only", number, key)
        dst = op.attrs.get("dst_type")
        if op.type == "Cast" and isinstance(dst, int):
            op.outputs = [DescRecord(dtype=ge_dtype(dst))]
        if op.name in self._value:
            raise self.error("two lines give the same name", number, op.name)
        self._value[op.name] = (op.name, 0)
        self.graphs[-1].ops.append(op)

    def _part(self, part: str, number: int) -> tuple[str, str, str]:
        key, equal, value = part.partition("=")
        if not equal:
            raise self.error("a part of the node is not name = value", number, part)
        return key.strip(), equal, value.strip()

    def _split(self, text: str, number: int) -> list[str]:
        try:
            return split_items(text)
        except Braces as e:
            raise self.error(str(e), number, shorten(text)) from None

    def _links(self, text: str, number: int) -> list[tuple[str, tuple[str, int] | None]]:
        out: list[tuple[str, tuple[str, int] | None]] = []
        for item in self._split(text, number):
            name, percent, value = item.partition("%")
            if not percent:
                out.append((name.rstrip("= "), None))
                continue
            if value not in self._value:
                raise self.error("an input names a value that is not above it", number, f"%{value}")
            out.append((name.rstrip("= "), self._value[value]))
        return out

    def _attrs(self, op: OpRecord, text: str, number: int) -> None:
        if not (text.startswith("{") and text.endswith("}")):
            raise self.error("attrs are not closed", number, shorten(text))
        wanted: list[str] = []
        for item in self._split(text[1:-1], number):
            key, colon, raw = item.partition(":")
            if not colon:
                raise self.error("an attribute is not name: value", number, shorten(item))
            try:
                value: Any = read_braces(raw.strip())
            except Braces as e:
                raise self.error(str(e), number, shorten(raw)) from None
            if isinstance(value, str) and raw.strip().startswith("%"):
                wanted.append(value.removeprefix("%"))
            op.attrs[key.strip()] = value
        if wanted:
            self.links.append((op, wanted))
