"""Mutated files through every loader and what follows, in a process of its own, so that its memory can be measured.

``python -m tests.loaders.fuzzing COUNT SEED`` prints one JSON line: inputs, loaded, refused, failures, slowest seconds and
peak memory. One graph in ``STAGE_EVERY`` that loads also goes through compile, check and the exports that people open.
"""

from __future__ import annotations

import json
import random
import re
import resource
import sys
import tempfile
import time
import traceback
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onnx import ModelProto, helper, numpy_helper, printer

from ge_explorer.api import open_session
from ge_explorer.cli.export_command import FORMS
from ge_explorer.cli.export_command import arguments as export_arguments
from ge_explorer.errors import GxError, InputError
from ge_explorer.loaders import load
from tests.loaders.test_fuzz import SEEDS as TEXT_SEEDS
from tests.loaders.test_fuzz import mutate

STAGE_EVERY = 40
BINARY_EVERY = 30
"""One input in so many is binary ONNX: a model the checker rejects starts a second process, half a second each."""
NODES_SHOWN = 400
EVIL = '<gx-evil onload="x">'
"""Put into names; must never reach a page as markup."""
ARGUMENTS = ArgumentParser()
export_arguments(ARGUMENTS)
KINDS = (".html", ".dot", ".mmd", ".md", ".trace.json", ".json")


def peak_kib() -> int:
    """Most memory this program ever held. ``ru_maxrss`` would not do: it survives exec, so it may be that of the test run."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:"))


def onnx_seeds() -> dict[str, ModelProto]:
    """Small models with bodies, functions, side files, quantised weights and sequences."""
    import numpy as np

    v, node = helper.make_tensor_value_info, helper.make_node
    x, y = v("x", 1, ["N", 4]), v("y", 1, None)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]

    def model(
        nodes: list[Any], inputs: list[Any], init: tuple[Any, ...] = (), functions: tuple[Any, ...] = ()
    ) -> ModelProto:
        graph = helper.make_graph(nodes, "g", inputs, [y], list(init))
        return helper.make_model(graph, opset_imports=opsets, functions=list(functions))

    body = helper.make_graph(
        [node("Add", ["s", "x"], ["t"]), node("Identity", ["c"], ["d"])], "body",
        [v("i", 7, []), v("c", 9, []), v("s", 1, None)], [v("d", 9, []), v("t", 1, None)],
    )  # fmt: skip
    then = helper.make_graph([node("Relu", ["x"], ["r"])], "then", [], [v("r", 1, None)])
    other = helper.make_graph([node("Neg", ["x"], ["r"])], "else", [], [v("r", 1, None)])
    f = helper.make_function("my", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], opsets)
    w = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    side = helper.make_tensor("w", 1, [1], [0.0])
    side.ClearField("float_data")
    side.data_location = 1
    side.external_data.add(key="location", value="side.bin")
    shape = helper.make_tensor("shape", 7, [2], [-1, 2])
    scale, zero = helper.make_tensor("scale", 1, [], [0.1]), helper.make_tensor("zero", 3, [], [0])
    return {
        "plain": model([node("MatMul", ["x", "w"], ["a"], name="m"), node("Reshape", ["a", "shape"], ["y"])], [x], (w, shape)),
        "loop": model([node("Loop", ["n", "", "x"], ["y"], body=body)], [x], (helper.make_tensor("n", 7, [], [3]),)),
        "if": model([node("If", ["c"], ["y"], then_branch=then, else_branch=other)], [x, v("c", 9, [])]),
        "function": model([node("F", ["x"], ["q"], domain="my"), node("F", ["q"], ["y"], domain="my")], [x], (), (f,)),
        "side file": model([node("Add", ["x", "w"], ["y"])], [x], (side,)),
        "quantised": model(
            [node("QuantizeLinear", ["x", "scale", "zero"], ["q"]), node("DequantizeLinear", ["q", "scale", "zero"], ["y"])],
            [x], (scale, zero),
        ),
        "sequence": model([node("SequenceConstruct", ["x", "x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], [x]),
    }  # fmt: skip


MODELS = onnx_seeds()
SEEDS: dict[str, bytes] = {
    **TEXT_SEEDS,
    **{f"onnx {k}": m.SerializeToString() for k, m in MODELS.items()},
    "onnx text": str(MODELS["loop"]).encode(),
    "notation": printer.to_text(MODELS["if"]).encode(),
}
NUMBERS = (0, 1, -1, 2**31, 2**62, -(2**63), 2**63 - 1, 255, 64, 1000)
NAMES = (
    "",
    "x",
    "y",
    "a",
    "r",
    EVIL,
    "\x1b[31m",
    "../../etc/passwd",
    "节点",
    "a" * 3000,
    "Loop",
    "Conv",
    'x"];{',
    "-->",
)


def mutate_message(m: Any, r: random.Random) -> None:
    """One change somewhere in a protobuf message: a field replaced, repeated, dropped, or a name taken from elsewhere."""
    while True:
        fields = m.ListFields()
        if not fields:
            return
        d, value = r.choice(fields)
        if d.type != d.TYPE_MESSAGE:
            break
        items = list(value) if d.is_repeated else [value]
        if d.is_repeated and r.random() < 0.2:
            if r.random() < 0.5:
                value.add().CopyFrom(r.choice(items))
            else:
                del value[r.randrange(len(items))]
            return
        m = r.choice(items)
    new: Any = r.choice(NAMES)
    if d.type == d.TYPE_BYTES:
        new = r.choice(NAMES).encode()
    elif d.type == d.TYPE_FLOAT:
        new = r.choice((0.0, float("nan"), float("inf"), -1e30))
    elif d.type != d.TYPE_STRING:
        new = r.choice(NUMBERS if d.cpp_type == d.CPPTYPE_INT64 else (0, 1, 2, 5, 16, 99))
    if d.is_repeated:
        value[r.randrange(len(value))] = new
    elif d.type == d.TYPE_ENUM:
        setattr(m, d.name, d.enum_type.values[0].number)
    else:
        setattr(m, d.name, new)


def mutated(name: str, r: random.Random) -> bytes:
    """A damaged file of the kind ``name``."""
    if name.startswith("onnx ") and name[5:] in MODELS and r.random() < 0.7:
        m = ModelProto()
        m.CopyFrom(MODELS[name[5:]])
        for _ in range(r.choice((1, 1, 2, 5))):
            mutate_message(m, r)
        return m.SerializeToString()
    data = SEEDS[name]
    if r.random() < 0.3:
        words = [m.span(1) for m in re.finditer(rb"[\"'%]([a-z]\w*)", data)]
        if words:
            a, b = r.choice(words)
            data = data[:a] + EVIL.replace('"', "").encode() + data[b:]
    return mutate(data, r)


def stages(result_of: bytes, folder: Path) -> None:
    """Compile, check, simulate and export; AssertionError when a name became markup."""
    session = open_session(result_of)
    _ = session.trace, session.issues
    if len(session.graph) > NODES_SHOWN:
        return
    for ending in KINDS:
        target = folder / f"x{ending}"
        FORMS[ending](session, target, ARGUMENTS.parse_args(["x", "-o", str(target)]))
        text = target.read_text(encoding="utf-8")
        if ending in (".html", ".mmd", ".md"):
            assert "<gx-evil" not in text, f"a name is markup in {ending}"
        if ending == ".html":
            assert "\x1b" not in text, "an escape character in the page"


def run(count: int, seed: int) -> dict[str, Any]:
    """Figures of ``count`` mutations."""
    r = random.Random(seed)
    binary = sorted(n for n in SEEDS if n.startswith("onnx ") and n[5:] in MODELS)
    texts = sorted(SEEDS.keys() - set(binary))
    told: Counter[str] = Counter()
    failures: list[str] = []
    slowest: tuple[float, str] = (0.0, "")
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            kinds, turn = (binary, k // BINARY_EVERY) if k % BINARY_EVERY == 0 else (texts, k)
            name = kinds[turn % len(kinds)]
            data = mutated(name, r)
            steps: list[tuple[str, Callable[[], object]]] = [("load", lambda d=data: load(d))]  # type: ignore[misc]
            if r.random() < 1 / STAGE_EVERY:
                steps.append(("stages", lambda d=data: stages(d, Path(folder))))  # type: ignore[misc]
            for what, do in steps:
                started = time.process_time()
                try:
                    do()
                    told[what] += 1
                except GxError as e:
                    told[f"{what} refused"] += 1
                    if what == "load" and (not isinstance(e, InputError) or not str(e).isprintable() or not e.todo):
                        failures.append(f"{k} {name}: {e!r}"[:600])
                    if what == "load":
                        break
                except Exception:
                    failures.append(f"{k} {name} {what}: {traceback.format_exc(limit=-4)}"[:1500])
                    break
                finally:
                    slowest = max(slowest, (time.process_time() - started, f"{k} {name} {what}"))
    peak = peak_kib()
    return {"inputs": count, "seed": seed, **told, "failures": failures, "slowest": slowest, "peak_mib": peak / 1024}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
