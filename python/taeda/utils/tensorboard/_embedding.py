"""Files for TensorBoard's projector: points, their labels and pictures, and a list of all sets."""

import math
import os

from taeda.utils.tensorboard import _pictures, _png
from taeda.utils.tensorboard._values import as_tensor


def write(folder, mat, metadata, label_img, global_step, tag, metadata_header):
    """Writes a set of points into a folder of its own; gives its entry of the list."""
    points = as_tensor(mat)
    if points.dim() != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if metadata is not None and len(metadata) != len(points):
        raise AssertionError("#labels should equal with #data points")
    if label_img is not None and len(label_img) != len(points):
        raise AssertionError("#images should equal with #data points")
    place = f"{global_step:05d}/{_encoded(tag)}"
    path = os.path.join(folder, place)
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(f"Path: `{path}` exists, but is a file. Cannot proceed.")
    os.makedirs(path, exist_ok=True)
    entry = {"tensor_name": f"{tag}:{global_step:05d}"}
    if metadata is not None:
        _write(path, "metadata.tsv", _table(metadata, metadata_header).encode())
        entry["metadata_path"] = f"{place}/metadata.tsv"
    if label_img is not None:
        pictures = as_tensor(label_img)
        _write(path, "sprite.png", _sprite(pictures))
        sizes = (pictures.shape[3], pictures.shape[2])
        entry["sprite"] = {"image_path": f"{place}/sprite.png", "single_image_dim": sizes}
    rows = ("\t".join(map(str, row)) + "\n" for row in points.tolist())
    _write(path, "tensors.tsv", "".join(rows).encode())
    entry["tensor_path"] = f"{place}/tensors.tsv"
    return entry


def write_config(folder, entries):
    """The list of all sets, which the projector begins with."""
    text = "".join(f"embeddings {{\n{_text(entry, '  ')}}}\n" for entry in entries)
    _write(folder, "projector_config.pbtxt", text.encode())


def _write(folder, name, content):
    """Appears when it is whole."""
    path = os.path.join(folder, name)
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


def _encoded(tag):
    """A tag as the name of a folder."""
    for letter in "%/\\":
        tag = tag.replace(letter, f"%{ord(letter):02x}")
    return tag


def _table(metadata, header):
    if not header:
        return "".join(f"{label}\n" for label in metadata)
    if len(header) != len(metadata[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return "".join("\t".join(map(str, row)) + "\n" for row in [header, *metadata])


def _sprite(pictures):
    """All pictures in one square."""
    side = math.ceil(math.sqrt(len(pictures)))
    _, channels, height, width = pictures.shape
    square = pictures.new_zeros(side * side, 3, height, width)
    square[: len(pictures)] = pictures.expand(-1, 3, -1, -1) if channels == 1 else pictures
    return _png.encoded(_pictures.as_bytes(_pictures.grid(square, side).permute(1, 2, 0)))


def _text(fields, indent):
    """A message in protocol buffers' text form."""
    written = ""
    for name, value in fields.items():
        if isinstance(value, dict):
            written += f"{indent}{name} {{\n{_text(value, indent + '  ')}{indent}}}\n"
        elif isinstance(value, str):
            quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            written += f'{indent}{name}: "{quoted}"\n'
        else:
            written += "".join(f"{indent}{name}: {number}\n" for number in value)
    return written
