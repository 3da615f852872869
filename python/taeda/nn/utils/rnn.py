"""Sequences of different lengths: padded to one tensor, or packed without padding."""

from collections.abc import Iterable
from typing import NamedTuple

from taeda import _C
from taeda.nn._operators import _C as _operators
from taeda.nn._operators import _nn as _nn_operators
from taeda.nn._operators import name_missing_operators

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of PackedSequence."""

    data: _C.Tensor
    batch_sizes: _C.Tensor
    sorted_indices: _C.Tensor | None
    unsorted_indices: _C.Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences step by step: all first elements, all second ones, and so on.

    `batch_sizes` says how many sequences have a step; `sorted_indices` is the order by length
    that the data is in, `unsorted_indices` its inverse.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        fields = _packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices)
        return super().__new__(cls, *fields)

    def _with(self, data, change):
        """Other data, with `change` of the indices."""
        sorted_indices, unsorted_indices = (
            None if indices is None else change(indices)
            for indices in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, sorted_indices, unsorted_indices)

    def pin_memory(self):
        """The same in pinned memory."""
        return self._with(self.data.pin_memory(), lambda indices: indices.pin_memory())

    def to(self, *args, **kwargs):
        """Tensor.to of the data; the indices move along, the batch sizes stay."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._with(data, lambda indices: indices.to(data.device))

    def cuda(self, *args, **kwargs):
        """The same on a CUDA device."""
        return self._on("cuda", *args, **kwargs)

    def cpu(self, *args, **kwargs):
        """The same on the CPU."""
        return self._on("cpu", *args, **kwargs)

    def _on(self, kind, *args, **kwargs):
        example = _C.empty(0, dtype=self.data.dtype, device=self.data.device)
        if example.to(*args, **kwargs).device.type != kind:
            kwargs["device"] = kind
        return self.to(*args, **kwargs)

    def double(self):
        """The data as float64."""
        return self.to(dtype=_C.float64)

    def float(self):
        """The data as float32."""
        return self.to(dtype=_C.float32)

    def half(self):
        """The data as float16."""
        return self.to(dtype=_C.float16)

    def long(self):
        """The data as int64."""
        return self.to(dtype=_C.int64)

    def int(self):
        """The data as int32."""
        return self.to(dtype=_C.int32)

    def short(self):
        """The data as int16."""
        return self.to(dtype=_C.int16)

    def char(self):
        """The data as int8."""
        return self.to(dtype=_C.int8)

    def byte(self):
        """The data as uint8."""
        return self.to(dtype=_C.uint8)

    @property
    def is_cuda(self):
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def _packed_sequence_init_args(data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
    """The four fields; data and batch sizes may come as a pair."""
    if unsorted_indices is None:
        unsorted_indices = invert_permutation(sorted_indices)
    if batch_sizes is None:
        if not (isinstance(data, (list, tuple)) and len(data) == 2):
            raise AssertionError("Expected data to be a list or tuple of length 2")
        data, batch_sizes = data
    elif batch_sizes.device.type != "cpu":
        raise ValueError(
            "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
            "created manually. They should be instantiated by functions like pack_sequence and "
            "pack_padded_sequences in nn.utils.rnn. "
            "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
        )
    return data, batch_sizes, sorted_indices, unsorted_indices


def invert_permutation(permutation):
    """The permutation that undoes the given one."""
    if permutation is None:
        return None
    places = _C.arange(0, permutation.numel(), device=permutation.device)
    inverse = _C.empty_like(permutation, memory_format=_C.contiguous_format)
    return inverse.scatter_(0, permutation, places.to(permutation.dtype))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Padded sequences without their padding; `enforce_sorted` asks for falling lengths."""
    if isinstance(lengths, _C.Tensor):
        lengths = lengths.to(dtype=_C.int64)
    else:
        lengths = _C.as_tensor(lengths, dtype=_C.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = _C.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _operators._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded sequences, lengths) of packed ones."""
    if total_length is not None:
        length = sequence.batch_sizes.size(0)
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {length}"
            )
    # 0 stands for the longest sequence.
    padded, lengths = _operators._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length or 0
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of any lengths as one tensor, filled up with `padding_value`."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    return _nn_operators.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded tensor, as a list."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    places = _C.arange(padded_sequences.shape[1], device=lengths.device)
    return [
        sequence[places < length]
        for sequence, length in zip(padded_sequences, lengths, strict=True)
    ]


def pack_sequence(sequences, enforce_sorted=True):
    """Sequences of any lengths, packed."""
    lengths = _C.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of packed ones, as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


name_missing_operators(globals())
