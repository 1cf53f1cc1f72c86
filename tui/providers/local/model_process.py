"""Runs one model with llama.cpp's own HTTP server, as ``python -m tui.providers.local.model_process``.

Loading holds the interpreter's lock for as long as it takes, and C++ writes to the standard error output: neither may
happen in the process that draws the screen. What to do comes as JSON on the standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading

SLOTS = 4
"""Requests that are answered at the same time; they share the window, so this costs no memory."""
LOOK_S = 2.0
LOG_S = 0.5
"""How long llama.cpp may take to write, in a thread of its own, why it could not load the model."""
BATCH = 512
"""Tokens of a prompt between two reports of progress; llama.cpp computes no more at once."""
CACHED_MIB = 1_024
"""Memory for the prompts of conversations that were left, so that returning to one is quick."""


def main() -> None:
    """Load the model and serve until the process is ended, or the one that started it."""
    keeper = os.getppid()
    wanted = json.load(sys.stdin)
    sys.stdin.close()
    xllamacpp = importlib.import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = wanted["model"]
    if wanted["mmproj"]:
        parameters.mmproj.path = wanted["mmproj"]
    parameters.n_ctx = wanted["context"]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [wanted["key"]]
    parameters.n_parallel = SLOTS
    parameters.n_batch = BATCH
    parameters.kv_unified = True
    parameters.cache_ram_mib = CACHED_MIB
    parameters.ui = False
    parameters.offline = True
    parameters.warmup = False
    try:
        server = xllamacpp.Server(parameters)  # returns when the model is loaded; its log names the port
    except RuntimeError as error:
        threading.Event().wait(LOG_S)
        sys.exit(str(error))
    while server is not None and os.getppid() == keeper:
        threading.Event().wait(LOOK_S)


if __name__ == "__main__":
    main()
