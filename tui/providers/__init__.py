"""Access to the providers: API keys, HTTP transport, model lists, the demo provider."""
