"""Loader for ONNX: binary protobuf, or an ``onnx.ModelProto`` already in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError
from ge_explorer.issue import Issue
from ge_explorer.loaders import onnx_report
from ge_explorer.loaders.onnx_census import census, require_text_names
from ge_explorer.loaders.onnx_convert import KIND, OPSETS, Converter
from ge_explorer.loaders.onnx_flatten import Flattener, flatten_issues
from ge_explorer.loaders.onnx_inputs import bind_inputs
from ge_explorer.loaders.onnx_records import Proto
from ge_explorer.loaders.onnx_shapes import infer
from ge_explorer.loaders.onnx_unknown import sources_of_unknown, with_unknown_scopes
from ge_explorer.loaders.onnx_wire import looks_like_model, top_fields
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

CHECK_LIMIT = 16 * 1024 * 1024
"""Bytes up to which ONNX's own checker also looks at the file (its verdict is a note, never a refusal)."""


class OnnxLoader:
    """Binary ONNX, recognised by its top-level fields."""

    def sniff(self, source: Source) -> bool:
        """True when the bytes start like a ModelProto."""
        return not source.data[:1].isspace() and looks_like_model(source.data)

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with the byte where a damaged file breaks off."""
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

        found, at, why = top_fields(source.data)
        if why:
            raise InputError(
                f"the ONNX file is damaged or cut off: {why}", where=f"{source.name}, byte {at} of {len(source.data)}",
                todo="Copy or export the file again.",
            )  # fmt: skip
        model = onnx.ModelProto()
        try:
            model.ParseFromString(source.data)
        except DecodeError as e:
            raise InputError(
                "the ONNX file is damaged inside", where=f"{source.name}, in one of {', '.join(dict.fromkeys(found))}",
                got=str(e), todo="Copy or export the file again.",
            ) from e  # fmt: skip
        return read_proto(model, settings, source)


ONNX = OnnxLoader()


def read_proto(
    model: Proto, settings: LoadSettings, source: Source | None = None, format_: str = "ONNX binary"
) -> LoadResult:
    """Graph and report of a parsed model. ``source`` None: the model came from memory."""
    import onnx

    if isinstance(model, onnx.GraphProto):
        model = onnx.helper.make_model(model)
    if not isinstance(model, onnx.ModelProto):
        raise InputError("this onnx object holds no graph", got=type(model).__name__, todo="Give a ModelProto.")
    name = source.name if source is not None else "<ModelProto>"
    try:
        return _convert(model, settings, source, format_, name)
    except UnicodeDecodeError as e:  # protobuf decodes names only when they are read
        raise InputError("a name in the file is not UTF-8 text", where=name, got=bytes(e.object[:40]),
                         todo="Copy or export the file again.") from e  # fmt: skip


def _convert(model: Proto, settings: LoadSettings, source: Source | None, format_: str, name: str) -> LoadResult:
    require_text_names(model, name)
    g = model.graph
    if not (len(g.node) or len(g.input) or len(g.output) or len(g.initializer)):
        raise InputError("the model has an empty graph", where=name, todo="Export the model again.")
    counts = census(model)
    flattener = Flattener(model, settings.node_limit)
    record = flattener.run()
    dims, input_issues = bind_inputs(record, settings.input_shapes, settings.dims)
    types = infer(record, model, dims)
    attrs: dict[str, Any] = {"_gx_format": format_, OPSETS: tuple(sorted(counts["opsets"].items()))}
    converter = Converter(types, g.name or Path(name).stem or "graph", attrs)
    graph = converter.run(record)
    opaque = {n.id for n in graph if (n.source_op, n.op, "none") in converter.mapped}
    graph = with_unknown_scopes(graph, sources_of_unknown(graph, KIND, opaque, not types.failure))
    issues: list[Issue] = flatten_issues(flattener, record) + input_issues
    issues += onnx_report.convert_issues(counts, converter, graph, types, _absent_files(converter, source))
    if settings.check and (source is None or len(source.data) <= CHECK_LIMIT):
        path = source.path if source is not None else None
        if not counts["external"]:
            issues += onnx_report.checker_issues(model)
        elif path is not None:
            issues += onnx_report.checker_issues(str(path))
    found = onnx_report.found(counts, converter, flattener, format_)
    missing = onnx_report.missing(counts, converter, graph, record)
    counts["graph_nodes"], counts["format"] = len(graph), format_
    return LoadResult(graph, LoadReport(format_, name, tuple(found), tuple(missing), tuple(issues), counts))


def _absent_files(converter: Converter, source: Source | None) -> list[str]:
    """Side files the model names that are not beside it. Names that leave the folder are never looked up."""
    names = dict.fromkeys(location for _, location in converter.external)
    if not names:
        return []
    folder = source.path.parent if source is not None and source.path is not None else None
    absent = []
    for location in names:
        if folder is None or not _is_beside(folder, location):
            absent.append(location)
    return absent


def _is_beside(folder: Path, location: str) -> bool:
    if not location or os.path.isabs(location) or ".." in Path(location).parts or "\0" in location:
        return False
    try:
        return (folder / location).is_file()
    except OSError:  # a name the file system does not take, such as one of 5,000 letters
        return False
