"""inner-identity-add and inner-identity-delete: a copy before a write in place, until it turns out to be needless."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import SOURCE_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import NO_FOLD, SIZES_ONLY
from ge_explorer.passes.optimize.rare import InsertingPass, RarePass, insert_before, memory_readers, reaches
from ge_explorer.passes.optimize.references import OWNERS, may_write, references, writes
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

INNER = "_gx_inner_identity"
"""Our mark on an Identity this file inserted (GE's own mark is not in the specification)."""
_P = "compiler/graph/passes/memory_conflict"
_ADD, _DELETE = f"{_P}/inner_identity_add_pass.cc", f"{_P}/inner_identity_delete_pass.cc"


@dataclass(frozen=True)
class InnerIdentityAdd(InsertingPass):
    """Identity before an input that its reader overwrites.

    Rule: for every output that is one of the inputs, unless the producer is a variable, a RefData, itself such an operator, or a
    TensorMove with this reader only: Identity on that input; other readers that come *after* the writer move to the Identity,
    because they mean the changed value.

    GE source: inner_identity_add_pass.cc (normalisation). Folding and IdentityPass leave the Identity alone by
    ``no_need_constant_folding``, which is assumed.
    Example: ``Relu -> ScatterUpdate`` becomes ``Relu -> Identity -> ScatterUpdate``.
    """

    name: ClassVar[str] = "inner-identity-add"
    title: ClassVar[Text] = Text("Copy before write", "写前拷贝")
    summary: ClassVar[Text] = Text("Puts an Identity before writes in place.", "在原地写之前插入 Identity。")
    ge_name: ClassVar[str] = "InnerIdentityAddPass"
    source: ClassVar[str] = _ADD
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "write": Rule(Text("The reader overwrites this value.", "读取方会改写该值。"), _ADD),
            "after-write": Rule(Text("It runs after the write, so it reads the copy.", "它在写之后运行，读取拷贝。"), _ADD),
        }
    )  # fmt: skip

    def concerns(self, n: Node) -> bool:
        """Writers in place, of any type."""
        return may_write(n)

    def absent(self) -> Text:
        """In words."""
        return Text("nothing writes in place", "没有原地写的算子")

    def apply(self, w: Work, scope: int) -> None:
        """Insert in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            for _, k in references(w, n) if may_write(n) else ():
                t = n.inputs[k]
                assert t is not None
                p = w.node(w.e.tensor(t).producer)
                single = p.op == "TensorMove" and len(w.e.readers(t)) == 1
                by_reference = any(o == w.e.tensor(t).index for o, _ in references(w, p))
                if p.op in OWNERS or by_reference or single or INNER in p.attrs:
                    continue
                others = [e for e in w.e.readers(t) if e.dst != i]
                name = f"{n.name}_inner_identity_{k}"
                made = insert_before(
                    w, n, k, name, "Identity", attrs={NO_FOLD: True, INNER: True}, source_op="Identity"
                )
                w.say(made, None, "Identity", "write", [Ref("node", p.id), Ref("node", i)])
                for e in others:
                    if reaches(w, i, e.dst):
                        w.move(e, made.outputs[0])
                        w.say(w.node(e.dst), p.name, made.name, "after-write", [Ref("node", i)])


@dataclass(frozen=True)
class InnerIdentityDelete(RarePass):
    """Remove the Identities of inner-identity-add where no write conflict is left.

    Rule: the value is no constant, variable or input of the model, and every other reader of it comes before the writer.

    GE source: inner_identity_delete_pass.cc (stage 2). Conflict test simplified: GE asks its read/write matrix.
    Example: ``Relu -> Identity -> ScatterUpdate`` without another reader of Relu: the write goes to Relu's buffer.
    """

    name: ClassVar[str] = "inner-identity-delete"
    title: ClassVar[Text] = Text("Needless copy", "多余写前拷贝")
    summary: ClassVar[Text] = Text("Removes those Identities nobody needs.", "去掉不再需要的写前 Identity。")
    ge_name: ClassVar[str] = "InnerIdentityDeletePass"
    source: ClassVar[str] = _DELETE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = frozenset({"Identity"})
    rules = MappingProxyType(
        {
            "no-conflict": Rule(Text("Nobody reads the value after the write.", "写之后没有节点再读取原值。"), _DELETE),
            "fixed": Rule(Text("A constant or an input must not be written.", "常量或模型输入不可改写。"), _DELETE),
            "read-later": Rule(
                Text("Another node may read the value after the write.", "其他节点可能在写之后读取该值。"), _DELETE
            ),
        }
    )

    def concerns(self, n: Node) -> bool:
        """The Identities with our mark."""
        return INNER in n.attrs

    def absent(self) -> Text:
        """In words."""
        return Text("no copy before a write", "没有写前拷贝")

    def apply(self, w: Work, scope: int) -> None:
        """Try each of them."""
        for i in w.e.members(scope):
            n = w.node(i)
            t = n.inputs[0] if INNER in n.attrs and n.inputs else None
            if t is None:
                continue
            p = w.node(w.e.tensor(t).producer)
            while p.op in SIZES_ONLY and p.inputs and p.inputs[0] is not None:
                t = p.inputs[0]
                p = w.node(w.e.tensor(t).producer)
            writers = [e.dst for e in memory_readers(w, n.outputs[0]) if writes(w, w.node(e.dst), e.dst_in)]
            others = [e.dst for e in memory_readers(w, t) if e.dst != i]
            if p.op in SOURCE_LIKE:
                w.keep(n, "fixed", [Ref("node", p.id)])
            elif any(o == x or not reaches(w, o, x) for x in writers for o in others):
                w.keep(n, "read-later", [Ref("node", o) for o in others])
            else:
                w.bypass(n, "no-conflict")
