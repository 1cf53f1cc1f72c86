"""Decompresses gzip and deflate in small steps, so that a decompression bomb is stopped at the size limit."""

from __future__ import annotations

# A module of its own because zlib is not needed before the first byte: servers are asked not to compress.
import zlib
from collections.abc import Iterator

from tui.domain.errors import ErrorKind, ProviderError

STEP = 256 * 1024
"""Bytes decompressed at a time; memory use exceeds the caller's limit by at most this."""


class Inflate:
    """Decompresses chunks. An early end is not an error here; the decoder checks for the end marker."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise ProviderError(
                ErrorKind.NOT_A_STREAM, "The server compressed its answer in a way it was asked not to use."
            )
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of a chunk in steps."""
        while chunk and not self._inflater.eof:
            try:
                step = self._inflater.decompress(chunk, STEP)
            except zlib.error:
                raise ProviderError(ErrorKind.NETWORK, "The compressed answer is damaged.", retryable=True) from None
            chunk = self._inflater.unconsumed_tail
            if step:
                yield step
