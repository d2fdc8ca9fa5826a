"""``ge-explorer list``: what there is to name."""

from __future__ import annotations

import argparse
from typing import Any

from ge_explorer.cli import arguments as shared
from ge_explorer.text import Text
from ge_explorer.trace.passes import CHAPTERS

WHAT = ("passes", "examples", "chips", "modes")


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
