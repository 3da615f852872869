"""Pictures of tensors as PNG files, with the standard library alone."""

import struct
import zlib


def _chunk(kind, content):
    crc = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + crc


def write_png(path, width, height, rows):
    """`rows` are the RGB bytes of each line."""
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", head), _chunk(b"IDAT", data), _chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def make_grid(images, columns=8, padding=1):
    """Images (N, C, H, W) in rows of `columns`, apart by `padding`, as one image (C, H, W)."""
    count, channels, height, width = images.shape
    rows = -(-count // columns)
    high, wide = height + padding, width + padding
    grid = images.new_zeros(channels, rows * high + padding, columns * wide + padding)
    for i in range(count):
        top, left = padding + i // columns * high, padding + i % columns * wide
        grid[:, top : top + height, left : left + width] = images[i]
    return grid


def save_image(images, path, columns=8, scale=4):
    """Writes a grid of images whose numbers go from 0 to 1, each pixel `scale` wide and high."""
    grid = make_grid(images.detach().cpu().clamp(0, 1), columns)
    grid = grid.expand(3, -1, -1) if grid.shape[0] == 1 else grid
    grid = grid.repeat_interleave(scale, 1).repeat_interleave(scale, 2)
    lines = (grid * 255).round().permute(1, 2, 0).flatten(1).int().tolist()
    write_png(path, grid.shape[2], grid.shape[1], lines)
    print(f"wrote {path}")
