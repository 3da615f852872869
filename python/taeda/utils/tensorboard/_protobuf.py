"""Writes protocol buffers: a message is the bytes of its fields, one after the other.

Fields whose value is the default (0, empty) are left out by the caller where the format does so;
what is written here is written.
"""

import struct

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _encoded(number):
    """Seven bits per byte, the lowest first; negative numbers as 64-bit ones."""
    number &= (1 << 64) - 1
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def _key(field, kind):
    return _encoded(field << 3 | kind)


def integer(field, value):
    return _key(field, _VARINT) + _encoded(int(value))


def double(field, value):
    return _key(field, _FIXED64) + struct.pack("<d", value)


def single(field, value):
    return _key(field, _FIXED32) + _as_single(value)


def _as_single(value):
    try:
        return struct.pack("<f", value)
    except OverflowError:  # beyond float32
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def text(field, value):
    return data(field, value.encode())


def data(field, value):
    """Bytes, or a message inside of another."""
    return _key(field, _BYTES) + _encoded(len(value)) + value


def doubles(field, values):
    return data(field, struct.pack(f"<{len(values)}d", *values))


def singles(field, values):
    return data(field, b"".join(map(_as_single, values)))


def integers(field, values):
    return data(field, b"".join(_encoded(int(value)) for value in values))
