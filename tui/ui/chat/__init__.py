"""The chat screen: transcript, status, title and footer."""
