"""What the model may call, and who allows it."""
