"""The user's settings, in layers; each value knows its layer."""
