"""Loader for the JSON that ``atc --mode=1`` writes of an offline model, and ``--mode=5`` of a dump: ModelDef by field name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError
from ge_explorer.loaders.ge_attributes import fold_entry
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_proto import model_record, op_record
from ge_explorer.loaders.pbtxt import DEPTH_LIMIT, INT_RANGE, Fold, Message, Word, text_head
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

_FOLDS: dict[str, Fold] = {"attr": fold_entry, "op": op_record}
_QUOTED = frozenset({"s", "bt", "data", "name", "type", "input", "output", "key", "layout", "subgraph_name", "expression",
                     "src_name", "dst_name", "input_name", "device_type", "cmps_tab", "custom_version"})  # fmt: skip


class GeJsonLoader:
    """ModelDef as JSON, recognised by an object with ``"graph"`` and ``"op"``."""

    def sniff(self, source: Source) -> bool:
        """True for a JSON object that holds a list ``"op"`` inside ``"graph"``."""
        if not source.is_text or not text_head(source).startswith("{"):
            return False
        return (
            re.search(rb'"graph"\s*:\s*[\[{]', source.data) is not None
            and re.search(rb'"op"\s*:\s*\[', source.data) is not None
        )

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with line and column, or the node."""
        try:
            raw = json.loads(source.data.decode("utf-8-sig"))
        except UnicodeDecodeError as e:
            raise InputError(
                "the text is not UTF-8", where=f"{source.name}, byte {e.start}", todo="Save it as UTF-8."
            ) from e
        except json.JSONDecodeError as e:
            raise InputError("this is no JSON", where=f"{source.name}, line {e.lineno}, column {e.colno}", got=e.msg,
                             todo="The file is cut: write it again.") from None  # fmt: skip
        except (ValueError, RecursionError) as e:
            raise InputError("this JSON is too deep or holds an impossible number", where=source.name, got=str(e)[:80],
                             todo="Write the file again.") from None  # fmt: skip
        try:
            model = model_record(_message(raw, 0))
        except InputError as e:
            raise InputError(e.what, where=e.where or source.name, got=e.got, todo=e.todo) from None
        model.format = "GE JSON (ModelDef)"
        return build(model, source, settings)


GE_JSON = GeJsonLoader()


def _message(raw: Any, depth: int) -> Message:
    if not isinstance(raw, dict):
        raise InputError("an object is expected here", got=raw, todo="Write the file again with atc --mode=1.")
    if depth > DEPTH_LIMIT:
        raise InputError(f"objects are nested deeper than {DEPTH_LIMIT}", todo="Write the file again.")
    m = Message()
    for key, value in raw.items():
        for v in value if isinstance(value, list) else [value]:
            m.fields.setdefault(key, []).append(_value(key, v, depth))
        if value == []:
            m.fields[key] = []
    return m


def _value(key: str, v: Any, depth: int) -> Any:
    if isinstance(v, dict):
        inner = _message(v, depth + 1)
        return _FOLDS[key](inner) if key in _FOLDS else inner
    if isinstance(v, str):
        # 64-bit numbers are texts in protobuf's JSON
        if key not in _QUOTED and re.fullmatch(r"-?\d{1,20}", v, re.ASCII):
            v = int(v)
        else:
            return v.encode("utf-8", "surrogatepass") if key in _QUOTED else Word(v)
    if isinstance(v, int) and not isinstance(v, bool) and not INT_RANGE[0] <= v <= INT_RANGE[1]:
        raise InputError("a number does not fit 64 bits", got=str(v)[:40], todo="Write the file again.")
    if isinstance(v, int | float | bool):
        return v
    return b""
