"""The sandboxes of this machine, as parameters of tests."""

from __future__ import annotations

import pytest

from tui.tools.sandbox.sandbox import Kernel, this_kernel

HERE = this_kernel()
LANDLOCK = Kernel(landlock=HERE.landlock, seccomp=HERE.seccomp)
OLD_LANDLOCK = Kernel(landlock=min(HERE.landlock, 1), seccomp=HERE.seccomp)
"""The same kernel used as the first version that knows Landlock."""
BUBBLEWRAP = Kernel(seccomp=HERE.seccomp, bubblewrap=HERE.bubblewrap)
KERNELS = [
    pytest.param(
        kernel,
        id=name,
        marks=pytest.mark.skipif(not kernel.strengths, reason=f"NO {name.upper()} ON THIS MACHINE: not tested"),
    )
    for name, kernel in (("landlock", LANDLOCK), ("landlock 1", OLD_LANDLOCK), ("bubblewrap", BUBBLEWRAP))
]
every_sandbox = pytest.mark.parametrize("kernel", KERNELS)

needs_sandbox = pytest.mark.skipif(not HERE.strengths, reason="NO SANDBOX ON THIS MACHINE: not tested")
