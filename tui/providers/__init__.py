"""Where a wire is spoken: keys, transport, discovery, the demo."""
