"""ponder with everything beside the screen writing and failing at once."""

import asyncio
import gc
import os
import subprocess
import sys
import threading

from tui.cli.main import main
from tui.ui.chat.screen import ChatScreen

mounted = ChatScreen.on_mount


async def _fail(words: str) -> None:
    await asyncio.sleep(0)  # an eager task (Python 3.12) would fail before anybody had it
    raise RuntimeError(words)


def _fail_in_a_thread() -> None:
    raise RuntimeError("from a thread")


async def _leave_a_task_alone() -> None:
    task = asyncio.ensure_future(_fail("from another loop"))
    await asyncio.wait([task])
    del task
    gc.collect()


def _make_noise() -> None:
    threading.Thread(target=_fail_in_a_thread).start()
    subprocess.run([sys.executable, "-c", "import sys; sys.stderr.write('from a child')"], check=False)
    os.write(1, b"from descriptor 1\n")
    threading.Thread(target=asyncio.run, args=(_leave_a_task_alone(),)).start()


def on_mount(self: ChatScreen) -> None:
    """As ever, and a quarter of a second later everything at once."""
    mounted(self)
    tasks = [asyncio.ensure_future(_fail("from a task"))]

    def forget() -> None:
        tasks.clear()
        gc.collect()

    self.set_timer(0.1, forget)
    threading.Timer(0.1, _make_noise).start()


ChatScreen.on_mount = on_mount  # type: ignore[method-assign]  # for this run only

if __name__ == "__main__":
    sys.exit(main([]))
