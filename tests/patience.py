"""How long anything may take before a test gives up: not how long it takes, because the machine may be busy."""

from __future__ import annotations

PATIENCE_S = 120.0
