"""One conversation: turns, retries, tools, cancelling, compression, spending limits."""
