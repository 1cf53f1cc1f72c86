"""Draws mermaid diagrams: one parser for each kind, one layout for everything that is boxes and edges; pure."""
