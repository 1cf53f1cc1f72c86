"""Files named on the command line, which can also be pipes."""

from __future__ import annotations

import errno
from pathlib import Path

LARGEST = 256_000_000


def read_input(path: Path) -> bytes:
    """The content of a file, up to a size that no recorded response has. Raises OSError."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST // 1_000_000} MB", str(path))
    return content
