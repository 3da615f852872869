"""TokenFile: training text as a file of token numbers, which is mapped and not read."""

import mmap
import os

from taeda import _C
from taeda.utils.data.dataset import Dataset

__all__ = ["TokenFile"]


class TokenFile(Dataset):
    """Windows of `block_size` tokens of a file, each with the window one token further on.

    The file is nothing but numbers of one dtype, one after the other. It is mapped, so it may be
    larger than memory, and worker processes share its pages. Window i begins at token i * `stride`,
    by default where the one before ends. A sample is two int64 tensors: the tokens, and those that
    follow each of them.
    """

    def __init__(self, path, block_size, *, dtype=_C.uint16, stride=None):
        if block_size < 1:
            raise ValueError(f"block_size should be at least 1, but got {block_size}")
        self.path = os.fspath(path)
        self.block_size = block_size
        self.stride = block_size if stride is None else stride
        if self.stride < 1:
            raise ValueError(f"stride should be at least 1, but got {stride}")
        if dtype.is_floating_point or dtype.is_complex or dtype is _C.bool:
            raise TypeError(f"tokens are integers: expected an integer dtype, but got {dtype}")
        self.dtype = dtype
        nbytes = os.path.getsize(self.path)
        if nbytes % dtype.itemsize:
            raise ValueError(
                f"{self.path} is truncated or damaged: it has {nbytes} bytes, which is no number "
                f"of {dtype}; the last one begins at byte {nbytes - nbytes % dtype.itemsize}"
            )
        self.num_tokens = nbytes // dtype.itemsize
        if self.num_tokens <= block_size:
            raise ValueError(
                f"{self.path} has {self.num_tokens} tokens and ends at byte {nbytes}; a window and "
                f"its next token need {block_size + 1}"
            )
        self._map()

    def _map(self):
        with open(self.path, "rb") as file:
            nbytes = os.fstat(file.fileno()).st_size
            expected = self.num_tokens * self.dtype.itemsize
            if nbytes < expected:
                raise RuntimeError(
                    f"{self.path} is truncated: it ends at byte {nbytes} and had {expected} bytes "
                    "when the dataset was made"
                )
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self.tokens = _C.frombuffer(mapped, dtype=self.dtype, count=self.num_tokens)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "tokens"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._map()

    def __len__(self):
        return (self.num_tokens - self.block_size - 1) // self.stride + 1

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for {len(self)} windows")
        start = index % len(self) * self.stride
        window = self.tokens[start : start + self.block_size + 1].to(_C.int64)
        return window[:-1], window[1:]
