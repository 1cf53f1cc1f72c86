"""What will really be sent, and how much it counts."""
