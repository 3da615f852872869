"""ImageFolder: pictures in folders, one folder per class."""

import os

from taeda import _C
from taeda.utils.data.dataset import Dataset

__all__ = ["ImageFolder"]

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp")


def read_netpbm(path):
    """A binary PPM or PGM of 8 bits as a uint8 tensor of channels, rows and columns."""
    with open(path, "rb") as file:
        data = file.read()
    fields, position = [], 0
    while len(fields) < 4:
        end = position
        while end < len(data) and not data[end : end + 1].isspace():
            end += 1
        if data[position : position + 1] == b"#":
            end = data.find(b"\n", position)
        elif end > position:
            fields.append(data[position:end])
        if not 0 <= end < len(data):
            raise ValueError(f"{path}: no header of a PPM or PGM")
        position = end + 1
    channels = {b"P6": 3, b"P5": 1}.get(fields[0])
    width, height, largest = (int(field) if field.isdigit() else -1 for field in fields[1:])
    if channels is None or largest != 255 or min(width, height) < 1:
        raise ValueError(f"{path}: expected a binary PPM or PGM of 8 bits, got {fields}")
    count = width * height * channels
    if len(data) - position < count:
        raise ValueError(f"{path}: {len(data) - position} bytes of pixels, expected {count}")
    pixels = _C.frombuffer(bytearray(data[position : position + count]), dtype=_C.uint8)
    return pixels.view(height, width, channels).permute(2, 0, 1).contiguous()


def read_image(path):
    """A picture as a uint8 tensor of channels, rows, columns; all but PPM and PGM need Pillow."""
    if path.lower().endswith((".ppm", ".pgm")):
        return read_netpbm(path)
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"{path}: this kind of picture is read with Pillow, which is not installed "
            "(pip install pillow); PPM and PGM files need nothing"
        ) from error
    with Image.open(path) as image:
        colours = image.convert("RGB")
        pixels = _C.frombuffer(bytearray(colours.tobytes()), dtype=_C.uint8)
        return pixels.view(colours.height, colours.width, 3).permute(2, 0, 1).contiguous()


class ImageFolder(Dataset):
    """The pictures below `root`, in one folder per class; a sample is a picture and its class.

    `classes` are the names of the folders in order of name, `class_to_idx` their numbers, `samples`
    the paths with them. `loader` reads a path (by default to a uint8 tensor of channels, rows and
    columns); `transform` and `target_transform` are applied to the picture and to the number.
    """

    def __init__(self, root, transform=None, target_transform=None, loader=read_image):
        self.root = os.fspath(root)
        self.transform = transform
        self.target_transform = target_transform
        self.loader = loader
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {self.root}.")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = [
            (path, number)
            for name, number in self.class_to_idx.items()
            for path in sorted(self._pictures(os.path.join(self.root, name)))
        ]
        self.targets = [number for _, number in self.samples]
        empty = sorted(set(self.class_to_idx) - {self.classes[i] for i in self.targets})
        if empty:
            raise FileNotFoundError(
                f"Found no valid file for the classes {', '.join(empty)}. "
                f"Supported extensions are: {', '.join(EXTENSIONS)}"
            )

    @staticmethod
    def _pictures(folder):
        for parent, _, names in os.walk(folder, followlinks=True):
            for name in names:
                if name.lower().endswith(EXTENSIONS):
                    yield os.path.join(parent, name)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, target = self.samples[index]
        image = self.loader(path)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target
