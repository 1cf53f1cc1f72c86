"""Stores sessions in SQLite."""
