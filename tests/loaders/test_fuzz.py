"""No loader crashes or hangs, whatever the bytes: cut, flipped, spliced and doubled versions of every format we read."""

import random
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer import examples
from ge_explorer.errors import InputError
from ge_explorer.loaders import load
from ge_explorer.loaders.own_json import to_json
from ge_explorer.trace.recorded import snapshot_of
from tests.loaders.ge_text import ge_onnx, ge_proto, two_streams
from tests.loaders.test_text_forms import FX, GE_GRAPH_DEF, PBTXT, PY, READABLE, line

HANG = 5.0
SEEDS: dict[str, bytes] = {
    "ge_proto": ge_proto({**two_streams(), "body": two_streams()["g"]}, {"stream_num": 2, "target_type": "MINI"}),
    "ge_onnx": ge_onnx({**two_streams(), "body": two_streams()["g"]}),
    "readable": READABLE,
    "fx": FX,
    "graph def": GE_GRAPH_DEF.encode(),
    "pbtxt": PBTXT.encode(),
    "py": PY.encode(),
    "log": "\n".join(
        [
         line("a", 0, "0", "1"), line("b", 512, "1--9", "3--4294967295"),
         "[IMAS]AfterAssignMemory : g_1 memoffset[1536], memtype[2]",
         "[INFO] GE(1,p):2023-07-13-07:41:25.168.028 [g.cc:1]1 AssignVarMem:[IMAS]AssignVarMem Set session_0 name[v] "
         "output[0] offset to [3072] size[1536] realsize[512]."]
    ).encode(),
    "own json": to_json(examples.get("fork_join").graph).encode(),
    "atc json": b'{"graph": [{"name": "g", "op": [{"name": "a", "type": "Data", "stream_id": "-1", "attr": [{"key": "n", "value": '
                b'{"list": {"i": ["1", "2"]}}}], "output_desc": [{"dtype": "DT_FLOAT", "shape": {"dim": ["4"]}}]}, {"name": "b", '
                b'"type": "Relu", "input": ["a:0", "a:-1"], "id": "1"}]}]}',
    "om": b"IMOD" + bytes(300),
}  # fmt: skip
TOKENS = [
    b"{", b"}", b"<", b">", b"[", b"]", b"(", b")", b'"', b"'", b"\\", b":", b",", b"%", b"\n", b"\0", b"\xff", b"graph {", b"op {",
    b"attr {", b"value {", b"-1", b"0x", b"9" * 26, b"1e999", b"nan", b"true", b"stream_id: ", b":-1",
    b"[IMAS]Set ", b"name[", b"{\"$tuple\": [", b"graph():", b"return (",
    b"%x : [#users=1] = ", b"\xe4\xbd\xa0", b"\x1b[31m", b"<script>", b"$map", b"null",
]  # fmt: skip


def attempt(data: bytes) -> None:
    started = time.process_time()
    refusal: InputError | None = None
    try:
        result = load(data)
        if result.recorded is not None:
            snapshot_of(result)
            to_json(result.graph, result.recorded)
    except InputError as e:
        refusal = e
    if refusal is not None:
        assert "\n" not in str(refusal) and refusal.todo and len(str(refusal)) < 1500, str(refusal)
    assert time.process_time() - started < HANG


def mutate(data: bytes, r: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 4, 12))):
        at = r.randrange(len(out) + 1)
        match r.randrange(7):
            case 0:
                del out[at : at + r.randrange(1, 40)]
            case 1:
                out[at:at] = r.choice(TOKENS)
            case 2 if out:
                out[at % len(out)] = r.randrange(256)
            case 3:
                end = min(at + r.randrange(1, 200), len(out))
                out[at:at] = out[at:end]
            case 4:
                other = SEEDS[r.choice(list(SEEDS))]
                k = r.randrange(len(other))
                out[at:at] = other[k : k + r.randrange(1, 200)]
            case 5:
                out[at:at] = r.choice(TOKENS) * r.choice((2, 50, 3000))
            case _:
                del out[at:]
    return bytes(out)


def cuts(data: bytes, step: int) -> Iterator[bytes]:
    for at in range(1, len(data), step):
        yield data[:at]


@pytest.mark.parametrize("name", SEEDS)
def test_cut_anywhere(name: str) -> None:
    for piece in cuts(SEEDS[name], max(1, len(SEEDS[name]) // 60)):
        attempt(piece)


@pytest.mark.parametrize("name", SEEDS)
def test_mutations(name: str) -> None:
    r = random.Random(f"gx {name}")
    for _ in range(120):
        attempt(mutate(SEEDS[name], r))


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_many_mutations(name: str) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)  # shown when the test fails
    r = random.Random(seed)
    for piece in cuts(SEEDS[name], 1):
        attempt(piece)
    for _ in range(8000):
        attempt(mutate(SEEDS[name], r))


@given(st.sampled_from(sorted(SEEDS)), st.lists(st.sampled_from(TOKENS) | st.binary(max_size=6), max_size=60))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_good_start_and_then_anything(name: str, rest: list[bytes]) -> None:
    attempt(SEEDS[name][:120] + b"".join(rest))


REPEATED = {
    "nested graphs": b"graph { op { name: 'a' attr { key: 'k' value { g { graph { " * 20_000,
    "many ops": b'graph { name: "g" ' + b'op { name: "a" type: "T" } ' * 50_000 + b"}",
    "one wide op": b'graph { name: "g" op { name: "a" type: "T" ' + b'input: "a:4000" ' * 50_000 + b"} }",
    "readable": b'graph("g"):\n' + b"  %a : [#users=1] = Node[type=" * 30_000,
    "readable braces": b'graph("g"):\n  %a : [#users=1] = Node[type=A] (attrs = {a: ' + b"{" * 200_000,
    "fx": b"graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
    + b"    %x : [num_users=1] = call_function[target=" * 20_000,
    "fx names": b"graph(" * 100_000 + b"%x = placeholder[target=",
    "log": b"[IMAS]Set g name[" * 30_000,
    "log brackets": b"[IMAS]Set g name[a] optype[x] output[0] offset to [" * 20_000,
    "py": b"from torchair.x import ge_apis as ge\na = ge.B(" + b"(" * 100_000,
    "py minus": b"from torchair.x import ge_apis as ge\na = ge.B(" + b"-" * 100_000 + b"1)",
    "json": b'{"graph": {"op": [' * 100_000,
    "self calls": b"".join(
        b'graph { name: "g%d" op { name: "c" type: "PartitionedCall" subgraph_name: "g%d" subgraph_name: "g%d" } } '
        % (k, k + 1, k + 1) for k in range(3000)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_repetition_ends_soon(name: str) -> None:
    attempt(REPEATED[name])
