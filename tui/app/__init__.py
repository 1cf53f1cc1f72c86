"""What the program does for its user: services that commands, screens and headless runs call."""
