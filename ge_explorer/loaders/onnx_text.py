"""Loader for ONNX written as text: a protobuf text file, or the notation of ``onnx.parser``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ge_explorer.errors import InputError
from ge_explorer.loaders.onnx_model import read_proto
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

TEXT_LIMIT = 64 * 1024 * 1024
"""Bytes of text read at most: the text parser is a hundred times slower than the binary one."""

_PROTO_FIELD = re.compile(
    r"^(ir_version|producer_name|producer_version|model_version|domain|doc_string|opset_import|graph|metadata_props)\s*[:{]"
)
_NOTATION = re.compile(r"^<\s*ir_version\s*:")


class OnnxTextLoader:
    """ONNX as text, recognised by its first field."""

    def sniff(self, source: Source) -> bool:
        """True for text that starts with a ModelProto field or with ``<ir_version:``."""
        if not source.is_text:
            return False
        head = _head(source)
        return bool(_NOTATION.match(head)) or (bool(_PROTO_FIELD.match(head)) and b"graph" in source.data)

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with line and column of the first error."""
        import onnx
        from google.protobuf import text_format  # type: ignore[import-untyped]

        if len(source.data) > TEXT_LIMIT:
            raise InputError("the text is too large", where=source.name, got=f"{len(source.data)} bytes",
                             todo="Convert it to binary ONNX.")  # fmt: skip
        try:
            text = source.data.decode("utf-8")
        except UnicodeDecodeError as e:
            raise InputError(
                "the text is not UTF-8", where=f"{source.name}, byte {e.start}", todo="Save it as UTF-8."
            ) from e
        if re.search(r'op_type:\s*"ge:', text[:200_000]) or re.search(r'producer_name:\s*"GE"', text[:4096]):
            raise InputError("this is a graph dump of GE, which is not read yet", where=source.name,
                             todo="Load the ONNX file of the network.")  # fmt: skip
        model = onnx.ModelProto()
        if _NOTATION.match(_head(source)):
            try:
                model = onnx.parser.parse_model(text)
            except (
                onnx.parser.ParseError,
                RuntimeError,
                LookupError,
                ValueError,
            ) as e:  # numbers out of range: C++ errors
                reason = " ".join(str(e).split())[:160]
                raise InputError(
                    "the ONNX text cannot be parsed", where=source.name, got=reason, todo="Correct it there."
                ) from e
            return read_proto(model, settings, source, "ONNX notation")
        try:
            text_format.Parse(text, model)
        except (text_format.ParseError, RecursionError) as e:
            reason = " ".join(str(e).split())[:160] or type(e).__name__
            raise InputError("the ONNX text cannot be parsed", where=f"{source.name}, line:column {reason.split(' : ')[0]}",
                             got=reason, todo="Correct it there, or convert the model to binary ONNX.") from e  # fmt: skip
        return read_proto(model, settings, source, "ONNX text")


def _head(source: Source) -> str:
    lines = source.head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#")).lstrip()


ONNX_TEXT = OnnxTextLoader()
