"""A full-screen terminal client for language models that think."""
