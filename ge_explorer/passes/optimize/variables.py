"""Variables: stored as they are read, and copies that are the variable itself."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import VARIABLE_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import TRANS, layout
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

VARIABLE_ACC = "ge.exec.variable_acc"
SOURCE_NAME = "ref_var_src_var_name"
"""Attribute of a variable that is a copy by reference, and of the output that writes it: the name of the variable."""
_P = "compiler/graph/passes/variable_optimize"
_FORMAT, _REF, _IDENTITY = (
    f"{_P}/{x}.cc" for x in ("variable_op_pass", "variable_ref_delete_op_pass", "ref_identity_delete_op_pass")
)


@dataclass(frozen=True)
class VariableFormat(RarePass):
    """A variable that everybody converts in the same way is stored converted.

    Rule: every reader is the same TransOp with the same result; the variable takes type, format and shape of the result and the
    TransOps go. Off with ``ge.exec.variable_acc`` = False.

    GE source: variable_op_pass.cc. Simplified: a variable that is also written stays (GE converts at the writer), one step of a
    chain of TransOps at a time.
    Example: ``Variable (float) -> Cast (float16)`` twice: the variable is float16.
    """

    name: ClassVar[str] = "variable-format"
    title: ClassVar[Text] = Text("Variable format", "变量格式")
    summary: ClassVar[Text] = Text("Stores variables as they are read.", "按读取格式存储变量。")
    option_keys: ClassVar[frozenset[str]] = RarePass.option_keys | {VARIABLE_ACC}
    ge_name: ClassVar[str] = "VariableOpPass"
    source: ClassVar[str] = _FORMAT
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = VARIABLE_LIKE
    rules = MappingProxyType(
        {"uniform": Rule(Text("Every reader converts it in the same way.", "所有读者做相同的转换。"), _FORMAT)}
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Also off by its own option."""
        if ctx.option(VARIABLE_ACC) == "False":
            return Text(f"off by {VARIABLE_ACC}", f"被 {VARIABLE_ACC} 关闭")
        return super().skip_reason(s, ctx)

    def apply(self, w: Work, scope: int) -> None:
        """Convert the variables of one graph."""
        for i in w.e.members(scope):
            n = w.node(i) if w.e.has(i) else None
            while n is not None and n.op in VARIABLE_LIKE and len(n.outputs) == 1 and self._convert(w, n):
                n = w.node(i)

    def _convert(self, w: Work, n: Node) -> bool:
        edges = w.readers(n)
        readers = [w.node(e.dst) for e in edges]
        if not readers or any(
            r.op not in TRANS or e.dst_in or len(r.outputs) != 1 for e, r in zip(edges, readers, strict=True)
        ):
            return False
        results = [w.e.tensor(r.outputs[0]) for r in readers]
        first = results[0]
        if len({(r.op, t.dtype, t.shape, layout(t)) for r, t in zip(readers, results, strict=True)}) > 1:
            return False
        own = w.e.tensor(n.outputs[0])
        permuted = (
            readers[0].op in ("Transpose", "TransposeD") and len({repr(r.attrs.get("perm")) for r in readers}) > 1
        )
        if permuted or any(len(r.inputs) > 1 and not w.is_constant(r.inputs[1]) for r in readers):
            return False
        w.say(n, f"{own.dtype} {list(own.shape or ())}", f"{first.dtype} {list(first.shape or ())}", "uniform",
              [Ref("node", r.id) for r in readers])  # fmt: skip
        w.e.set_tensor(own.id, shape=first.shape, dtype=first.dtype, attrs={**own.attrs, **first.attrs})
        for r in readers:
            w.bypass(r, "uniform")
        return True


@dataclass(frozen=True)
class RefIdentityDelete(RarePass):
    """Bypass RefIdentity: it hands a reference on. GE source: ref_identity_delete_op_pass.cc."""

    name: ClassVar[str] = "ref-identity-delete"
    title: ClassVar[Text] = Text("RefIdentity", "RefIdentity")
    summary: ClassVar[Text] = Text("Bypasses RefIdentity.", "去掉 RefIdentity。")
    ge_name: ClassVar[str] = "RefIdentityDeleteOpPass"
    source: ClassVar[str] = _IDENTITY
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = frozenset({"RefIdentity"})
    rules = MappingProxyType(
        {"reference": Rule(Text("It is the variable itself, not a copy.", "它就是变量本身，不是拷贝。"), _IDENTITY)}
    )

    def apply(self, w: Work, scope: int) -> None:
        """Bypass in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op == "RefIdentity" and n.inputs and n.inputs[0] is not None and len(n.outputs) == 1:
                w.bypass(n, "reference")


@dataclass(frozen=True)
class VariableRefDelete(RarePass):
    """A variable node that stands for the write of another variable goes; the writer is marked.

    Rule: Variable with ``ref_var_src_var_name`` and a data input; the output that feeds it gets the attribute, so that it lies in
    the variable's memory. GE source: variable_ref_delete_op_pass.cc.
    """

    name: ClassVar[str] = "variable-ref-delete"
    title: ClassVar[Text] = Text("Variable refs", "变量引用")
    summary: ClassVar[Text] = Text("Removes variable nodes that only mark a write.", "去掉只标记写入的变量节点。")
    ge_name: ClassVar[str] = "VariableRefDeleteOpPass"
    source: ClassVar[str] = _REF
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = VARIABLE_LIKE
    rules = MappingProxyType(
        {"written-there": Rule(Text("Its producer writes the variable's memory.", "其生产者直接写变量内存。"), _REF)}
    )

    def concerns(self, n: Node) -> bool:
        """References with a producer."""
        return n.op in VARIABLE_LIKE and SOURCE_NAME in n.attrs and bool(n.inputs)

    def apply(self, w: Work, scope: int) -> None:
        """Remove in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            p = w.producer(n) if self.concerns(n) else None
            if p is not None and n.inputs[0] is not None:
                t = w.e.tensor(n.inputs[0])
                w.e.set_tensor(t.id, attrs={**t.attrs, SOURCE_NAME: n.attrs[SOURCE_NAME]})
                w.say(p, None, str(n.attrs[SOURCE_NAME]), "written-there", [Ref("node", i)])
                w.bypass(n, "written-there")
