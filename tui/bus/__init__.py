"""The event bus: publish never waits, nothing is dropped."""
