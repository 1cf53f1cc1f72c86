"""The second consumer of the bus: no screen, clean output."""
