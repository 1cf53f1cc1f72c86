"""How much a command that runs without a question may do."""

from __future__ import annotations

from enum import StrEnum


class Strength(StrEnum):
    """The word at the end of a rule about commands."""

    READ_ONLY = "ro"
    """Reads; writes only to its own temporary folder; no network, no signals to other processes."""
    WRITES_FOLDER = "rw"
    """Also writes to the working folder, except files that other programs run or read automatically."""
    FULL = "full"
    """No sandbox."""

    @property
    def rank(self) -> int:
        """Higher ranks allow more."""
        return list(Strength).index(self)

    @property
    def description(self) -> str:
        """A description for the user and the model."""
        match self:
            case Strength.READ_ONLY:
                return "it may read, but not write or use the network"
            case Strength.WRITES_FOLDER:
                return "it may write the working folder, except files that other programs run, without network"
            case Strength.FULL:
                return "without a sandbox"
