"""Sessions in SQLite; nothing acknowledged is lost."""
