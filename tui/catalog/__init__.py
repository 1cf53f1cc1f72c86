"""What is known about models and providers, as data."""
