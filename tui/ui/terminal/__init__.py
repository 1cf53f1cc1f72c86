"""The terminal: input driver, output, clipboard, notifications, shutdown."""
