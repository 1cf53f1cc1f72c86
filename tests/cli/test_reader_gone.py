"""What a command does when nobody reads it any more."""

from __future__ import annotations

import subprocess
import sys


def test_a_closed_pipe_ends_a_command_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tui", "models"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        said = command.stderr.read()
    assert (command.returncode, said) == (141, b"")
