"""Reading a text file of somebody else's: bounded, UTF-8, never a device or a pipe."""

from __future__ import annotations

from pathlib import Path

from ge_explorer.errors import InputError


def read_text(path: Path, limit: int, wanted: str) -> str:
    """Text of a regular file of at most ``limit`` bytes, a byte order mark removed. ``wanted``: the format, named in errors.

    Raises InputError for anything else; a named pipe or a device is refused, because reading it may never end.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError("this is not a regular file", where=str(path), todo=f"Give a file of {wanted}.")
        if path.stat().st_size > limit:
            raise InputError("the file is too large", where=str(path), todo=f"At most {limit} bytes are read.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as e:
        raise InputError("the file cannot be read", where=str(path), got=e.strerror) from e
    except UnicodeDecodeError as e:
        raise InputError("the file is not text", where=f"{path}, byte {e.start}", todo=f"Give UTF-8 {wanted}.") from e
