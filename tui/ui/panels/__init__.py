"""Widgets: each owns one thing, tells upward by messages, is told downward by methods."""
