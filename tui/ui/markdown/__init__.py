"""Markdown drawn by lines: parsed in chunks as it streams, laid out per width, coloured per theme."""
