"""Files to graphs. ``load(anything)`` recognises the content (never the extension) and returns graph and report.

One file per format with ``sniff(source) -> bool`` and ``read(source, settings) -> LoadResult``, one line in ``LOADERS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fsdecode
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from ge_explorer import examples
from ge_explorer.device.profile import Profile, ProfileSource, load_profile, match_profile, with_profile
from ge_explorer.errors import GraphError, InputError, OptionError
from ge_explorer.graph.collector import collector_paused
from ge_explorer.graph.model import Graph
from ge_explorer.loaders.limits import without_impossible_sizes
from ge_explorer.loaders.onnx_inputs import check_input_shapes
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.source import SIZE_LIMIT, Source, is_folder, read_source, refuse_known_strangers
from ge_explorer.loaders.torch_kind import is_torch
from ge_explorer.registry import Registry
from ge_explorer.text import Text

__all__ = ["LOADERS", "LoadReport", "LoadResult", "LoadSettings", "Loader", "load"]


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How to read. ``dims`` gives values to symbolic dimensions, ``input_shapes`` shapes to inputs, ``check`` also runs the
    format's own checker, ``limit`` is the largest file in bytes, ``node_limit`` the largest graph after expansion.
    """

    dims: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    check: bool = True
    limit: int = SIZE_LIMIT
    node_limit: int = 500_000
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))


class Loader(Protocol):
    """A module that reads one format."""

    def sniff(self, source: Source) -> bool:
        """True when the content is this format (looked at by content, cheap)."""

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Graph and report; InputError when the content is damaged."""


LOADERS: Registry[Loader] = Registry(
    "loader",
    {
        "om": "ge_explorer.loaders.om:OM",
        "own-json": "ge_explorer.loaders.own_json:OWN_JSON",
        "ge-json": "ge_explorer.loaders.ge_json:GE_JSON",
        "ge-proto": "ge_explorer.loaders.ge_proto:GE_PROTO",
        "ge-onnx": "ge_explorer.loaders.ge_onnx:GE_ONNX",
        "ge-readable": "ge_explorer.loaders.ge_readable:GE_READABLE",
        "torchair-fx": "ge_explorer.loaders.torchair_fx:FX_TEXT",
        "torchair-pbtxt": "ge_explorer.loaders.torchair_pbtxt:TORCHAIR_PBTXT",
        "torchair-py": "ge_explorer.loaders.torchair_py:TORCHAIR_PY",
        "ge-log": "ge_explorer.loaders.plog:PLOG",
        "onnx": "ge_explorer.loaders.onnx_model:ONNX",
        "onnx-text": "ge_explorer.loaders.onnx_text:ONNX_TEXT",
    },
    group="ge_explorer.loaders",
)


@collector_paused()
def load(
    source: Any,
    example_inputs: Any = None,
    *,
    dims: Mapping[str, int] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    check: bool = True,
    limit: int = SIZE_LIMIT,
    node_limit: int = 500_000,
    profile: ProfileSource | None = None,
) -> LoadResult:
    """Graph and report of ``source``.

    ``source``: a path, bytes, an open binary file, an ``onnx.ModelProto``, a Graph, or the name of a built-in example
    (a file of the same name needs ``./`` in front). A folder of compiler dumps gives its last stage, and all of them in
    ``stages``. A PyTorch module is traced by torch.export with ``example_inputs``, a tuple of arguments or a mapping of
    keyword arguments (extra ``torch``). ``dims`` binds symbolic dimensions, such as ``{"batch": 8}``; ``input_shapes`` gives
    whole shapes to inputs of an ONNX model, such as ``{"x": (1, 3, 224, 224)}`` (-1: open). A model with an open dimension left
    has a root of unknown shape (``graph.root.dynamic``), which GE compiles another way. ``profile``: measured durations (CSV file,
    its text, or rows) for the nodes; the report says what was matched (GX520).

    Errors: InputError, with what is wrong, where, and what to do, for anything that cannot become a graph.

    >>> load("fork_join").report.format
    'example'
    """
    shapes = MappingProxyType(check_input_shapes(input_shapes))
    settings = LoadSettings(MappingProxyType(dict(dims or {})), check, limit, node_limit, shapes)
    if is_torch(source):
        from ge_explorer.loaders.torch_module import read_module

        result = read_module(source, example_inputs, settings)
    elif example_inputs is not None:
        raise OptionError("example inputs are for PyTorch modules", got=type(source).__name__, todo="Leave them out.")
    else:
        result = _load(source, settings)
    result = without_impossible_sizes(result)
    if shapes and not result.report.format.startswith("ONNX"):
        raise OptionError("input shapes can be given for ONNX models only", where=result.report.source,
                          got=result.report.format, todo="Leave them out.")  # fmt: skip
    return result if profile is None else _measured(result, load_profile(profile))


def _measured(result: LoadResult, profile: Profile) -> LoadResult:
    match = match_profile(result.graph, profile.rows)
    graph = with_profile(result.graph, match, profile.source)
    found = Text("{n} measured durations (profile)", "{n} 个实测时间（profile）").format(n=len(match.ns))
    report = replace(result.report, found=(*result.report.found, found), issues=(*result.report.issues, match.issue()))
    return replace(result, graph=graph, report=report)


def _load(source: Any, settings: LoadSettings) -> LoadResult:
    if isinstance(source, Graph):
        return LoadResult(source, LoadReport("graph", source.name, (_size(source),)))
    if isinstance(source, str) and source.partition(":")[0] in examples.names():
        return _example(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return _read(Source("<bytes>", bytes(source)), settings)
    if type(source).__module__.partition(".")[0] in ("onnx", "onnx_ml_pb2") and hasattr(source, "SerializeToString"):
        from ge_explorer.loaders.onnx_model import read_proto

        return read_proto(source, settings)
    if hasattr(source, "read") and not isinstance(source, str | PathLike):
        try:
            content = source.read()
        except (OSError, ValueError) as e:
            raise InputError("the open file cannot be read", got=str(e), todo="Open it in binary mode ('rb').") from e
        if not isinstance(content, bytes):
            raise InputError("the file is open as text", todo="Open it in binary mode ('rb').")
        return _read(Source(str(getattr(source, "name", "<file>")), content), settings)
    if isinstance(source, str | PathLike):
        if not fsdecode(source):
            raise InputError("the path is empty", todo="Give a file, a folder of dumps, or the name of an example.")
        path = Path(fsdecode(source))
        if is_folder(path):
            from ge_explorer.loaders.staged import read_folder

            return read_folder(path, lambda s: without_impossible_sizes(_read(s, settings)), settings)
        return _read(read_source(path, settings.limit), settings)
    raise InputError(
        "this object is not a model",
        got=type(source).__name__,
        todo="Give a path, bytes, an onnx model, a Graph or a name.",
    )


def _example(name: str) -> LoadResult:
    try:
        e = examples.get(name)
    except OptionError as error:
        raise InputError(error.what, where=name, todo=error.todo) from error
    return LoadResult(e.graph, LoadReport("example", name, (e.title, e.lesson, _size(e.graph))))


def _read(source: Source, settings: LoadSettings) -> LoadResult:
    if not source.data:
        raise InputError("there is no content", where=source.name, todo="Export the model again.")
    refuse_known_strangers(source)
    for name in LOADERS.names():
        loader = LOADERS.get(name)
        if loader.sniff(source):
            try:
                return loader.read(source, settings)
            except GraphError as e:
                raise InputError(f"the graph in this file is not sound: {e.what}", where=e.where or source.name, got=e.got,
                                 todo=e.todo) from e  # fmt: skip
    known = ", ".join(n for n in LOADERS.names() if n != "om")
    if source.is_text:
        raise InputError(
            "this text is not a graph in a format we know",
            where=source.name,
            got=source.head[:40].decode("utf-8", errors="replace"),
            todo=f"Formats read: {known}, and built-in examples.",
        )
    raise InputError(
        "this is not a model in a format we know",
        where=f"{source.name}, byte 0",
        got=source.data[:8].hex(" "),
        todo=f"Formats read: {known}, and built-in examples.",
    )


def _size(graph: Graph) -> Text:
    scopes = sum(s is not None for s in graph.scopes) - 1
    return Text(
        "{n} nodes, {e} data edges, {c} control edges, {s} subgraphs",
        "{n} 个节点，{e} 条数据边，{c} 条控制边，{s} 个子图",
    ).format(n=len(graph), e=len(graph.edges), c=len(graph.control), s=scopes)
