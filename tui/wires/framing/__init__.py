"""Bytes of a response body to frames."""
