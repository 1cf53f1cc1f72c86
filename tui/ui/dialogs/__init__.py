"""Sheets: dialogs and whole screens that open over the chat."""
