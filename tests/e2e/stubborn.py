"""A program on the alternate screen that is told to leave and only says so; ``patient`` waits for ever."""

import os
import sys
import threading

from tui.ui.terminal import shutdown as leaving
from tui.ui.terminal.shutdown import Shutdown

if "patient" in sys.argv:
    leaving.GRACE_S = 600.0


def heard(code: int) -> None:
    os.write(1, b" heard")  # from within a signal handler: nothing buffered, which might be in the middle of a write


with Shutdown() as shutdown:
    shutdown.register_leave(heard)
    os.write(1, b"\x1b[?1049h\x1b[?1003h\x1b[?25lstubborn")
    while True:
        threading.Event().wait(0.05)
