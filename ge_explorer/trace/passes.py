"""What a pass is: a frozen dataclass whose fields are its options, with rules, declared facets and GE's source.

The runner (runner.py) calls ``skip_reason``, ``requires``, ``run`` and ``ensures``; nobody else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from ge_explorer.errors import ContractError
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot

Fidelity = Literal["exact", "simplified", "ours"]
GeStatus = Literal["SUCCESS", "NOT_CHANGED", "FAILED", "PARAM_INVALID", "INTERNAL_ERROR", ""]
Chapter = Literal["optimise", "partition", "streams", "memory", "events", "physical", "activation"]

CHAPTERS: Mapping[str, Text] = MappingProxyType(
    {
        "optimise": Text("Optimise", "优化"),
        "partition": Text("Partition", "切分"),
        "streams": Text("Streams", "流分配"),
        "memory": Text("Memory", "内存"),
        "events": Text("Events", "事件"),
        "physical": Text("Physical", "物理流"),
        "activation": Text("Activation", "激活"),
    }
)


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a decision was taken. ``source`` is a GE file and symbol, or "ours"."""

    text: Text
    source: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """One recorded choice: what changed for ``subject`` in ``facet``, from ``before`` to ``after``, by which rule.

    ``decisive`` False marks a pass that looked and left things alone (shown hollow in the why-trail).
    """

    subject: Ref
    facet: str
    before: Any
    after: Any
    rule: str
    evidence: tuple[Ref, ...] = ()
    note: Text | None = None
    decisive: bool = True


@dataclass
class PassContext:
    """What a running pass may use besides the snapshot: its scope, options, and the decision log."""

    rules: Mapping[str, Rule]
    option_values: Mapping[str, str]
    allowed_options: frozenset[str]
    scope: int = 0
    decisions: list[Decision] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    status: GeStatus = ""

    def option(self, key: str, default: str = "") -> str:
        """Value of a GE option the pass declared in ``option_keys``; ContractError for an undeclared one."""
        if key not in self.allowed_options:
            raise ContractError(f"pass reads undeclared option {key!r}")
        return self.option_values.get(key, default)

    def decide(
        self,
        subject: Ref,
        facet: str,
        before: Any,
        after: Any,
        rule: str,
        evidence: Iterable[Ref] = (),
        note: Text | None = None,
        *,
        decisive: bool = True,
    ) -> None:
        """Record a decision. ``rule`` must be a key of the pass's ``rules``."""
        if rule not in self.rules:
            raise ContractError(f"decision uses unknown rule {rule!r}; known: {', '.join(self.rules)}")
        self.decisions.append(Decision(subject, facet, before, after, rule, tuple(evidence), note, decisive))

    def report(self, issue: Issue) -> None:
        """Record a finding about the user's graph."""
        self.issues.append(issue)


@dataclass(frozen=True)
class Pass:
    """Base of all passes. Subclasses are ``@dataclass(frozen=True)`` and set the class attributes.

    ``name`` is the pipeline text name (``assign-by-label``), ``title`` what the strip shows (short, both languages).
    ``per_scope`` passes run once per scope, root first, the whole chain of neighbouring per-scope passes for one scope
    before the next (as GE's LogicalStreamAllocator::Assign does); ``ctx.scope`` says which.
    """

    name: ClassVar[str] = ""
    title: ClassVar[Text] = Text("")
    summary: ClassVar[Text] = Text("")
    chapter: ClassVar[Chapter] = "streams"
    reads: ClassVar[frozenset[str]] = frozenset()
    writes: ClassVar[frozenset[str]] = frozenset()
    option_keys: ClassVar[frozenset[str]] = frozenset()
    ge_name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    fidelity: ClassVar[Fidelity] = "exact"
    rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({})
    per_scope: ClassVar[bool] = False
    modelled: ClassVar[bool] = True
    """False: the step only shows where GE runs the pass."""

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """A sentence when the pass does not apply here (single-stream mode, option off); None to run it."""
        return None

    def requires(self, s: Snapshot) -> None:
        """Raise PassFailed when what the pass needs is missing. The runner checks that declared reads are not None."""

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Return the next snapshot; set ``ctx.status`` to GE's status where GE has one."""
        raise ContractError(f"pass {self.name!r} has no run()")

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Raise ContractError when the result breaks an invariant of this pass."""
