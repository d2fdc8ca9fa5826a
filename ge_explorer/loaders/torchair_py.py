"""Loader for torchair's ``.py`` dump: ``Add_1_0 = ge.Add(x, y, node_name="Add_1")``. Read as text; never executed.

Only the statements are looked at (``ast.parse``); anything but assignments of ``ge.…`` calls is skipped. Source: torchair
python/torchair/ge/_ge_graph.py (add_python_code).
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_records import CONTROL, GraphRecord, ModelRecord, OpRecord
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

TEXT_LIMIT = 32 * 1024 * 1024
STATEMENT_LIMIT = 200_000
"""Characters of one statement (a constant written out may be long)."""
BRACKET_LIMIT = 50
_IMPORT = re.compile(rb"^from torchair\.[\w.]+ import ge_apis as ge\s*$", re.MULTILINE)
_CALL = re.compile(rb"^[A-Za-z_][^=\n]*= ge\.\w+\(", re.MULTILINE)


class TorchairPyLoader:
    """torchair's Python dump, recognised by its import of ``ge_apis``."""

    def sniff(self, source: Source) -> bool:
        """True when the first 4 KiB import torchair's GE functions and a call of one follows."""
        return source.is_text and _IMPORT.search(source.head) is not None and _CALL.search(source.data) is not None

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Read the statements. InputError with the line; nothing is executed."""
        if len(source.data) > TEXT_LIMIT:
            raise InputError("the text is too large", where=source.name, got=f"{len(source.data)} bytes",
                             todo="Dump as txt: config.debug.graph_dump.type = 'txt'.")  # fmt: skip
        reader = _Reader(source)
        for number, text in _statements(source):
            reader.statement(number, text)
        model = ModelRecord("torchair py", [GraphRecord("graph", reader.ops)])
        model.counts = {"stream_id_histogram": {}}
        return build(model, source, settings)


TORCHAIR_PY = TorchairPyLoader()


def _statements(source: Source) -> list[tuple[int, str]]:
    """(line, text) of the calls. torchair writes one per line; a string may hold escapes, never a line end."""
    text = source.data.decode("utf-8", "replace")
    return [
        (k, line.strip()) for k, line in enumerate(text.split("\n"), 1) if "= ge." in line and not line.startswith("#")
    ]


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.ops: list[OpRecord] = []
        self._value: dict[str, tuple[str, int]] = {}
        self._names: set[str] = set()

    def error(self, what: str, number: int, got: object = None) -> InputError:
        return InputError(f"this torchair dump cannot be read: {what}", where=f"{self.source.name}, line {number}", got=got,
                          todo="Dump it again, or dump as txt: config.debug.graph_dump.type = 'txt'.")  # fmt: skip

    def statement(self, number: int, text: str) -> None:
        if len(text) > STATEMENT_LIMIT:
            raise self.error("a statement is too long", number, f"{len(text)} characters")
        if max(text.count(c) for c in "([{-~") > BRACKET_LIMIT * 100 or _depth(text) > BRACKET_LIMIT:
            raise self.error(f"brackets are nested deeper than {BRACKET_LIMIT}", number)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # odd literals are the file's affair
                tree = ast.parse(text, mode="exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            raise self.error("a statement is broken or cut off", number, str(e)) from None
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                self._call(node, node.value, number)

    def _call(self, node: ast.Assign, call: ast.Call, number: int) -> None:
        f = call.func
        if not (isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "ge"):
            return
        words = {k.arg: k.value for k in call.keywords if k.arg}
        given = words.pop("node_name", None)
        targets = _targets(node.targets[0])
        name = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""
        name = name or (targets[0] if targets else f.attr)
        base, k = name, 0
        while name in self._names:
            k += 1
            name = f"{base}_{k}"
        self._names.add(name)
        op = OpRecord(name, f.attr)
        for value in call.args:
            self._argument(op, f"arg{len(op.attrs)}", value, number)
        control = words.pop("dependencies", None)
        for key, value in words.items():
            self._argument(op, key, value, number)
        if control is not None:
            for e in _flat(control):
                if isinstance(e, ast.Name) and e.id in self._value:
                    op.inputs.append((self._value[e.id][0], CONTROL))
        for index, target in enumerate(targets):
            self._value[target] = (name, index)
        self.ops.append(op)

    def _argument(self, op: OpRecord, key: str, value: ast.expr, number: int) -> None:
        parts = _flat(value)
        if any(isinstance(e, ast.Name) and e.id in self._value for e in parts):
            for e in parts:
                if isinstance(e, ast.Name) and e.id in self._value:
                    op.inputs.append(self._value[e.id])
            return
        if isinstance(value, ast.Name) and value.id not in ("None", "True", "False", "tensor"):
            raise self.error("an argument names a value that is not above it", number, value.id)
        op.attrs[key] = _literal(value)


def _targets(e: ast.expr) -> list[str]:
    return [x.id for x in _flat(e) if isinstance(x, ast.Name)]


def _flat(e: ast.expr) -> list[ast.expr]:
    """The expression, or the members of a list or tuple (also nested)."""
    out: list[ast.expr] = []
    todo = [e]
    while todo:
        x = todo.pop()
        if isinstance(x, ast.List | ast.Tuple):
            todo.extend(reversed(x.elts))
        else:
            out.append(x)
    return out


def _literal(e: ast.expr) -> Any:
    """Plain value of an argument, else its text."""
    try:
        value = ast.literal_eval(e)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ast.unparse(e)[:2000]
    return (
        tuple(value)
        if isinstance(value, list)
        else value
        if isinstance(value, int | float | str | tuple)
        else str(value)
    )


def _depth(text: str) -> int:
    deepest = depth = 0
    for c in re.finditer(r"[(\[{)\]}]", text):
        depth += 1 if c[0] in "([{" else -1
        deepest = max(deepest, depth)
    return deepest
