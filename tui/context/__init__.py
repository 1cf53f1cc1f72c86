"""Selects what is sent to the model and counts its tokens."""
