"""The composer, in which the user writes, and its history, chips and completion."""
