"""Markdown drawn by lines: parsed in pieces as it streams, laid out per width, coloured per theme."""
