"""A full-screen terminal client for language models that think."""

__version__ = "0.1.0"
