"""What the user chose, in layers that know where each value came from."""
