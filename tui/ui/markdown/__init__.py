"""Markdown drawn by lines: split into chunks as it streams, laid out for a width."""
