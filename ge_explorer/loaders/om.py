"""Compiled offline models (``.om``): recognised, their header shown, refused with what to do instead.

Header: 256 bytes, little endian (inc/framework/common/framework_types_internal.h ModelFileHeader). Nothing behind the
header is decoded.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ge_explorer.errors import InputError
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

HEADER = 256
KINDS = {0: "IR", 1: "standard", 2: "tiny", 3: "flow", 4: "lite", 5: "bundle"}
ADVICE = (
    "Turn it into JSON with atc --mode=1 --om=x.om --json=x.json and load that, or load the ge_proto dump of its build "
    "(DUMP_GE_GRAPH=2), or the ONNX file it was built from."
)


class OmLoader:
    """Offline model, recognised by its magic."""

    def sniff(self, source: Source) -> bool:
        """True for the bytes IMOD and PICO."""
        return source.data.startswith((b"IMOD", b"PICO"))

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Always an InputError: names the format, shows the header, says what to do."""
        if source.data.startswith(b"PICO"):
            raise InputError("this is a compiled offline model for a small device (.om, magic PICO), not a text dump",
                             where=source.name, todo="Load the ONNX file it was built from.")  # fmt: skip
        raise InputError(
            "this is a compiled offline model (.om, magic IMOD), not a text dump", where=source.name,
            got=header_line(source.data), todo=ADVICE,
        )  # fmt: skip


OM = OmLoader()


def header_line(data: bytes) -> str:
    """The header in one line; says so when the file ends inside it."""
    if len(data) < HEADER:
        return f"{len(data)} bytes, cut off inside its header of {HEADER} bytes"
    version, length = struct.unpack_from("<I", data, 8)[0], struct.unpack_from("<I", data, 76)[0]
    encrypted, kind, dynamic = data[80], data[82], data[193]
    models, long_length = struct.unpack_from("<I", data, 156)[0], struct.unpack_from("<Q", data, 184)[0]
    name = data[84:116].split(b"\0", 1)[0].decode("utf-8", "replace")
    parts = [f"'{name}'", KINDS.get(kind, f"kind {kind}"), f"version {version:#x}", f"{long_length or length} bytes"]
    if models > 1:
        parts.append(f"{models} models")
    if dynamic:
        parts.append("dynamic shapes")
    if encrypted:
        parts.append("encrypted")
    return ", ".join(parts)
