"""One HTTP request and its streamed response: connections, limits, faults."""
