"""Which tool calls are allowed, asked for or denied."""
