"""Moving pictures as files of GIF."""

import struct

import taeda

_LEVELS = (6, 7, 6)  # of red, green and blue, where a film has more than 256 colors
_LARGEST_CODE = 4095


def encoded(frames, fps):
    """The bytes of a file that repeats without end; `frames` is uint8 (count, height, width, 3)."""
    _, height, width, _ = frames.shape
    colors, places = _palette(frames)
    table = bytes(colors.flatten().tolist()).ljust(3 * 256, b"\0")
    delay = struct.pack("<H", max(round(100 / fps), 1))
    parts = [
        b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + table,
        b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0",
    ]
    for frame in places.to(taeda.uint8).contiguous():
        parts.append(b"\x21\xf9\x04\x04" + delay + b"\0\0")
        parts.append(b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x08")
        content = _compressed(bytes(frame.flatten().tolist()))
        parts += [_block(content[i : i + 255]) for i in range(0, len(content), 255)]
        parts.append(b"\0")
    return b"".join([*parts, b"\x3b"])


def _block(content):
    return bytes([len(content)]) + content


def _palette(frames):
    """At most 256 colors (count, 3), and each pixel's place among them."""
    red, green, blue = frames.long().unbind(-1)
    packed, places = taeda.unique(red << 16 | green << 8 | blue, return_inverse=True)
    if packed.numel() <= 256:
        return taeda.stack([packed >> 16, packed >> 8 & 255, packed & 255], -1), places
    places = taeda.zeros_like(red)
    for channel, levels in zip((red, green, blue), _LEVELS):
        places = places * levels + (channel * (levels - 1) + 127) // 255
    steps = [taeda.linspace(0, 255, levels).round().long() for levels in _LEVELS]
    return taeda.cartesian_prod(*steps), places


def _compressed(pixels):
    """LZW with codes of 9 to 12 bits, packed from the lowest bit on."""
    clear, end = 256, 257
    codes = {bytes([i]): i for i in range(256)}
    next_code, width = 258, 9
    bits, count, result = clear, 9, bytearray()
    run = b""
    for value in pixels:
        longer = run + bytes([value])
        if longer in codes:
            run = longer
            continue
        bits |= codes[run] << count
        count += width
        if next_code <= _LARGEST_CODE:
            codes[longer] = next_code
            width += next_code == 1 << width
            next_code += 1
        else:
            bits |= clear << count
            count += width
            codes = {bytes([i]): i for i in range(256)}
            next_code, width = 258, 9
        run = bytes([value])
        whole = count // 8
        result += (bits & (1 << 8 * whole) - 1).to_bytes(whole, "little")
        bits, count = bits >> 8 * whole, count - 8 * whole
    if run:
        bits |= codes[run] << count
        count += width
        width += next_code == 1 << width and width < 12
    bits |= end << count
    count += width
    return bytes(result) + bits.to_bytes(-(-count // 8), "little")
