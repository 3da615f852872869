"""What packages learn that ask importlib.metadata for the installed PyTorch."""

import importlib.metadata
import os
from email.message import Message

from taeda.run.answer import PACKAGES


class Distribution(importlib.metadata.Distribution):
    """PyTorch's name and version, without files."""

    def __init__(self, version):
        self._version = version

    @property
    def metadata(self):
        message = Message()
        message["Metadata-Version"] = "2.1"
        message["Name"], message["Version"] = "torch", self._version
        message["Summary"] = "Taeda, which answers for PyTorch"
        return message

    def read_text(self, filename):
        texts = {"METADATA": self.metadata.as_string(), "top_level.txt": "torch\nfunctorch\n"}
        return texts.get(filename)

    def locate_file(self, path):
        return os.path.join(PACKAGES, path)
