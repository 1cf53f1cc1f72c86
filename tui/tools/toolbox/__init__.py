"""All tools of a session behind one interface."""
