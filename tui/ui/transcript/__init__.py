"""The conversation, drawn by lines: one widget with a section per message; only visible lines are laid out."""
