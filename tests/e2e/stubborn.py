"""A program on the alternate screen that is told to leave and does not."""

import sys
import threading

from tui.ui.departure import Departure

with Departure() as departure:
    departure.attend(lambda code: None)
    sys.stdout.write("\x1b[?1049h\x1b[?1003h\x1b[?25lstubborn")
    sys.stdout.flush()
    while True:
        threading.Event().wait(0.05)
