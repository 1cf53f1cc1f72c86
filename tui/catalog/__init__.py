"""Facts about models and providers, as data."""
