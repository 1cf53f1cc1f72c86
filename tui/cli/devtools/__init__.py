"""Commands for bug reports and tests: recorded responses decoded, requests encoded."""
