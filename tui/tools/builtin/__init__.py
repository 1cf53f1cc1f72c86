"""The built-in tools and the code they share."""
