"""Compressed text as the engine reads it: decompressed piece by piece, never as a whole."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# First bytes of files that are no text, and what messages say about them.
_NO_TEXT = {
    b"BZh": "bzip2 data, expected text, plain or compressed with gzip or Zstandard; unpack it",
    b"\xfd7zXZ": "xz data, expected text, plain or compressed with gzip or Zstandard; unpack it",
    b"PK\x03\x04": "a zip archive, expected text; unpack it, or name it .npz if it has arrays",
    b"PAR1": "a Parquet file, expected text; name it .parquet",
    b"ARROW1": "an Arrow file, expected text; name it .arrow",
    b"\x93NUMPY": "a NumPy array, expected text; name it .npy",
    b"\xff\xfe": "UTF-16, expected UTF-8; convert the file, as iconv does",
    b"\xfe\xff": "UTF-16, expected UTF-8; convert the file, as iconv does",
}
_INPUT_BYTES = 256 << 10
_ZSTD_INPUT_BYTES = 16 << 10
_GZIP_FORMAT = 31  # of zlib's wbits: the largest window, gzip's header and checksum


class ByteStream(Protocol):
    """What the engine asks of a stream."""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end."""

    def stored_position(self) -> int:
        """Bytes of the file that were used up so far."""


class StreamOpener(NamedTuple):
    """A compressed text that can be read from its start any number of times."""

    open: Callable[[], ByteStream]
    stored_bytes: int


def compression_of(path: str) -> Literal["gzip", "zstd"] | None:
    """Detected by the first bytes, because names of files mislead."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(4)
    except OSError:  # the reader of the file reports it
        return None
    if head.startswith(_GZIP):
        return "gzip"
    return "zstd" if head == _ZSTD else None


def require_text(path: str) -> None:
    """Raises InputError for a file of a kind that is often taken for text. The reader of the file
    reports other problems."""
    if Path(path).is_dir():
        raise InputError(
            f"{path}: found a folder without a .parquet or .arrow file in it, expected a file or "
            "such a folder; folders inside it are not looked into"
        )
    try:
        with Path(path).open("rb") as file:
            head = file.read(8)
    except OSError:
        return
    for magic, found in _NO_TEXT.items():
        if head.startswith(magic):
            raise InputError(f"{path}: found {found}")


def compressed_text(path: str) -> StreamOpener | None:
    """How to read the file if it is compressed; None if it is not."""
    compression = compression_of(path)
    if compression is None:
        return None
    size = os.stat(path).st_size  # noqa: PTH116
    codec = _gzip_codec() if compression == "gzip" else _zstd_codec(path)
    return StreamOpener(lambda: CompressedStream(path, codec), size)


class _Decoder(Protocol):
    """Decodes one member or frame."""

    @property
    def eof(self) -> bool: ...


class _Codec(NamedTuple):
    """A kind of compression."""

    name: str  # for messages
    new_decoder: Callable[[], _Decoder]
    # (decoder, input, most bytes wanted) -> output, and the input that is left
    decode: Callable[[Any, bytes, int], tuple[bytes, bytes]]
    error: type[Exception]


class CompressedStream:
    """Decompresses members one after the other, as `cat`, bgzip and parallel compressors write
    them."""

    def __init__(self, path: str, codec: _Codec) -> None:
        self._path = path
        self._codec = codec
        self._file = Path(path).open("rb")  # noqa: SIM115
        self._decoder: _Decoder | None = None
        self._input = b""
        self._output = b""  # decompressed bytes beyond those asked for

    def read(self, size: int) -> bytes:
        if not self._output:
            self._output = self._next_piece(size)
        piece, self._output = self._output[:size], self._output[size:]
        return piece

    def stored_position(self) -> int:
        return self._file.tell() - len(self._input)

    def _next_piece(self, size: int) -> bytes:
        codec = self._codec
        while self._input or self._refill():
            if (self._decoder is None or self._decoder.eof) and not self._begin_member():
                continue
            try:
                piece, self._input = codec.decode(self._decoder, self._input, size)
            except codec.error as error:
                raise InputError(_damaged(self._path, codec.name, error)) from error
            if piece:
                return piece
        if self._decoder is not None and not self._decoder.eof:
            raise InputError(_cut_short(self._path, codec.name))
        return b""

    def _refill(self) -> bool:
        self._input = self._file.read(_INPUT_BYTES)
        return bool(self._input)

    def _begin_member(self) -> bool:
        """False if only padding is left of the input, as the end of a tape block has it."""
        if self._decoder is not None:
            self._input = self._input.lstrip(b"\0")
        if not self._input:
            return False
        self._decoder = self._codec.new_decoder()
        return True

    def __del__(self) -> None:
        self._file.close()


def _gzip_codec() -> _Codec:
    def decode(decoder: Any, data: bytes, size: int) -> tuple[bytes, bytes]:
        piece = decoder.decompress(data, size)
        return piece, decoder.unused_data or decoder.unconsumed_tail

    return _Codec("gzip", lambda: zlib.decompressobj(_GZIP_FORMAT), decode, zlib.error)


def _zstd_codec(path: str) -> _Codec:
    """Uses the package zstandard. Its reader takes a truncated file for a complete one, so frames
    are decoded one by one here; a call cannot limit its output, only its input."""
    zstandard = import_extra("zstandard", "zstd", f"{path}: a Zstandard file needs zstandard")

    def decode(decoder: Any, data: bytes, size: int) -> tuple[bytes, bytes]:
        now, later = data[:_ZSTD_INPUT_BYTES], data[_ZSTD_INPUT_BYTES:]
        piece = decoder.decompress(now)
        return piece, decoder.unused_data + later

    def new_decoder() -> Any:
        # One decompressor for each decoder: decoders of the same decompressor share its state, and
        # several streams may be open.
        return zstandard.ZstdDecompressor().decompressobj()

    return _Codec("Zstandard", new_decoder, decode, zstandard.ZstdError)


def _cut_short(path: str, kind: str) -> str:
    return f"{path}: the {kind} data ends too soon; the file is not complete, copy it again"


def _damaged(path: str, kind: str, error: Exception) -> str:
    return f"{path}: damaged {kind} data ({error}); copy the file again"
