"""Widgets: each owns one thing, reports by messages and is updated by method calls."""
