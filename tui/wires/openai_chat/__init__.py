"""The OpenAI Chat Completions wire and its dialects."""
