"""Pictures: batches in a grid, boxes drawn on them, and moving ones."""

import taeda
from taeda.utils.tensorboard import _gif, _png
from taeda.utils.tensorboard import _protobuf as proto
from taeda.utils.tensorboard._values import as_tensor, value_message

_RED = (255, 0, 0)
_LINE = 2  # pixels


def grid(images, columns=8):
    """Images (N, C, H, W) side by side, so many in a row."""
    count, channels, height, width = images.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    padded = images.new_zeros(rows * columns, channels, height, width)
    padded[:count] = images
    grid = padded.view(rows, columns, channels, height, width).permute(2, 0, 3, 1, 4)
    return grid.reshape(channels, rows * height, columns * width)


def _as_rows(tensor, dataformats):
    """An image of any format as (height, width, channels)."""
    letters = dataformats.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(
            f"You can not use the same dimension shorthand twice. input_format: {dataformats}"
        )
    if tensor.dim() != len(letters):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"tensor shape: {tuple(tensor.shape)}, input_format: {dataformats}"
        )
    wanted = {4: "NCHW", 3: "HWC", 2: "HW"}.get(len(letters), "")
    if set(letters) != set(wanted):
        raise AssertionError(f"input_format must have the letters of {wanted}: {dataformats}")
    tensor = tensor.permute([letters.index(letter) for letter in wanted])
    if len(letters) == 4:
        tensor = grid(tensor).permute(1, 2, 0)
    elif len(letters) == 2:
        tensor = tensor.unsqueeze(-1)
    return tensor.expand(-1, -1, 3) if tensor.shape[-1] == 1 else tensor


def as_bytes(tensor):
    """Bytes as they are, other numbers from 0 to 1."""
    scale = 1 if tensor.dtype == taeda.uint8 else 255
    return tensor.float().mul(scale).clamp(0, 255).to(taeda.uint8)


def _resized(pixels, rescale):
    """(height, width, channels) in another size, filtered."""
    height, width, _ = pixels.shape
    sizes = (max(int(height * rescale), 1), max(int(width * rescale), 1))
    if sizes == (height, width):
        return pixels
    planes = pixels.permute(2, 0, 1)[None].float()
    planes = taeda.nn.functional.interpolate(planes, sizes, mode="bilinear", antialias=True)
    return planes[0].permute(1, 2, 0).round().clamp(0, 255).to(taeda.uint8)


def _image_message(tag, sizes, encoded):
    """`sizes` are height, width and channels, `encoded` is a file of a picture."""
    fields = [proto.integer(i + 1, size) for i, size in enumerate(sizes)]
    return value_message(tag, proto.data(4, b"".join([*fields, proto.data(4, encoded)])))


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """A picture, or a batch of pictures in a grid."""
    pixels = as_bytes(_as_rows(as_tensor(tensor), dataformats))
    return _image_message(tag, pixels.shape, _png.encoded(_resized(pixels, rescale)))


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """A picture with red boxes (left, top, right, bottom), and a label beside each."""
    pixels = as_bytes(_as_rows(as_tensor(tensor_image), dataformats)).contiguous()
    boxes = as_tensor(tensor_boxes).round().long().tolist()
    for box in boxes:
        _draw_box(pixels, *box)
    if labels is not None:
        pixels = _with_labels(pixels, boxes, labels)
    return _image_message(tag, pixels.shape, _png.encoded(_resized(pixels, rescale)))


def _draw_box(pixels, left, top, right, bottom):
    """Lines around a box, cut off at the edges of the picture."""
    height, width, channels = pixels.shape
    red = taeda.tensor(_RED[:channels], dtype=taeda.uint8)

    def lines(first, last, limit):
        """The pixels of two lines across an axis, and of what is between them."""
        starts = [max(place - _LINE // 2, 0) for place in (first, last)]
        edges = [slice(start, min(start + _LINE, limit)) for start in starts]
        return edges, slice(starts[0], min(starts[1] + _LINE, limit))

    rows, inside_rows = lines(top, bottom, height)
    columns, inside_columns = lines(left, right, width)
    for row in rows:
        pixels[row, inside_columns] = red
    for column in columns:
        pixels[inside_rows, column] = red


def _with_labels(pixels, boxes, labels):
    """Texts on a red ground above the boxes; Pillow has the letters."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise ImportError("labels of boxes need Pillow, which draws them") from error
    height, width, channels = pixels.shape
    picture = Image.frombytes("RGB", (width, height), bytes(pixels.untyped_storage()))
    draw = ImageDraw.Draw(picture)
    for (left, top, _, _), label in zip(boxes, labels):
        x0, y0, x1, y1 = draw.textbbox((0, 0), label)
        place = (left, max(top - (y1 - y0) - 2 * _LINE, 0))
        draw.rectangle((place, (place[0] + x1 - x0, place[1] + y1 - y0 + _LINE)), fill=_RED)
        draw.text((place[0] - x0, place[1] - y0), label, fill="black")
    drawn = taeda.frombuffer(bytearray(picture.tobytes()), dtype=taeda.uint8)
    return drawn.view(height, width, channels)


def _frames(videos):
    """Videos (N, T, C, H, W) side by side in frames (T, height, width, C)."""
    count, length, channels, height, width = videos.shape
    places = 1 << (count - 1).bit_length()
    rows = 1 << (places.bit_length() - 1) // 2
    padded = videos.new_zeros(places, length, channels, height, width)
    padded[:count] = videos
    cells = padded.view(rows, places // rows, length, channels, height, width)
    return cells.permute(2, 0, 4, 1, 5, 3).reshape(length, rows * height, -1, channels)


def video(tag, tensor, fps=4):
    """Videos as one moving picture; numbers from 0 to 1, or bytes."""
    videos = as_tensor(tensor)
    if videos.dim() != 5 or videos.shape[2] not in (1, 3):
        raise ValueError(
            f"[video] expected (N, T, C, H, W) with 1 or 3 channels: got {tuple(videos.shape)}"
        )
    frames = as_bytes(_frames(videos)).expand(-1, -1, -1, 3)
    return _image_message(tag, frames.shape[1:], _gif.encoded(frames, fps))
