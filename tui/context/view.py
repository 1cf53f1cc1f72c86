"""How a compressed history is looked at; the value itself is a noun of the domain."""

from __future__ import annotations

from tui.domain.compression import CompressionView

__all__ = ["CompressionView"]
