"""The Anthropic Messages wire."""
