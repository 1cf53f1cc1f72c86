"""One conversation, alive: turns, retries, tools, cancellation."""
