"""``ge-explorer list``: what there is to name."""

from __future__ import annotations

import argparse
from typing import Any

from ge_explorer.cli import arguments as shared

WHAT = ("passes", "examples", "chips", "modes")


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    p.add_argument("what", choices=WHAT)
    shared.json_flag(p)
    shared.language(p)


def rows(what: str, lang: str = "en") -> list[dict[str, Any]]:
    """One row per thing, JSON-able."""
    if what == "passes":
        from ge_explorer import pipelines

        return [
            {
                "name": i.key, "text": i.pass_.title.get(lang), "chapter": i.pass_.chapter, "ge_name": i.pass_.ge_name,
                "source": i.pass_.source, "fidelity": i.pass_.fidelity, "summary": i.pass_.summary.get(lang),
            }
            for i in pipelines.static()
        ]  # fmt: skip
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


def run(args: argparse.Namespace) -> int:
    """Print the rows."""
    found = rows(args.what, args.lang)
    if args.json:
        shared.print_json(found)
    else:
        width = max(len(r["name"]) for r in found)
        for r in found:
            print(f"{r['name']:<{width}}  {r['text']}" + (f"  ({r['fidelity']})" if "fidelity" in r else ""))
    return 0
