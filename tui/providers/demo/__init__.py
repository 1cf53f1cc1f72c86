"""The demo provider: a server in this process that answers from scripts in the real wire formats, without a model."""
