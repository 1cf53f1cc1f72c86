"""Encoders and decoders of the provider APIs, one folder per wire format. No code here opens a socket."""
