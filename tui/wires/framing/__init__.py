"""Framers, which split the bytes of a response body into frames."""
