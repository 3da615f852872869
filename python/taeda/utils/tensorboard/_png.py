"""PNG images of byte tensors."""

import struct
import zlib


def _chunk(kind, content):
    crc = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)


def encoded(pixels):
    """The bytes of a PNG file; `pixels` is a uint8 tensor (height, width, 1, 3 or 4 channels)."""
    height, width, channels = pixels.shape
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    lines = pixels.contiguous().reshape(height, width * channels)
    filtered = lines.new_zeros(height, width * channels + 1)  # every line begins with its filter: 0
    filtered[:, 1:] = lines
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(bytes(filtered.untyped_storage()), 6)),
            _chunk(b"IEND", b""),
        )
    )
