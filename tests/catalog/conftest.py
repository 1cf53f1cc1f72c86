"""With ``PONDER_UPDATE=1`` the packaged tables are written before anything reads them."""

from __future__ import annotations

import os

from tests.catalog.packaged_tables import update

if os.environ.get("PONDER_UPDATE"):
    update()
