"""One table behind slash commands, palette, keys and help."""
