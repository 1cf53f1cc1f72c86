"""MCP servers: configuration, connections, and conversion of their results."""
