"""The conversation, drawn by lines: one widget, as many sections as there are messages, only what is seen laid out."""
