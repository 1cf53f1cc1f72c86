"""The embedded provider: a server in this process that speaks the real wire formats, and says so. No model in it."""
