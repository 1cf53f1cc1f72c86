"""A server that does everything wrong on request, for every wire."""
