"""Buffers that one memory-set operator fills with zeros before the graph starts (memory.md A14; atomic_memory_assigner.cc).

Read in the source, never compared with a run: they lie behind the reused blocks, 512-aligned, alive from the start to the end;
only different batches share bytes.
"""

from __future__ import annotations

from ge_explorer.memory.ge.options import GeOptions
from ge_explorer.memory.ge.size_classes import BATCH_LABEL
from ge_explorer.memory.ge.view import Op, Source, View
from ge_explorer.memory.sizes import aligned

WORKSPACE_INFO = "sub_node_workspace_info"


def cleaned_output(op: Op, o: int, options: GeOptions) -> bool:
    """True for an output of the central zero fill; operators that clean for themselves and policy 1 have none."""
    return _central(op, options) and o in op.attrs.get("atomic_output_index", ())


def cleaned_workspace(op: Op, w: int, options: GeOptions) -> bool:
    """The same for a workspace: the attribute maps operator names to {workspace index: bytes}."""
    if not _central(op, options):
        return False
    return any(int(k) == w for sizes in dict(op.attrs.get(WORKSPACE_INFO, {})).values() for k in sizes)


def _central(op: Op, options: GeOptions) -> bool:
    return (
        not options.separate_clean and bool(op.attrs.get("is_atomic_node")) and not op.attrs.get("need_gentask_atomic")
    )


def place_cleaned(view: View, options: GeOptions, start: int) -> tuple[dict[Source, int], dict[Source, int], int]:
    """(outputs, workspaces, end) of the range that is filled with zeros, beginning at ``start``."""
    outputs: dict[Source, int] = {}
    work: dict[Source, int] = {}
    ends: dict[str, int] = {"": start}
    for plain in (True, False):
        base = ends[""]
        for op in view.ops:
            label = str(op.attrs.get(BATCH_LABEL, ""))
            if (label == "") is not plain:
                continue
            at = ends.get(label, base)
            for o, x in enumerate(op.outputs):
                if x.size > 0 and cleaned_output(op, o, options):
                    outputs[Source(op.place, o)] = at
                    at += aligned(x.size)
            for w, size in enumerate(op.workspaces):
                if size and cleaned_workspace(op, w, options):
                    work[Source(op.place, w)] = at
                    at += aligned(size)
            ends[label] = at
    return outputs, work, max(ends.values())
