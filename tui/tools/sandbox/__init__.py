"""Kernel sandboxes for commands that run without a question."""
