"""Undoes gzip and deflate in small steps, so that a bomb is seen before it has gone off."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from tui.domain.errors import ErrorKind, ProviderError

STEP = 256 * 1024
"""Bytes inflated at a time; memory beyond the caller's own cap stays below this."""


class Inflate:
    """A stream of compressed chunks; a cut end is no error here, the wire's own end decides."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise ProviderError(
                ErrorKind.NOT_A_STREAM, "The server compressed its answer in a way it was asked not to use."
            )
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What the chunk holds, in steps."""
        while chunk and not self._inflater.eof:
            try:
                step = self._inflater.decompress(chunk, STEP)
            except zlib.error:
                raise ProviderError(ErrorKind.NETWORK, "The compressed answer is damaged.", retryable=True) from None
            chunk = self._inflater.unconsumed_tail
            if step:
                yield step
