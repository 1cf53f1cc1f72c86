"""Draws formulas and diagrams as rows of text; pure."""
