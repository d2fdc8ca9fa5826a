"""A folder of dumps of one compilation: files in any order, with gaps and doubles, to stages in compilation order.

File names (graph_metadef/graph/utils/graph_utils.cc GenDumpTxtFileName): ``ge_proto_00000012_graph_11_Build.txt``; older
``ge_proto_00015_Build.txt``; torchair ``dynamo_original_graph_1_rank_0_pid_7_ts_….txt``. The name gives number and stage
only; what a file is, its content says.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ge_explorer.errors import InputError
from ge_explorer.issue import Issue
from ge_explorer.loaders.report import LoadReport, LoadResult
from ge_explorer.loaders.source import Source, read_source
from ge_explorer.loaders.staged_align import align
from ge_explorer.text import Text

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

FILE_LIMIT = 2000
BYTES_LIMIT = 4 * 1024**3
_GE = re.compile(
    r"^(?P<prefix>aclop_)?ge_(?P<form>proto|onnx|readable)_(?P<index>\d{1,10})_(?:graph_(?P<graph>\d{1,10})_)?(?P<stage>.+?)"
    r"\.(?:txt|pbtxt)$",
    re.ASCII,
)
_DYNAMO = re.compile(r"^dynamo_(?P<what>original|optimized)_(?P<graph>.*?)(?:_rank_\d+)?(?:_pid_\d+)?(?:_ts_(?P<time>\d+))?"
                     r"\.(?:txt|pbtxt|py)$", re.ASCII)  # fmt: skip
_RICHEST = {"proto": 0, "onnx": 1, "readable": 2}


@dataclass(frozen=True, slots=True)
class StageName:
    """What a file name says. ``index`` None: no number, so the file stands before the numbered ones, by name."""

    stage: str
    index: int | None = None
    graph: str = ""
    form: str = ""
    file: str = ""

    @property
    def key(self) -> tuple[bool, int, str, int, str]:
        """Sort key: number, stage, richest form first."""
        return (self.index is not None, self.index or 0, self.stage, _RICHEST.get(self.form, 3), self.file)


@dataclass(frozen=True, eq=False)
class Stage:
    """One dump of the compilation. ``missing_before`` counts the numbers that have no file in front of it.

    Ids of nodes, tensors and scopes are the same over all stages of a folder, by name.
    """

    name: str
    index: int | None
    file: str
    result: LoadResult
    missing_before: int = 0


Reader = Callable[[Source], LoadResult]


def stage_name(file: str) -> StageName:
    """Number, graph and stage of a dump's file name.

    >>> stage_name("ge_proto_00000012_graph_11_PreRunAfterBuild.txt")
    StageName(stage='PreRunAfterBuild', index=12, graph='11', form='proto', file='ge_proto_00000012_graph_11_PreRunAfterBuild.txt')
    """
    m = _GE.match(file)
    if m is not None:
        return StageName(m["stage"], int(m["index"]), m["graph"] or "", m["form"], file)
    m = _DYNAMO.match(file)
    if m is not None:
        return StageName(f"dynamo {m['what']}", 0 if m["what"] == "original" else 1, "", "proto", file)
    return StageName(Path(file).stem, None, "", "", file)


def read_folder(folder: Path, read: Reader, settings: LoadSettings, graph: str = "") -> LoadResult:
    """All dumps of a folder as stages; ``graph`` chooses a graph id where the folder holds several.

    The result is that of the last stage, with ``stages`` filled. A file that is no dump or is damaged is left out with a
    finding. InputError when no file can be read.
    """
    names = _list(folder)
    skipped: list[str] = []
    doubles: list[str] = []
    found: list[tuple[StageName, LoadResult]] = []
    seen_bytes: dict[tuple[str, int | None], str] = {}
    seen: dict[tuple[int | None, str], list[StageName]] = {}
    total = 0
    for name in sorted((stage_name(n) for n in names), key=lambda s: s.key):
        rivals = seen.setdefault((name.index, name.stage), [])
        if name.index is not None and any(not r.graph or not name.graph or r.graph == name.graph for r in rivals):
            doubles.append(name.file)
            continue
        try:
            source = read_source(folder / name.file, settings.limit)
            total += len(source.data)
            if total > BYTES_LIMIT:
                raise InputError("the folder is too large", where=str(folder), got=f"more than {BYTES_LIMIT} bytes",
                                 todo="Move the stages of interest to a folder of their own.")  # fmt: skip
            digest = (hashlib.sha256(source.data).hexdigest(), name.index)
            if digest in seen_bytes:
                doubles.append(name.file)
                continue
            result = read(source)
        except InputError as e:
            skipped.append(f"{name.file}: {e.what}")
            continue
        if result.recorded is None:
            skipped.append(f"{name.file}: {result.report.format} is no compiler dump")
            continue
        if result.recorded.buffers or not len(result.graph):
            skipped.append(f"{name.file}: {result.report.format} holds no graph")
            continue
        seen_bytes[digest] = name.file
        rivals.append(name)
        found.append((name, result))
    if not found:
        raise InputError("this folder holds no compiler dump", where=str(folder), got=skipped[:3] or None,
                         todo="Give a folder written with DUMP_GE_GRAPH=2, or one file.")  # fmt: skip
    found, others = _one_graph(found, graph, folder)
    return _result(found, others, skipped, doubles, folder)


def _list(folder: Path) -> list[str]:
    """Plain files of the folder. Links that lead out of it are not followed."""
    try:
        home = folder.resolve(strict=True)
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as e:
        raise InputError(
            "the folder cannot be read", where=str(folder), got=str(e), todo="Check its permissions."
        ) from e
    names: list[str] = []
    for entry in entries:
        try:
            if entry.name.startswith(".") or not entry.is_file():
                continue
            if entry.is_symlink() and home not in Path(entry.path).resolve().parents:
                continue
        except OSError:  # links in a circle
            continue
        names.append(entry.name)
    if len(names) > FILE_LIMIT:
        raise InputError("the folder holds too many files", where=str(folder), got=len(names),
                         todo=f"At most {FILE_LIMIT}: move the dumps of one graph to a folder of their own.")  # fmt: skip
    return names


def _one_graph(
    found: list[tuple[StageName, LoadResult]], graph: str, folder: Path
) -> tuple[list[tuple[StageName, LoadResult]], list[str]]:
    """The stages of one graph: the chosen one, else the one with most stages. Files without a graph id go along."""
    ids = Counter(n.graph for n, _ in found if n.graph)
    if graph and graph not in ids:
        raise InputError(f"no dump of graph {graph}", where=str(folder), got=", ".join(sorted(ids)) or None,
                         todo="Give one of these ids.")  # fmt: skip
    if len(ids) < 2:
        return found, []
    chosen = graph or max(sorted(ids), key=lambda g: ids[g])
    return [(n, r) for n, r in found if n.graph in ("", chosen)], sorted(set(ids) - {chosen})


def _result(found: list[tuple[StageName, LoadResult]], others: list[str], skipped: list[str], doubles: list[str],
            folder: Path) -> LoadResult:  # fmt: skip
    results = align([r for _, r in found])
    stages: list[Stage] = []
    used: Counter[str] = Counter()
    previous: int | None = None
    for (name, _), result in zip(found, results, strict=True):
        used[name.stage] += 1
        label = name.stage if used[name.stage] == 1 else f"{name.stage} #{used[name.stage]}"
        gap = 0
        if name.index is not None and previous is not None and name.form and not others:
            gap = max(name.index - previous - 1, 0)
        previous = name.index if name.index is not None else previous
        if result.recorded is not None:
            result = replace(result, recorded=replace(result.recorded, stage=label))
        stages.append(Stage(label, name.index, name.file, result, gap))
    last = stages[-1].result
    report = LoadReport(
        "folder of dumps", str(folder.name), _found(stages), _missing(stages, others) + last.report.missing,
        tuple(_issues(skipped, doubles)) + last.report.issues, {**last.report.counts, "stages": [s.name for s in stages]},
    )  # fmt: skip
    return LoadResult(last.graph, report, last.recorded, tuple(stages))


def _found(stages: list[Stage]) -> tuple[Text, ...]:
    out = [
        Text("{n} stages of one compilation; the last one is shown", "同一次编译的 {n} 个阶段；显示最后一个").format(
            n=len(stages)
        )
    ]
    for s in stages:
        number = "" if s.index is None else f"{s.index} "
        nodes, form = len(s.result.graph), s.result.report.format
        out.append(
            Text("{i}{s}: {n} nodes ({f})", "{i}{s}：{n} 个节点（{f}）").format(i=number, s=s.name, n=nodes, f=form)
        )
    return tuple(out)


def _missing(stages: list[Stage], others: list[str]) -> tuple[Text, ...]:
    out = []
    for s in stages:
        if s.missing_before:
            out.append(
                Text(
                    "{n} dumps before {s}: their numbers are not in the folder", "{s} 之前缺少 {n} 个转储：编号不连续"
                ).format(n=s.missing_before, s=s.name)
            )
    if others:
        out.append(
            Text("stages of other graphs in the folder: {s}", "文件夹中其他图的阶段：{s}").format(
                s=", ".join(others[:8])
            )
        )
    return tuple(out)


def _issues(skipped: list[str], doubles: list[str]) -> list[Issue]:
    out = []
    for code, texts, text in (
        ("GX334", skipped, Text("{n} files were left out: {s}", "略去 {n} 个文件：{s}")),
        (
            "GX335",
            doubles,
            Text("{n} files show a stage that another file shows better: {s}", "{n} 个文件与其他文件重复：{s}"),
        ),
    ):
        if texts:
            shown = "; ".join(texts[:3]) + (" …" if len(texts) > 3 else "")
            out.append(Issue(code, "note", text.format(n=len(texts), s=shown)))
    return out
