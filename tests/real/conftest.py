"""``--corpus DIR``: real files of other people with the values a correct reading yields (``expected.json``).

Without the option the shared corpus beside the repository is used, if it is there (also ``GX_SHARED``).
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.real.adapters import NOT_COMPARED, cases


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--corpus", metavar="DIR", default=None, help="folder with expected.json and real files")


def corpus(config: pytest.Config) -> Path:
    given = config.getoption("--corpus", default=None)
    if given:
        folder = Path(given)
        if not (folder / "expected.json").is_file():
            raise pytest.UsageError(f"--corpus {given}: there is no expected.json")
        return folder
    shared = Path(os.environ.get("GX_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
    return shared / "data" / "real"


def pytest_generate_tests(metafunc: Any) -> None:
    """A test with the argument ``case`` runs once per file of the corpus that some adapter reads."""
    if "case" in metafunc.fixturenames:
        found = cases(corpus(metafunc.config))
        metafunc.parametrize(
            "case", found or [pytest.param(None, marks=pytest.mark.skip("no corpus on this machine"))],
            ids=[c.path for c in found] or ["none"],
        )  # fmt: skip


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What a corpus gives and no adapter looked at: said, never passed over."""
    if NOT_COMPARED:
        terminalreporter.section("corpus: not compared")
        for name, n in sorted(NOT_COMPARED.items()):
            terminalreporter.line(f"{name}: {n} files" if not name.startswith("files") else f"{name}: {n}")
