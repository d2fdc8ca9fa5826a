"""Random graphs for property tests: mixed engines, labels, control edges, constants, branches."""

from __future__ import annotations

from hypothesis import strategies as st

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph

OPS = (
    ("MatMulV2", "AIcoreEngine", "AIC"), ("Relu", "AIcoreEngine", "AIV"), ("Add", "AIcoreEngine", "AIV"),
    ("HcomAllReduce", "DNN_HCCL", "HCCL"), ("Unique", "DNN_VM_AICPU_ASCEND", "AICPU"), ("Reshape", "DNN_VM_GE_LOCAL", "NONE"),
    ("DSAGenBitMask", "DSAEngine", "DSA"), ("Identity", "DNN_VM_RTS", "NONE"), ("DecodeJpeg", "DNN_VM_DVPP", "NONE"),
)  # fmt: skip
LABELS = ("", "", "", "", "one", "two")
SHAPES = ((16,), (64, 64), (1024, 128), (None, 8), None)


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 60, branches: bool = True) -> Graph:
    """A connected-enough DAG of 1 to ``max_nodes`` compute nodes with one NetOutput."""
    e = GraphEditor.empty("random")
    count = draw(st.integers(1, max_nodes))
    tensors = [
        e.output(e.add_node(f"data{i}", "Data", outputs=[((64, 64), "float16")]))
        for i in range(draw(st.integers(1, 3)))
    ]
    tensors.append(e.output(e.add_node("weight", "Const", outputs=[((64, 64), "float16")])))
    made: list[int] = []
    for i in range(count):
        op, engine, core = draw(st.sampled_from(OPS))
        width = draw(st.integers(0 if made else 1, min(3, len(tensors))))
        recent = tensors[-8:] if draw(st.booleans()) else tensors
        ins = [draw(st.sampled_from(recent)) for _ in range(width)]
        attrs: dict[str, object] = {"_gx_engine": engine, "_gx_core": core}
        label = draw(st.sampled_from(LABELS))
        if label:
            attrs["_user_stream_label" if draw(st.booleans()) else "_stream_label"] = label
        if op == "HcomAllReduce" and draw(st.booleans()):
            attrs |= {"fusion": 1, "_parallel_group": draw(st.sampled_from(["g", "-1"]))}
        control = [draw(st.sampled_from(made))] if made and draw(st.integers(0, 5)) == 0 else []
        outs = [(draw(st.sampled_from(SHAPES)), "float16") for _ in range(draw(st.integers(1, 2)))]
        n = e.add_node(f"n{draw(st.integers(0, 9))}_{i}", op, inputs=ins, outputs=outs, control=control, attrs=attrs)
        made.append(n)
        tensors += [e.output(n, k) for k in range(len(outs))]
        if branches and i and draw(st.integers(0, 24)) == 0:
            made.append(_branch(e, draw, f"if_{i}", tensors))
            tensors.append(e.output(made[-1]))
    used = {t for n in made for t in e.node(n).inputs}
    ends = [t for n in made for t in e.node(n).outputs if t not in used] or tensors[-1:]
    e.add_node("NetOutput", "NetOutput", inputs=ends)
    return e.freeze()


def _branch(e: GraphEditor, draw: st.DrawFn, name: str, tensors: list[int]) -> int:
    holder = e.add_node(name, "If", inputs=[draw(st.sampled_from(tensors))], outputs=[((64, 64), "float16")])
    for branch in ("then", "else"):
        scope = e.add_scope(f"{name}_{branch}", holder)
        x = e.add_node(
            f"{name}_{branch}_x", "Data", outputs=[((64, 64), "float16")], attrs={"_parent_node_index": 0}, scope=scope
        )
        last = x
        for k in range(draw(st.integers(1, 3))):
            op, engine, core = draw(st.sampled_from(OPS))
            last = e.add_node(
                f"{name}_{branch}_{k}", op, inputs=[e.output(last)], outputs=[((64, 64), "float16")], scope=scope,
                attrs={"_gx_engine": engine, "_gx_core": core},
            )  # fmt: skip
        e.add_node(f"{name}_{branch}_out", "NetOutput", inputs=[e.output(last)], scope=scope)
    return holder


@st.composite
def synced_graphs(draw: st.DrawFn, max_nodes: int = 40, branches: bool = True) -> Graph:
    """Random graphs that also ask for what the later steps decide: attached streams and the values they need, events of an
    operator's own, groups that must stay together, a StreamSwitch with its branch.
    """
    g = draw(graphs(max_nodes=max_nodes, branches=branches))
    e = GraphEditor(g)
    ops = [n for n in g if not n.is_source and n.op not in ("NetOutput", "If") and n.scope == 0]
    for k in dict.fromkeys(draw(st.lists(st.integers(0, len(ops) - 1), max_size=3)) if ops else ()):
        n = ops[k]
        row: dict[str, object] = {
            "_attached_resource_name": "a", "_attached_resource_reuse_key": draw(st.sampled_from(["k0", "k1"])),
            "_attached_resource_required_flag": True,
        }  # fmt: skip
        if n.inputs and draw(st.booleans()):
            row["_attached_resource_depend_value_list_int"] = [0]
        e.update_attrs(n.id, {"_attached_stream_info_list": [row]})
        if draw(st.booleans()):
            kind = draw(st.sampled_from([0, 1]))
            own = {
                "_attached_resource_name": "s", "_attached_resource_reuse_key": "s", "_attached_resource_required_flag": True,
                "_attached_resource_type": kind,
            }  # fmt: skip
            e.update_attrs(n.id, {"_attached_sync_res_info_list": [own]})
    if draw(st.integers(0, 2)) == 0 and len(ops) > 3:
        at = draw(st.integers(0, len(ops) - 3))
        for n in ops[at : at + draw(st.integers(2, 4))]:
            e.update_attrs(n.id, {"_continuous_stream_label": "together"})
    if draw(st.integers(0, 2)) == 0:
        _switch(e, draw, [t for n in (*ops, *(n for n in g if n.op == "Data" and n.scope == 0)) for t in n.outputs])
    return e.freeze()


def _switch(e: GraphEditor, draw: st.DrawFn, tensors: list[int]) -> None:
    engine = {"_gx_engine": "AIcoreEngine", "_gx_core": "AIV"}
    x = draw(st.sampled_from(tensors))
    attrs = {"_active_label_list": ["chosen"], "_gx_engine": "DNN_VM_RTS", "_gx_core": "NONE"}
    switch = e.add_node("switch", "StreamSwitch", inputs=[x], attrs=attrs)
    last = -1
    for k in range(draw(st.integers(1, 6))):
        ins = [draw(st.sampled_from(tensors)), *([e.output(last)] if last >= 0 else [])]
        last = e.add_node(
            f"chosen{k}", "Add", inputs=ins, outputs=[((64, 64), "float16")], control=[switch],
            attrs={**engine, "_stream_label": "chosen"},
        )  # fmt: skip
    e.add_control(last, next(i for i in e.freeze().root.nodes if e.node(i).op == "NetOutput"))
