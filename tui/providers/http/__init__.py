"""HTTP requests with streamed responses: connections, deadlines, errors."""
