"""Work in threads while the system allows no further ones."""

from __future__ import annotations

import threading

import pytest

from tui.domain.patient_executor import PatientExecutor


def test_work_waits_for_the_threads_that_run_while_no_further_one_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executor, release = PatientExecutor(4), threading.Event()
    first = executor.submit(release.wait, 300)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    later = [executor.submit(int, number) for number in range(3)]
    assert not any(future.done() for future in later)
    release.set()
    assert (first.result(), [future.result() for future in later]) == (True, [0, 1, 2])
    executor.shutdown()
