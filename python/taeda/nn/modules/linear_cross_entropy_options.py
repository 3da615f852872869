"""LinearCrossEntropyOptions: how linear_cross_entropy divides its batch."""

from dataclasses import dataclass, replace
from typing import Literal

from taeda import _C

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_ACC_DTYPES = (_C.float16, _C.bfloat16, _C.float32, _C.float64)


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Settings of the form that never holds all scores: parts of the batch, and its precision."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: _C.dtype | None = None

    def __post_init__(self):
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if not _is_method(self.chunking_method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _ACC_DTYPES:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )

    def _compute_batch_chunk_size(self, num_batches, in_features, num_classes, method=None):
        """The size of a part whose scores take about as much memory as its inputs."""
        _, _, factor = (method or self.chunking_method).partition(":")
        share = _rounded_up(num_batches, _rounded_up(num_classes, in_features))
        power_of_two = 1 << (share - 1).bit_length()
        return min(power_of_two // int(factor or 1), num_batches)

    def _adjust(self, num_batches, in_features, num_classes, dtype, device=None):
        """The options with every choice made for a call."""
        policy, method = self.acc_policy, self.chunking_method
        chosen = _CHOICES.get((getattr(device, "type", None), dtype), _OTHER_CHOICE)
        if method == "auto":
            method = chosen[1] if self.batch_chunk_size is None else None
        policy = chosen[0] if policy == "auto" else policy
        size = min(self.batch_chunk_size or num_batches, num_batches)
        if method is not None:
            sizes = (num_batches, in_features, num_classes)
            size = self._compute_batch_chunk_size(*sizes, method)
            if self.batch_chunk_size not in (None, size):
                raise ValueError(
                    f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method "
                    f"('{method}') give different chunk sizes ({self.batch_chunk_size} vs {size}); "
                    "pass only one."
                )
        acc_dtype = self.acc_dtype or (dtype if self.acc_policy != "auto" else None)
        acc_dtype = acc_dtype or _acc_dtype(dtype, device)
        options = {"acc_policy": policy, "chunking_method": method, "acc_dtype": acc_dtype}
        return replace(self, batch_chunk_size=max(1, size), **options)


# The policy and the way of dividing that "auto" stands for.
_CHOICES = {
    ("cpu", _C.bfloat16): ("accurate", "aspect_ratio"),
    ("cpu", _C.float16): ("accurate", "aspect_ratio"),
}
_OTHER_CHOICE = ("compact", "aspect_ratio:2")


def _rounded_up(a, b):
    return -(-a // b)


def _acc_dtype(dtype, device):
    """float32 for sums of the two short floating point types, where the device is known."""
    is_short = dtype in (_C.float16, _C.bfloat16)
    return _C.float32 if is_short and device is not None else dtype


def _is_method(method):
    if method is None or method == "auto":
        return True
    name, colon, factor = method.partition(":")
    factor = factor if colon else "1"
    return name == "aspect_ratio" and factor.isdigit() and int(factor) > 0
