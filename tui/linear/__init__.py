"""The program line by line: it only appends lines, for screen readers and terminals that cannot draw a screen."""
