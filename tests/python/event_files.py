"""Reads event files: records with their checksums, protocol buffers by their wire format alone."""

import struct


def _crc32c(payload):
    """Bit by bit, apart from the library's own."""
    crc = 0xFFFFFFFF
    for byte in payload:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _check(payload, written):
    crc = _crc32c(payload)
    assert (((crc >> 15 | crc << 17) & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF == written


def records(path):
    """The whole records of a file, and how many bytes are left behind them."""
    data, found, place = path.read_bytes(), [], 0
    while place + 12 <= len(data):
        (length,), (crc,) = (
            struct.unpack_from("<Q", data, place),
            struct.unpack_from("<I", data, place + 8),
        )
        end = place + 12 + length + 4
        if end > len(data):
            break
        _check(data[place : place + 8], crc)
        payload = data[place + 12 : end - 4]
        _check(payload, struct.unpack_from("<I", data, end - 4)[0])
        found.append(payload)
        place = end
    return found, len(data) - place


def _varint(data, place):
    result = shift = 0
    while True:
        byte = data[place]
        result |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return result, place


def fields(message):
    """{number: [values]}: ints, doubles, floats, bytes."""
    found, place = {}, 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(message, place)
        elif kind == 1:
            (value,), place = struct.unpack_from("<d", message, place), place + 8
        elif kind == 5:
            (value,), place = struct.unpack_from("<f", message, place), place + 4
        else:
            assert kind == 2
            length, place = _varint(message, place)
            value, place = message[place : place + length], place + length
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    """(step, fields of the event) of a folder's only file."""
    (path,) = folder.glob("events.out.tfevents.*")
    found = [fields(record) for record in records(path)[0]]
    return [(event.get(2, [None])[0], event) for event in found]


def summaries(folder):
    """{tag: [(step, fields of the value)]}"""
    found = {}
    for step, event in events(folder):
        for summary in event.get(5, []):
            value = fields(fields(summary)[1][0])
            found.setdefault(value[1][0].decode(), []).append((step, value))
    return found
