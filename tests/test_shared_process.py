"""One process serves all workers of a run, and ends with the last of them."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
PROCESS = """
import select, sys, os
from tests.shared_process import Workers
workers = Workers(sys.argv[1], int(sys.argv[2]))
while True:
    for worker in workers.take(select.select(workers.sockets, [], [])[0]):
        if worker.recv(1):
            worker.sendall(b"%d\\n" % os.getpid())
        elif workers.let_go(worker):
            sys.exit()
"""
WORKER = """
import sys
from tests.shared_process import connect
with connect("served").makefile("rw") as process:
    process.write("?")
    process.flush()
    print(process.readline().strip(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no names for sockets here: each worker starts programs itself")
def test_workers_that_ask_at_the_same_time_get_the_same_process_which_ends_with_the_last(tmp_path: Path) -> None:
    (tmp_path / "served.py").write_text(PROCESS)
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "PYTEST_XDIST_TESTRUNUID": uuid.uuid4().hex
    }  # fmt: skip
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env=environment,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    answers = {worker.stdout.readline() for worker in workers if worker.stdout}
    assert len(answers) == 1
    process = Path("/proc", answers.pop().strip())
    for worker in workers:
        assert process.exists()
        assert worker.stdin is not None
        worker.stdin.close()
    for worker in workers:
        assert worker.wait(PATIENCE_S) == 0
        assert worker.stdout is not None
        worker.stdout.close()
    assert not process.exists()
