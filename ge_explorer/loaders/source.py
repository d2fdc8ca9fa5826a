"""Bytes to read, where they came from, and the first look at what they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ge_explorer import examples
from ge_explorer.errors import InputError, did_you_mean

SIZE_LIMIT = 2 * 1024**3 - 1
"""Protobuf messages end here; a larger model keeps its weights in a side file."""


@dataclass(frozen=True, slots=True)
class Source:
    """Content with its name; ``path`` is None for bytes handed over in memory."""

    name: str
    data: bytes
    path: Path | None = None

    @property
    def head(self) -> bytes:
        """First 4 KiB."""
        return self.data[:4096]

    @property
    def is_text(self) -> bool:
        """True when the first 4 KiB hold no control characters except white space (UTF-8 allowed)."""
        head = self.head
        return bool(head) and not any(b < 9 or 13 < b < 32 for b in head)


def is_folder(path: Path) -> bool:
    """True for a folder; False also for a name that no file system takes (read_source then says so)."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_source(path: Path, limit: int = SIZE_LIMIT) -> Source:
    """Read a file. InputError when it is missing, not a file, unreadable, empty or larger than ``limit`` bytes."""
    where = str(path)
    try:
        if path.is_dir():
            raise InputError("this is a folder, not a model file", where=where, todo="Give one file from it.")
        if path.exists() and not path.is_file():
            raise InputError("this is a device or pipe, not a file", where=where, todo="Copy it to a file first.")
        size = os.stat(path).st_size
        if size > limit:
            raise InputError(
                "the file is too large to be one protobuf message",
                where=where,
                got=f"{size} bytes, limit {limit}",
                todo="Export the model with external data (weights in a side file).",
            )
        data = path.read_bytes() if size else b""  # a pseudo-file such as /proc/kmsg says 0 and may never end
    except FileNotFoundError:
        # A bare word is more likely a mistyped example than a path.
        bare = path.name == str(path) and not path.suffix
        todo = did_you_mean(str(path), examples.names()) if bare else "Check the path or give an example name."
        raise InputError("there is no such file", where=where, todo=todo) from None
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else str(e)
        raise InputError(
            "the file cannot be read", where=where, got=reason, todo="Check the path and its permissions."
        ) from e
    if not data:
        raise InputError("the file is empty", where=where, todo="Export the model again.")
    return Source(path.name, data, path)


_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive (PyTorch saves .pt and .pth this way)", "Unpack it, or export the model to ONNX."),
    (b"PK\x05\x06", "an empty zip archive", "Export the model to ONNX."),
    (b"\x1f\x8b", "a gzip archive", "Unpack it first."),
    (b"BZh", "a bzip2 archive", "Unpack it first."),
    (b"\xfd7zXZ", "an xz archive", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "Unpack it first."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it first."),
    (b"\x89HDF", "an HDF5 file (Keras saves models this way)", "Convert it to ONNX."),
    (b"\x80\x03", "a Python pickle", "Pickles are not opened. Export the model to ONNX."),
    (b"\x80\x02", "a Python pickle", "Pickles are not opened. Export the model to ONNX."),
    (b"\x80\x04", "a Python pickle", "Pickles are not opened. Export the model to ONNX."),
    (b"\x80\x05", "a Python pickle", "Pickles are not opened. Export the model to ONNX."),
    (b"\x7fELF", "a program or shared library", "Give the model file."),
    (b"MZ", "a Windows program", "Give the model file."),
    (b"\x89PNG", "a picture", "Give the model file."),
    (b"\xff\xd8\xff", "a picture", "Give the model file."),
    (b"GIF8", "a picture", "Give the model file."),
    (b"%PDF", "a PDF document", "Give the model file."),
    (b"GGUF", "a GGUF weight file", "It holds weights, not a graph. Export the model to ONNX."),
    (b"\x93NUMPY", "a numpy array", "It holds data, not a graph."),
    (b"SQLite format 3", "an SQLite database", "Give the model file."),
    (b"ORTM", "an ONNX Runtime flatbuffer", "Load the .onnx file it was made from."),
)  # fmt: skip


def refuse_known_strangers(source: Source) -> None:
    """InputError naming the format when the content is a well-known format that holds no readable graph."""
    for magic, what, todo in _MAGIC:
        if source.data.startswith(magic):
            raise InputError(f"this is {what}, not a model graph", where=source.name, todo=todo)
    if source.data[257:262] == b"ustar":
        raise InputError("this is a tar archive, not a model graph", where=source.name, todo="Unpack it first.")
    if source.data[4:8] == b"ORTM":
        raise InputError(
            "this is an ONNX Runtime flatbuffer", where=source.name, todo="Load the .onnx it was made from."
        )
    if source.data[4:8] == b"TFL3":
        raise InputError("this is a TensorFlow Lite model", where=source.name, todo="Convert it to ONNX (tf2onnx).")
    if source.data[8:10] == b'{"' and int.from_bytes(source.data[:8], "little") < len(source.data):
        raise InputError("this is a safetensors file", where=source.name, todo="It holds weights, not a graph.")
    if source.is_text:
        _refuse_text(source)


def _refuse_text(source: Source) -> None:
    head = source.head.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n").lower()
    if head.startswith("version https://git-lfs"):
        raise InputError("this is a Git LFS pointer, not the model", where=source.name, todo="Run git lfs pull.")
    if head.startswith(("<!doctype", "<html")):
        raise InputError("this is a web page, not a model", where=source.name, todo="Download the raw file.")
    if not head:
        raise InputError("the file holds only white space", where=source.name, todo="Export the model again.")
