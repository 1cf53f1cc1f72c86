"""Commands for bug reports and tests: decode recorded responses, encode requests."""
