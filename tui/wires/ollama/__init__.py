"""Ollama's native chat wire."""
