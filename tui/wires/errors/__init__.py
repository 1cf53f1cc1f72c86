"""Provider errors: shape, kind, wording, retry delay."""
