"""Build the program from the environment and the command line."""
