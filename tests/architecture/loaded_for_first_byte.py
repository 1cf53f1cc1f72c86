"""Runs ``ponder -p`` as ``python -m`` does, and says which modules were loaded when its first byte was written.

Run: ``python -m tests.architecture.loaded_for_first_byte``. The names go to stderr as a JSON list; the answer is lost.
Another command line may follow.
"""

from __future__ import annotations

import json
import sys
from typing import TextIO, cast

AS_PYTHON_LEFT_IT = frozenset(sys.modules)
QUESTION = ("-p", "hi", "-m", "demo/fast")


class FirstByte:
    """Looks at ``sys.modules`` when it is written to for the first time; everything else is the stream's."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.loaded: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if text and not self.loaded:
            self.loaded = sorted(set(sys.modules) - AS_PYTHON_LEFT_IT)
        return len(text)


def main() -> None:
    out = FirstByte(sys.stdout)
    sys.stdout = cast(TextIO, out)  # it has all that the program uses
    from tui.cli.main import main as ponder

    code = ponder(sys.argv[1:] or QUESTION)
    print(json.dumps(out.loaded), file=sys.stderr)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
