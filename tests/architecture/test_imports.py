"""Import direction, third-party table, and "importing the package loads no Jupyter": DESIGN rules as tests."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "ge_explorer"
LEAVES = {"errors", "text", "ids", "provenance", "issue", "registry"}
# A folder may import itself, the leaves, and everything with a smaller number.
LAYER = {
    **dict.fromkeys(LEAVES, 0), "graph": 1, "memory": 2, "device": 2, "examples": 2, "loaders": 3, "runtime": 3, "trace": 4,
    "simulator": 4.5, "passes": 5, "checks": 6, "plan": 7, "pipelines": 8, "exports": 8, "views": 9, "session": 10, "api": 11,
    "comparing": 11.5, "report": 11, "widgets": 12, "cli": 13, "__init__": 14, "__main__": 14,
}  # fmt: skip
THIRD_PARTY = {
    "numpy": None,  # everywhere
    "onnx": {"loaders", "exports"},
    "google": {"loaders", "exports"},
    "torch": {"loaders"},  # optional, imported when a module is loaded
    "bokeh": {"widgets"},
    "ipywidgets": {"widgets"},
    "traitlets": {"widgets"},
    "anywidget": {"widgets"},
    "jupyter_bokeh": {"widgets"},
    "IPython": {"widgets"},
    "networkx": {"graph", "views", "checks"},
    "graphviz": {"views"},
    "pygraphviz": {"views"},
}


def imports(path: Path) -> list[tuple[str, bool]]:
    """(module, only for types) of every import in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(n)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for n in ast.walk(block)
    }
    found = []
    for n in ast.walk(tree):
        if isinstance(n, ast.Import):
            found += [(a.name, id(n) in typing_only) for a in n.names]
        elif isinstance(n, ast.ImportFrom) and n.module:
            names = [n.module]
            if n.module == "ge_explorer":
                names = [f"ge_explorer.{a.name}" for a in n.names if not a.name.startswith("__")]
            found += [(m, id(n) in typing_only) for m in names]
    return found


def part(path: Path) -> str:
    rel = path.relative_to(ROOT)
    return rel.parts[0] if len(rel.parts) > 1 else rel.stem


def test_imports_go_one_way() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        here = part(path)
        for module, typing_only in imports(path):
            if not module.startswith("ge_explorer.") or typing_only:
                continue
            there = module.split(".")[1]
            if here == there or (here in LEAVES and there in LEAVES):
                continue
            if LAYER.get(there, 99) >= LAYER.get(here, -1):
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_third_party_modules_stay_in_their_folders() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        for module, _ in imports(path):
            top = module.split(".")[0]
            if top == "ge_explorer" or top in sys.stdlib_module_names:
                continue
            allowed = THIRD_PARTY.get(top, set())
            if allowed is not None and part(path) not in allowed:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_importing_and_tracing_loads_no_front_end() -> None:
    code = (
        "import sys, json, ge_explorer as gx; t = gx.compile(gx.examples.fork_join());"
        "bad = [m for m in ('IPython','ipywidgets','jupyterlab','bokeh','onnx','networkx','anywidget') if m in sys.modules];"
        "print(json.dumps(bad))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(out.stdout.splitlines()[-1]) == []


def test_no_file_is_a_god_file() -> None:
    long = {str(p.relative_to(ROOT)): n for p in ROOT.rglob("*.py") if (n := len(p.read_text().splitlines())) > 600}
    assert not long, long


def test_shipped_code_names_no_network_address() -> None:
    wrong = []
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".js", ".css"}:
            text = path.read_text(encoding="utf-8")
            wrong += [f"{path.name}: {w}" for w in ("cdn.", "unpkg", "jsdelivr", "cdnjs", "googleapis") if w in text]
    assert not wrong, wrong
