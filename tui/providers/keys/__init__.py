"""API keys: lookup, storage, masking."""
