"""``ge-explorer diff A B``: two dumps or models; ``diff DUMP --own``: a dump against our compilation of its graph."""

from __future__ import annotations

import argparse
from typing import Any

from ge_explorer.cli import arguments as shared
from ge_explorer.cli import printable
from ge_explorer.errors import OptionError
from ge_explorer.trace.agreement import Agreement
from ge_explorer.trace.compare_files import FilesDiff


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    p.add_argument("a", metavar="A", help="dump or model file, folder of dumps, or the name of a built-in example")
    p.add_argument("b", metavar="B", nargs="?", help="the file to compare it with")
    p.add_argument("--own", action="store_true", help="compare the dump A with our compilation of its graph")
    p.add_argument("--pipeline", default="", help="with --own: pipeline text")
    p.add_argument("--mode", help="with --own: a named mode")
    p.add_argument("--limit", type=int, default=120, help="rows printed (default 120)")
    p.add_argument("--exit-code", action="store_true", help="exit 1 when something differs")
    shared.json_flag(p)
    shared.language(p)


def run(args: argparse.Namespace) -> int:
    """Compare and print; exit 0, or 1 with ``--exit-code`` when something differs."""
    from ge_explorer.api import agreement, diff_files
    from ge_explorer.views import compare_files

    if args.own == (args.b is not None):
        raise OptionError(
            "diff takes two files, or one dump and --own", todo="ge-explorer diff A B, or diff DUMP --own."
        )
    if args.limit < 1:
        raise OptionError("--limit takes a number above 0", got=args.limit)
    if args.own:
        own = agreement(args.a, mode=args.mode, pipeline=args.pipeline)
        report, picture, equal = own_report(own), compare_files.build_agreement(own, args.limit), own.whole
    else:
        d = diff_files(args.a, args.b)
        report, picture, equal = files_report(d), compare_files.build_diff(d, args.limit), d.empty
    if args.json:
        shared.print_json(report)
    else:
        for line in compare_files.text_lines(picture, args.lang, printable):
            print(line)
    return 1 if args.exit_code and not equal else 0


def files_report(d: FilesDiff) -> dict[str, Any]:
    """The difference as plain data; names are unique names of the side where the node is."""
    a, b = d.a.graph.unique_names, d.b.graph.unique_names
    moves = {"offsets": d.offsets, "options": d.options, "versions": d.versions}
    return {
        "format": "ge_explorer.diff/1",
        "a": {"source": d.a.source, "format": d.a.format, "versions": dict(d.a.versions)},
        "b": {"source": d.b.source, "format": d.b.format, "versions": dict(d.b.versions)},
        "equal": d.empty,
        "counts": d.counts,
        "matched": len(d.match.pairs),
        "only_a": [a[i] for i in d.match.only_a],
        "only_b": [b[j] for j in d.match.only_b],
        "renamed": [[a[i], b[j]] for i, j in d.match.renamed],
        "merged": {b[j]: [a[i] for i in group] for j, group in d.match.merged.items()},
        "changed": [
            {"name": c.name, "fields": [[f.field, f.before, f.after] for f in c.fields]} for c in d.changed
        ],
        "moved": None if d.moved is None else [[m.name, m.before, m.after] for m in d.moved],
        "stream_of": {str(s): t for s, t in sorted(d.stream_of.items())},
        "events_only_a": [list(e) for e in d.events_a],
        "events_only_b": [list(e) for e in d.events_b],
        "reordered": d.reordered,
        "peak": list(d.peak),
        **{k: [[m.name, m.before, m.after] for m in v] for k, v in moves.items()},
    }  # fmt: skip


def own_report(a: Agreement) -> dict[str, Any]:
    """The agreement as plain data."""
    names = a.names

    def pairs(events: tuple[tuple[int, int], ...]) -> list[list[str]]:
        return [[names[s], names[r]] for s, r in events]

    return {
        "format": "ge_explorer.agreement/1",
        "equal": a.whole,
        "streams": {"compared": len(a.streams), "equal": a.streams_equal, "nodes": [
            {"name": r.name, "dump": r.dump, "ours": r.ours, "same": r.same} for r in a.streams]},
        "stream_of": {str(s): t for s, t in sorted(a.stream_of.items())},
        "events": {"both": pairs(a.events_both), "only_dump": pairs(a.events_dump), "only_ours": pairs(a.events_ours)},
        "offsets": {"compared": len(a.offsets), "equal": a.offsets_equal, "peak": list(a.peak), "outputs": [
            {"name": r.name, "dump": r.dump, "ours": r.ours} for r in a.offsets]},
        "notes": [t.en for t in a.notes],
    }  # fmt: skip
