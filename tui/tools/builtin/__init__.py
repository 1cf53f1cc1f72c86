"""The tools that ship with the program, and what they share."""
