"""API keys: where they come from, where they are stored, how they stay hidden."""
