"""Scripts that make things for the documentation; run by hand."""
