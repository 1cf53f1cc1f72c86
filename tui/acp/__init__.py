"""The program as an agent of an editor, by the Agent Client Protocol."""
