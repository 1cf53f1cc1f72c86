"""Run as a program: writes a file over and over in a child that is killed at any moment, and looks at what is left.

    python -m tests.settings.killed_writer FILE ROUNDS

Prints how many of the rounds left the file whole; a program of its own, because only that may fork without threads.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from itertools import count
from pathlib import Path

from tui.settings.user_files import write_atomically


def content(number: int) -> str:
    """Big enough to be written in pieces, and telling whether it is whole."""
    return f"# {number}\n" + f"line = {number}\n" * 4_000 + "# end\n"


def is_whole(text: str) -> bool:
    number = text.partition("\n")[0].removeprefix("# ")
    return number.isdigit() and text == content(int(number))


def main(path: Path, rounds: int) -> None:
    chance = random.Random(20)
    whole = 0
    write_atomically(path, content(0))
    for _ in range(rounds):
        child = os.fork()
        if child == 0:
            for number in count(1):
                write_atomically(path, content(number))
        time.sleep(chance.uniform(0.0005, 0.008))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        whole += is_whole(path.read_text(encoding="utf-8"))
    print(whole)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
