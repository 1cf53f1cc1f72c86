"""Child processes that obey permission bits also when the tests run as root."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def obey_permission_bits() -> None:
    """For ``preexec_fn``: root loses the right to open what its owner may not."""
    if sys.platform == "linux" and os.geteuid() == 0:
        library = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            library.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def bits_are_obeyed(folder: Path) -> bool:
    """Whether a child started with ``obey_permission_bits`` cannot open a file of mode 000."""
    probe = folder / "probe"
    probe.touch(mode=0o000)
    try:
        done = subprocess.run(["cat", str(probe)], preexec_fn=obey_permission_bits, capture_output=True, check=False)
    finally:
        probe.unlink()
    return done.returncode != 0
