"""Builds the program: one of every part, from the environment and the command line. No decisions."""
