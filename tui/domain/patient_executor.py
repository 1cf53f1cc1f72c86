"""Threads for blocking work, also while the system allows no further ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


class PatientExecutor(ThreadPoolExecutor):
    """Its first thread starts at once. If a further one cannot be started, work waits for those that run.

    Without this, a limit of processes that something else uses up for a moment would end the program.
    """

    def __init__(self, most: int | None = None, name: str = "") -> None:
        super().__init__(most, thread_name_prefix=name)
        self.submit(int)

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise
