"""The built-in tools that this system lacks.

They open files folder by folder (``dir_fd``) and end commands by their process group; Windows has neither.
"""

from __future__ import annotations

import os

UNIX_TOOLS = frozenset({"edit_file", "glob", "grep", "list_dir", "read_file", "shell", "write_file"})


def missing_tools() -> frozenset[str]:
    """Names of the built-in tools that are not offered here."""
    return frozenset() if os.name == "posix" else UNIX_TOOLS


def why_missing(name: str) -> str:
    """A sentence for the user and the model."""
    return f"The tool `{name}` does not work on Windows."
