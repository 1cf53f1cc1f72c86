"""Themes: files, the current one, and colours for text roles."""
