"""Widgets: each owns one thing."""
