"""``python -m pytest tests/conformance --cases DIR``: any folder of case files; a table per stage at the end."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from conformance.registry import Case, load_stages, read_cases  # noqa: E402

SHARED = Path(os.environ.get("GX_SHARED", HERE.parents[2] / "shared")) / "conformance"
TALLY = pytest.StashKey[dict[str, Counter[str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", metavar="DIR", default=None, help="folder of conformance case files to run, only these")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLY] = {}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``--cases`` only the cases run, not the tests of the harness."""
    given = config.getoption("cases", None) is not None
    return True if given and collection_path.name == "test_harness.py" else None


def folders(config: pytest.Config) -> list[Path]:
    """The folder given on the command line alone; else the copy in the repository and the full set where present."""
    given = config.getoption("cases", None)
    if given is not None:
        folder = Path(config.invocation_params.dir, given)
        if not folder.is_dir():
            raise pytest.UsageError(f"--cases: no folder {folder}")
        return [folder]
    return [HERE / "cases", SHARED]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    load_stages()
    cases: list[Case] = []
    seen: dict[str, Case] = {}
    for folder in folders(metafunc.config):
        for case in read_cases(folder):
            if case.id not in seen or seen[case.id].raw != case.raw:
                seen[case.id] = case
                cases.append(case)
    metafunc.parametrize("case", cases, ids=[c.id for c in cases])


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> dict[str, Counter[str]]:
    """Stage -> counts of passed, failed, unsupported, relaxed."""
    if TALLY not in request.config.stash:
        request.config.stash[TALLY] = {}
    return request.config.stash[TALLY]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash.get(TALLY, {})
    if not rows:
        return
    terminalreporter.section("conformance")
    terminalreporter.write_line(f"{'stage':<18}{'passed':>8}{'failed':>8}{'unsupported':>13}   order-dependent, hints")
    total: Counter[str] = Counter()
    for name in sorted(rows):
        row = rows[name]
        total.update(row)
        note = ""
        if row["order_dependent"]:
            note = f"strict {row['order_strict']}/{row['order_dependent']}, relaxed {row['order_relaxed']}/{row['order_dependent']}"
        if row["hints"]:
            note += f"{'; ' if note else ''}{row['hints']} derived values differ"
        terminalreporter.write_line(
            f"{name:<18}{row['passed']:>8}{row['failed']:>8}{row['unsupported']:>13}   {note}".rstrip()
        )
    terminalreporter.write_line(
        f"{'total':<18}{total['passed']:>8}{total['failed']:>8}{total['unsupported']:>13}".rstrip()
    )
    reasons = Counter({k.removeprefix("why:"): n for k, n in total.items() if k.startswith("why:")})
    if reasons:
        shown = "; ".join(f"{w} ({n})" for w, n in reasons.most_common(12))
        terminalreporter.write_line(f"unsupported: {shown}{'; …' if len(reasons) > 12 else ''}")
