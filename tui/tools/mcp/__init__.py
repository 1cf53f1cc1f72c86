"""MCP servers: configuration, connections, and their results as tool results."""
