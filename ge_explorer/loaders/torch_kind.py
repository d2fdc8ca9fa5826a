"""Is an object PyTorch's? Answered without importing torch."""

from __future__ import annotations


def is_torch(source: object) -> bool:
    """True for an ``nn.Module`` or an ``ExportedProgram``; never imports torch."""
    known = {("torch.nn.modules.module", "Module"), ("torch.export.exported_program", "ExportedProgram")}
    return any((c.__module__, c.__name__) in known for c in type(source).__mro__)
