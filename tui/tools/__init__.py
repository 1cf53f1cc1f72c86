"""The tools a model can call, and the permissions for them."""
