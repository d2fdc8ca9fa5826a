"""``ge-explorer export -o FILE``: a page that needs no kernel, or a file of another tool; the ending says which."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ge_explorer.cli import arguments as shared
from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.session import Session
from ge_explorer.trace.state import Snapshot

Writer = Callable[[Session, Path, argparse.Namespace], None]


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments."""
    shared.source(p)
    p.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help="file to write; its ending is the form: .html page, .onnx model, .txt GE dump, .json graph, .dot Graphviz, "
        ".streams.dot GE's stream graph, .graphml networkx, .mmd Mermaid, .md summary, .trace.json Perfetto",
    )  # fmt: skip
    p.add_argument(
        "--step",
        "--at",
        default="",
        metavar="NAME",
        help="state after this step (start: the graph as loaded; default: the last)",
    )
    p.add_argument(
        "--runnable", action="store_true",
        help="with .onnx: a model that runs, to compare an optimised graph with the original; fused operators are local functions",
    )  # fmt: skip
    p.add_argument(
        "--fold", default="", choices=("functions", "scopes"),
        help="with .dot and .mmd: local functions, or modules and name scopes, as one box per stream",
    )  # fmt: skip
    p.add_argument(
        "--anonymise", action="store_true", help="with .json: replace all names, keep types, shapes and structure"
    )


def run(args: argparse.Namespace) -> int:
    """Write the file and print its name."""
    target = Path(args.output)
    ending = next((e for e in FORMS if target.name.endswith(e)), None)
    if ending is None:
        raise OptionError("the ending of the file names no form", got=target.name, todo=f"Known: {', '.join(FORMS)}.")
    if args.anonymise and ending != ".json":
        raise OptionError("--anonymise writes a graph", got=target.name, todo="Use it with -o FILE.json.")
    if args.runnable and ending != ".onnx":
        raise OptionError("--runnable writes an ONNX model", got=target.name, todo="Use it with -o FILE.onnx.")
    if args.fold and ending not in (".dot", ".mmd"):
        raise OptionError("--fold draws a graph", got=target.name, todo="Use it with -o FILE.dot or FILE.mmd.")
    if args.step and ending in (".html", ".json", ".md", ".trace.json"):
        raise OptionError(f"a {ending} file has no single step", got=args.step, todo="Leave --step out.")
    session = shared.open_source(args)
    try:
        FORMS[ending](session, target, args)
    except OSError as e:
        raise OptionError(
            "the file cannot be written", where=str(target), got=e.strerror, todo="Check the folder."
        ) from e
    print(target)
    return 0


def state(session: Session, step: str) -> tuple[Snapshot, int]:
    """(state after a step, its index); -1 is the graph as loaded."""
    trace = session.trace
    if step == "start":
        return trace.initial, -1
    if not step:
        return trace.final, len(trace) - 1
    names = [s.name for s in trace]
    if step not in names:
        raise OptionError(f"no step named {step!r}", todo=did_you_mean(step, ["start", *names]))
    index = len(names) - 1 - names[::-1].index(step)
    return trace.snapshot(index), index


# ---------------------------------------------------------------- one function per form
def _html(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.views.export_html import export_html

    export_html(session, target)


def _onnx(session: Session, target: Path, args: argparse.Namespace) -> None:
    """The graph as loaded with the final decisions as metadata; ``--step``: the graph after that step.

    ``--runnable``: without metadata, after the last step of the optimise chapter unless ``--step`` names another.
    """
    if args.runnable:
        _runnable(session, target, args)
        return
    from ge_explorer.exports.onnx_export import decided, original_of, to_onnx

    chosen = session.trace.final if not args.step else state(session, args.step)[0]
    if not args.step:
        chosen = decided(session.graph, chosen)
    model = to_onnx(chosen.graph, chosen, original_of(args.source))
    target.write_bytes(model.SerializeToString())


def _runnable(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.exports.onnx_export import original_of
    from ge_explorer.exports.runnable import last_optimised, to_runnable_onnx

    step = args.step or last_optimised(session.trace)
    model = to_runnable_onnx(session.trace, step, original_of(args.source))
    target.write_bytes(model.SerializeToString())


def _ge_text(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.exports.ge_text import to_ge_text

    target.write_text(to_ge_text(state(session, args.step)[0]), encoding="utf-8")


def _json(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.exports.graph_json import session_json
    from ge_explorer.exports.saved_settings import settings_parts
    from ge_explorer.loaders import LoadResult

    parts = settings_parts(session)
    loaded = session.loaded if isinstance(session.loaded, LoadResult) else None
    target.write_text(session_json(session.graph, loaded, parts, anonymise=args.anonymise), encoding="utf-8")


def _dot(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.views import dot
    from ge_explorer.views.fold_instances import Folding

    s, index = state(session, args.step)
    target.write_text(dot.build(s, session.identities, index, Folding(args.fold)).source, encoding="utf-8")


def _streams_dot(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.views import ge_stream_dot

    target.write_text(ge_stream_dot.export_text(state(session, args.step)[0]), encoding="utf-8")


def _graphml(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.graph.networkx_export import write_graphml

    s, _ = state(session, args.step)
    streams = {} if s.streams is None else {i: int(s.streams.node[i]) for i in s.graph.node_ids}
    write_graphml(s.graph, target, {"stream": streams})


def _mermaid(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.views import mermaid
    from ge_explorer.views.fold_instances import Folding

    s, index = state(session, args.step)
    table = session.identities.by_step[index + 1]
    marks = {stream: session.identities.items[i] for stream, i in table.items()}
    target.write_text(mermaid.build(s, marks, folding=Folding(args.fold)).text, encoding="utf-8")


def _markdown(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.views import markdown

    marks = {stream: session.identities.items[i] for stream, i in session.identities.by_step[-1].items()}
    text = markdown.build(session.trace, marks, timeline=session.timeline, issues=session.issues)
    target.write_text(text, encoding="utf-8")


def _perfetto(session: Session, target: Path, args: argparse.Namespace) -> None:
    from ge_explorer.views import chrome_trace

    marks = {stream: session.identities.items[i] for stream, i in session.identities.by_step[-1].items()}
    target.write_text(chrome_trace.to_text(session.trace.final, session.timeline, marks), encoding="utf-8")


FORMS: dict[str, Writer] = {
    ".streams.dot": _streams_dot, ".trace.json": _perfetto, ".html": _html, ".onnx": _onnx, ".txt": _ge_text, ".json": _json,
    ".dot": _dot, ".graphml": _graphml, ".mmd": _mermaid, ".md": _markdown,
}  # fmt: skip
"""Ending -> writer; longer endings first."""
