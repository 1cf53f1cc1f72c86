"""Reading of provider errors: JSON shape, kind, message, retry delay."""
