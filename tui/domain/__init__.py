"""Value types that every other package uses. Imports the standard library only."""
