"""Pictures in the transcript: decoded beside the event loop, drawn in the way that the terminal has."""
