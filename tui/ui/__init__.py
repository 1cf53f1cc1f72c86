"""The Textual interface: screens, widgets, themes and the terminal driver."""
