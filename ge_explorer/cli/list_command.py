"""``ge-explorer list``: what there is to name."""

from __future__ import annotations

import argparse
from typing import Any

from ge_explorer.cli import arguments as shared
from ge_explorer.text import Text
from ge_explorer.trace.passes import CHAPTERS

WHAT = ("passes", "examples", "chips", "modes", "formats")
FORMATS = {
    "onnx": Text("ONNX model (.onnx), weights beside it or inside", "ONNX 模型（.onnx），权重在文件内或旁边"),
    "onnx-text": Text("ONNX as protobuf text or in ONNX's own notation", "ONNX 文本（protobuf 文本或 ONNX 记法）"),
    "ge-proto": Text("GE dump ge_proto_*.txt, also torchair's txt", "GE 转储 ge_proto_*.txt，含 torchair 的 txt"),
    "ge-onnx": Text("GE dump ge_onnx_*.pbtxt", "GE 转储 ge_onnx_*.pbtxt"),
    "ge-readable": Text("GE dump ge_readable_*.txt", "GE 转储 ge_readable_*.txt"),
    "ge-json": Text("JSON that atc --mode=1 makes of an .om", "atc --mode=1 由 .om 生成的 JSON"),
    "ge-log": Text("GE log (plog) with [IMAS] lines", "含 [IMAS] 行的 GE 日志（plog）"),
    "torchair-fx": Text("FX graph text from a torchair log", "torchair 日志中的 FX 图文本"),
    "torchair-pbtxt": Text("torchair dump .pbtxt", "torchair 转储 .pbtxt"),
    "torchair-py": Text("torchair dump .py (read, never executed)", "torchair 转储 .py（只读取，不执行）"),
    "own-json": Text("this program's own JSON", "本工具的 JSON"),
    "om": Text("offline model .om: recognised, header shown, not opened", "离线模型 .om：识别并显示文件头，不打开"),
}
"""What ``load`` recognises, by the name of its loader; a folder of dumps is read as the stages of one compilation."""


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    p.add_argument("what", choices=WHAT)
    shared.json_flag(p)
    shared.language(p)


def rows(what: str, lang: str = "en") -> list[dict[str, Any]]:
    """One row per thing, JSON-able."""
    if what == "passes":
        return _passes(lang)
    if what == "examples":
        from ge_explorer import examples

        found = [examples.get(n) for n in examples.names()]
        return [
            {"name": e.name, "text": e.title.get(lang), "lesson": e.lesson.get(lang), "nodes": len(e.graph)}
            for e in found
        ]
    if what == "modes":
        from ge_explorer import pipelines

        return [{"name": k, "text": t.get(lang), "options": dict(o)} for k, (t, o) in pipelines.MODES.items()]
    if what == "formats":
        from ge_explorer.loaders import LOADERS

        return [{"name": n, "text": FORMATS[n].get(lang) if n in FORMATS else n} for n in LOADERS.names()]
    from ge_explorer.device.chips import CHIPS

    return [
        {"name": c.name, "text": f"{c.aic} cube / {c.aiv} vector cores", "aic": c.aic, "aiv": c.aiv}
        for c in CHIPS.values()
    ]


def _passes(lang: str) -> list[dict[str, Any]]:
    """Every step of both compile paths in GE's order: first the known-shape path, then what only unknown shapes run."""
    from ge_explorer import pipelines

    found: dict[str, tuple[Any, list[str]]] = {}
    for path, steps in pipelines.presets().items():
        for i in steps:
            found.setdefault(i.key, (i.pass_, []))[1].append(path)
    return [
        {
            "name": key, "text": p.title.get(lang), "chapter": p.chapter, "ge_name": _ge_name(p), "source": p.source,
            "fidelity": p.fidelity, "modelled": p.modelled, "summary": p.summary.get(lang), "pipelines": paths,
            "members": [m.ge_name for m in getattr(p, "members", ())],
        }
        for key, (p, paths) in found.items()
    ]  # fmt: skip


def _ge_name(p: Any) -> str:
    """GE's name of the step; for a part of GE that is no registered pass, the function its source names."""
    named = p.ge_name or (p.source.rpartition(": ")[2] if p.source.startswith(("compiler/", "graph_metadef/")) else "")
    return str(named)


def _print_passes(found: list[dict[str, Any]], lang: str) -> None:
    width, names = max(len(r["name"]) for r in found), max(len(r["ge_name"]) for r in found)
    words = {"exact": Text("exact", "精确"), "simplified": Text("simplified", "简化"), "ours": Text("ours", "我们的")}
    absent = Text("not modelled", "未建模")
    chapter = ""
    for r in found:
        if r["chapter"] != chapter:
            chapter = r["chapter"]
            print(f"{CHAPTERS[chapter].get(lang)}:")
        word = (words[r["fidelity"]] if r["modelled"] else absent).get(lang)
        print(f"  {r['name']:<{width}}  {r['ge_name'] or '–':<{names}}  {r['text']}  ({word})")
        if r["members"]:
            print(f"  {'':<{width}}  = {', '.join(r['members'])}")


def run(args: argparse.Namespace) -> int:
    """Print the rows."""
    found = rows(args.what, args.lang)
    if args.json:
        shared.print_json(found)
    elif args.what == "passes":
        _print_passes(found, args.lang)
    else:
        width = max(len(r["name"]) for r in found)
        for r in found:
            print(f"{r['name']:<{width}}  {r['text']}")
    return 0
