"""Composition root: builds the graph of rooms and owns nothing."""
