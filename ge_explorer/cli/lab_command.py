"""``ge-explorer lab``: JupyterLab on a copy of the notebooks."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from ge_explorer.errors import OptionError

START = "00_start.ipynb"


def arguments(p: argparse.ArgumentParser) -> None:
    """Register arguments; unknown ones go to JupyterLab (``--ip``, ``--base-url`` …)."""
    p.add_argument(
        "--dir", default="ge_explorer_notebooks", help="folder the notebooks are copied to (kept if it exists)"
    )
    p.add_argument("--no-browser", action="store_true", help="only print the address")
    p.add_argument("--copy-only", action="store_true", help="copy the notebooks and stop")
    p.add_argument("jupyter", nargs=argparse.REMAINDER, help="arguments after -- go to JupyterLab")


def notebooks_folder() -> Path:
    """Folder the notebooks ship in: package data, or the checkout's ``notebooks`` in an editable install."""
    shipped = files("ge_explorer") / "_notebooks"
    with as_file(shipped) as path:
        if path.is_dir():
            return path
    return Path(str(files("ge_explorer"))).parent / "notebooks"


def copy_notebooks(target: Path) -> Path:
    """Copy notebooks that are not there yet (a user's edits are never overwritten); returns the start notebook."""
    source = notebooks_folder()
    if not source.is_dir():
        raise OptionError(
            "the notebooks are not installed with this package", where=str(source), todo="Install it again."
        )
    target.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(source.glob("*.ipynb")):
        if not (target / notebook.name).exists():
            shutil.copyfile(notebook, target / notebook.name)
    return target / START


def run(args: argparse.Namespace) -> int:
    """Start JupyterLab and wait for it."""
    start = copy_notebooks(Path(args.dir))
    if args.copy_only:
        print(start)
        return 0
    if find_spec("jupyterlab") is None:
        raise OptionError("JupyterLab is not installed here", todo="Run: python -m pip install jupyterlab")
    extra = [a for a in args.jupyter if a != "--"]
    command = [
        sys.executable, "-m", "jupyterlab", str(start),
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    if args.no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Containers often have root only; JupyterLab would refuse to start there without saying it is allowed.
        command.append("--allow-root")
    return subprocess.call(command + extra)
