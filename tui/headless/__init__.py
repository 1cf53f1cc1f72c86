"""Runs one prompt without a screen and writes clean output for scripts."""
