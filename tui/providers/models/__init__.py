"""Model lists of providers, local servers and models.dev, and their cache on disk."""
