"""Protocol buffers: a message is the bytes of its fields, one after the other.

Fields whose value is the default (0, empty) are left out by the caller where the format does so;
what is written here is written. `fields` reads a message of any type.
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


def _decoded(message, place):
    """(number, the place behind it); signed as 64-bit numbers are."""
    result = shift = 0
    while place < len(message) and shift < 70:
        byte = message[place]
        result |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            result &= (1 << 64) - 1
            return result - (result >> 63 << 64), place
    raise ValueError(f"a protocol buffer is damaged or cut off at byte {place}")


def fields(message):
    """{number: [values]}: integers, floats, and bytes for texts and messages."""
    found, place = {}, 0
    while place < len(message):
        key, place = _decoded(message, place)
        kind, start = key & 7, place
        if kind == _VARINT:
            value, place = _decoded(message, place)
        elif kind == _BYTES:
            length, start = _decoded(message, place)
            place = start + length
            value = message[start:place]
        elif kind in (_FIXED64, _FIXED32):
            place += 8 if kind == _FIXED64 else 4
            value = message[start:place]
        else:
            raise ValueError(f"a protocol buffer is damaged at byte {start}: wire type {kind}")
        if not start <= place <= len(message):
            raise ValueError(f"a protocol buffer is cut off at byte {start}")
        if kind in (_FIXED64, _FIXED32):
            value = struct.unpack("<d" if kind == _FIXED64 else "<f", value)[0]
        found.setdefault(key >> 3, []).append(value)
    return found


def unpacked_integers(values):
    """The integers of a repeated field, one by one or packed into bytes."""
    found = []
    for value in values:
        place = 0
        while isinstance(value, bytes) and place < len(value):
            number, place = _decoded(value, place)
            found.append(number)
        if isinstance(value, int):
            found.append(value)
    return found
