"""Compression of text files with Arrow's codecs and three others.

``zlib`` is the format of RFC 1950. ``snappy`` is the framing format of Snappy. ``lzo`` is the container format of lzop:
a header, and blocks of up to 64 MiB, each with a checksum.
"""

import io
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

SUFFIXES: Mapping[str, str] = {
    "gzip": ".gz",
    "zlib": ".zlib",
    "snappy": ".sz",
    "lz4": ".lz4",
    "zstd": ".zst",
    "brotli": ".br",
    "bz2": ".bz2",
    "lzo": ".lzo",
}
"""File name extensions by codec."""

BLOCK_BYTES = 256 << 10

_LARGEST_BLOCK = 64 << 20
_PIECE_BYTES = 64 << 10


def modules(codec: str | None) -> tuple[str, ...]:
    """Return the modules that a codec imports in addition to pyarrow."""
    return {"snappy": ("cramjam",), "lzo": ("lzallright",)}.get(codec or "", ())


def unpacked(stream: pa.NativeFile, codec: str) -> pa.NativeFile:
    """Return a stream of the decompressed content.

    If the data is damaged, reading raises ``OSError`` without an ``errno``.
    """
    if codec in _UNPACKED:
        return pa.PythonFile(_Pieces(_UNPACKED[codec](stream)), mode="r")
    return pa.CompressedInputStream(stream, codec)


def packed(stream: pa.NativeFile, codec: str) -> pa.NativeFile:
    """Return a stream that compresses data into another stream; closing it closes both."""
    if codec in _PACKERS:
        return pa.PythonFile(_Packed(stream, _PACKERS[codec]()), mode="w")
    return pa.CompressedOutputStream(stream, codec)


# -- reading ----------------------------------------------------------------------------------------------------------


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._held = piece
        found, self._held = self._held[:size], self._held[size:]
        return found


def _unpack_zlib(stream: pa.NativeFile) -> Iterator[bytes]:
    """Decompress consecutive streams, which concatenated files contain."""
    parser, piece = zlib.decompressobj(), stream.read(_PIECE_BYTES)
    try:
        while piece:
            if parser.eof:
                parser = zlib.decompressobj()
            yield parser.decompress(piece, BLOCK_BYTES)
            piece = parser.unconsumed_tail or parser.unused_data or stream.read(_PIECE_BYTES)
    except zlib.error as error:
        raise OSError(f"damaged: {error}") from error
    if not parser.eof:
        raise OSError("damaged: unexpected end")


_SNAPPY = b"\xff\x06\x00\x00sNaPpY"
"""First bytes of a stream in the framing format."""


def _unpack_snappy(stream: pa.NativeFile) -> Iterator[bytes]:
    from cramjam import DecompressionError, snappy

    if _exactly(stream, len(_SNAPPY)) != _SNAPPY:
        raise OSError("damaged: the content is not in the framing format of Snappy")
    while head := stream.read(4):
        body = _exactly(stream, int.from_bytes(head[1:].ljust(3, b"\xff"), "little"))
        try:
            yield bytes(snappy.decompress(_SNAPPY + head + body))
        except DecompressionError as error:
            raise OSError(f"damaged: {error}") from error


_LZOP = b"\x89LZO\x00\r\n\x1a\n"
_HAS_FILTER, _HAS_CRC, _HAS_MORE = 0x800, 0x1000, 0x40


def _unpack_lzo(stream: pa.NativeFile) -> Iterator[bytes]:
    magic = _exactly(stream, len(_LZOP))
    while magic:
        if magic != _LZOP:
            raise OSError("damaged: the file was not written by lzop")
        yield from _lzo_blocks(stream, _lzo_flags(stream))
        magic = stream.read(len(_LZOP))


def _lzo_flags(stream: pa.NativeFile) -> int:
    """Read a header up to the first block, and return its flags."""
    version, _, needed = struct.unpack(">HHH", _exactly(stream, 6))
    method = _exactly(stream, 2 if version >= 0x940 else 1)[0]
    flags: int = struct.unpack(">I", _exactly(stream, 4))[0]
    if needed > 0x1040 or method not in (1, 2, 3) or flags & _HAS_FILTER:
        raise OSError("damaged, or an unsupported kind of LZO")
    _exactly(stream, 12 if version >= 0x940 else 8)  # Mode and time.
    _exactly(stream, _exactly(stream, 1)[0] + 4)  # File name, and checksum of the header.
    if flags & _HAS_MORE:
        _exactly(stream, struct.unpack(">I", _exactly(stream, 4))[0] + 4)
    return flags


def _lzo_blocks(stream: pa.NativeFile, flags: int) -> Iterator[bytes]:
    from lzallright import LZOCompressor, LZOError

    while size := struct.unpack(">I", _exactly(stream, 4))[0]:
        packed_size = struct.unpack(">I", _exactly(stream, 4))[0]
        if packed_size > size or size > _LARGEST_BLOCK:
            raise OSError("damaged: a block has an invalid size")
        sums = [check for bit, check in ((0x1, zlib.adler32), (0x100, zlib.crc32)) if flags & bit]
        expected = [struct.unpack(">I", _exactly(stream, 4))[0] for _ in sums]
        if packed_size < size:
            _exactly(stream, 4 * sum(bool(flags & bit) for bit in (0x2, 0x200)))  # Checksum of the compressed bytes.
        block = _exactly(stream, packed_size)
        try:
            block = bytes(LZOCompressor.decompress(block, size)) if packed_size < size else block
        except LZOError as error:
            raise OSError(f"damaged: {error}") from error
        if len(block) != size or [check(block) for check in sums] != expected:
            raise OSError("damaged: a block has the wrong checksum")
        yield block


def _exactly(stream: pa.NativeFile, size: int) -> bytes:
    found = bytes(stream.read(size))
    if len(found) != size:
        raise OSError("damaged: unexpected end")
    return found


_UNPACKED: Mapping[str, Callable[[pa.NativeFile], Iterator[bytes]]] = {
    "zlib": _unpack_zlib,
    "snappy": _unpack_snappy,
    "lzo": _unpack_lzo,
}

# -- writing ----------------------------------------------------------------------------------------------------------


class _Packer(ABC):
    def begin(self) -> bytes:
        return b""

    @abstractmethod
    def block(self, data: bytes) -> bytes: ...

    @abstractmethod
    def end(self) -> bytes: ...


class _Packed:
    """File object that collects data into blocks. Unlike Python's classes, it never completes an abandoned file."""

    def __init__(self, stream: pa.NativeFile, packer: _Packer) -> None:
        self._stream = stream
        self._packer = packer
        self._held = bytearray()
        self.closed = False
        stream.write(packer.begin())

    def write(self, data: bytes) -> int:
        self._held += data
        while len(self._held) >= BLOCK_BYTES:
            self._stream.write(self._packer.block(bytes(self._held[:BLOCK_BYTES])))
            del self._held[:BLOCK_BYTES]
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if self._held:
                self._stream.write(self._packer.block(bytes(self._held)))
            self._stream.write(self._packer.end())
            self._stream.close()


class _Zlib(_Packer):
    def __init__(self) -> None:
        self._packer = zlib.compressobj()

    def block(self, data: bytes) -> bytes:
        return self._packer.compress(data)

    def end(self) -> bytes:
        return self._packer.flush()


class _Snappy(_Packer):
    def __init__(self) -> None:
        from cramjam import snappy

        self._packer = snappy.Compressor()

    def begin(self) -> bytes:
        return _SNAPPY

    def block(self, data: bytes) -> bytes:
        self._packer.compress(data)
        return bytes(self._packer.flush()).removeprefix(_SNAPPY)

    def end(self) -> bytes:
        return bytes(self._packer.finish()).removeprefix(_SNAPPY)


class _Lzo(_Packer):
    def __init__(self) -> None:
        from lzallright import LZOCompressor

        self._packer = LZOCompressor()

    def begin(self) -> bytes:
        """Return a header as lzop 1.03 writes it on Unix: LZO1X-1, Adler-32 of the content, no file name or time."""
        header = struct.pack(">HHHBBIIIIB", 0x1030, 0x2080, 0x940, 1, 5, 0x03000001, 0o100644, 0, 0, 0)
        return _LZOP + header + struct.pack(">I", zlib.adler32(header))

    def block(self, data: bytes) -> bytes:
        found = bytes(self._packer.compress(data))
        found = found if len(found) < len(data) else data
        return struct.pack(">III", len(data), len(found), zlib.adler32(data)) + found

    def end(self) -> bytes:
        return struct.pack(">I", 0)


_PACKERS: Mapping[str, Callable[[], _Packer]] = {"zlib": _Zlib, "snappy": _Snappy, "lzo": _Lzo}
