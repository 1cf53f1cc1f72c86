"""Composition root: builds the graph of rooms and owns nothing. The only place that knows all of them."""
