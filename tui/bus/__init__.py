"""The event bus. Publishing never blocks and no event is lost."""
