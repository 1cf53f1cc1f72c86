"""Whole screens: layout and focus."""
