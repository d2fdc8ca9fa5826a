"""Bytes of a tensor as GE's planner sees them (memory.md A2)."""

from __future__ import annotations

from ge_explorer.graph.model import DTYPE_BITS, Tensor

PAD = 32
"""Padding unit in bytes. GE asks the chip and falls back to 32 (tensor_size_utils.cc)."""
BLOCK_ALIGNMENT = 512
"""MEM_ALIGN_SIZE of mem_assigner.h: every block starts and ends on this many bytes."""
ASSUMED_BITS = 32
"""Element size used when the data type is unknown (our assumption, always flagged)."""


def padded_size(payload: int, pad: int = PAD) -> int:
    """GE's tensor size: 32 spare bytes, then rounded down to a multiple of 32 after adding ``pad - 1``; at least 32.

    Source: graph_metadef/graph/utils/tensor_size_utils.cc GetTensorMemorySizeInBytesWithAutoPadding.

    >>> padded_size(448), padded_size(481), padded_size(0)
    (480, 544, 32)
    """
    return (payload + 32 + pad - 1) // 32 * 32 or 32


def aligned(size: int, alignment: int = BLOCK_ALIGNMENT) -> int:
    """Round up to the block alignment; zero stays zero (mem_reuse_strategy.cc AlignMemOffset).

    >>> aligned(0), aligned(1), aligned(512), aligned(513)
    (0, 512, 512, 1024)
    """
    return -(-size // alignment) * alignment


def payload_bytes(tensor: Tensor) -> tuple[int, bool]:
    """(bytes without padding, assumed). Unknown dimensions count as 1, an unknown rank as one element, an unknown type as
    4 bytes; ``assumed`` is then True and must reach the user.
    """
    known = tensor.nbytes
    if known is not None:
        return known, False
    total = 1
    for d in tensor.shape or ():
        total *= d if isinstance(d, int) and d >= 0 else 1
    bits = DTYPE_BITS.get(tensor.dtype or "", ASSUMED_BITS)
    return (total * bits + 7) // 8, True
