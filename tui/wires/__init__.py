"""One module per wire format; bytes and values, no sockets."""
