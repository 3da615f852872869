"""Tests nn.utils.rnn: padding and packing of sequences; the file passes on PyTorch as well."""

import pytest
from under_test import t

rnn = t.nn.utils.rnn
LENGTHS = [1, 3, 2]


def sequences():
    return [t.arange(1, n + 1) * 10**place for place, n in enumerate(LENGTHS)]


def test_invert_permutation():
    order = t.tensor([2, 0, 1])
    assert rnn.invert_permutation(order).tolist() == [1, 2, 0]
    assert rnn.invert_permutation(None) is None


def test_unpad_sequence():
    padded = t.tensor([[1, 0, 0], [10, 20, 30], [100, 200, 0]])
    parts = rnn.unpad_sequence(padded, t.tensor(LENGTHS), batch_first=True)
    assert [part.tolist() for part in parts] == [[1], [10, 20, 30], [100, 200]]
    parts = rnn.unpad_sequence(padded.T.contiguous(), t.tensor(LENGTHS))
    assert [part.tolist() for part in parts] == [[1], [10, 20, 30], [100, 200]]


def packed():
    data, sizes = t.tensor([10.0, 100, 1, 20, 200, 30]), t.tensor([3, 2, 1])
    return rnn.PackedSequence(data, sizes, t.tensor([1, 2, 0]))


def test_packed_sequence():
    sequence = packed()
    assert sequence.unsorted_indices.tolist() == [2, 0, 1]
    data, sizes, first, second = sequence
    assert data is sequence.data and sizes is sequence.batch_sizes
    assert rnn.PackedSequence((data, sizes)).sorted_indices is None
    assert not sequence.is_cuda and not sequence.is_pinned()


@pytest.mark.parametrize(
    "name, dtype",
    [("double", "float64"), ("half", "float16"), ("long", "int64"), ("byte", "uint8")],
)
def test_packed_conversions(name, dtype):
    sequence = packed()
    converted = getattr(sequence, name)()
    assert converted.data.dtype == getattr(t, dtype)
    assert converted.sorted_indices.tolist() == [1, 2, 0]
    assert converted.sorted_indices.dtype == t.int64
    assert sequence.float() is sequence and sequence.cpu() is sequence


def test_packed_sequence_refuses():
    with pytest.raises(AssertionError, match="list or tuple of length 2"):
        rnn.PackedSequence(t.ones(3))
    with pytest.raises(ValueError, match="batch_sizes should always be on CPU"):
        rnn.PackedSequence(t.ones(3), t.ones(1, device="meta"))


def test_pad_sequence():
    padded = rnn.pad_sequence(sequences(), batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, -1, -1], [10, 20, 30], [100, 200, -1]]
    left = rnn.pad_sequence(sequences(), padding_side="left")
    assert left.T.tolist() == [[0, 0, 1], [10, 20, 30], [0, 100, 200]]
    with pytest.raises(RuntimeError, match="Expected iterable for input sequences"):
        rnn.pad_sequence(1)


def test_pack_and_unpack():
    sequence = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert sequence.data.tolist() == [10, 100, 1, 20, 200, 30]
    assert sequence.batch_sizes.tolist() == [3, 2, 1]
    assert sequence.sorted_indices.tolist() == [1, 2, 0]
    padded, lengths = rnn.pad_packed_sequence(sequence, batch_first=True, total_length=4)
    assert padded.tolist() == [[1, 0, 0, 0], [10, 20, 30, 0], [100, 200, 0, 0]]
    assert lengths.tolist() == LENGTHS
    unpacked = rnn.unpack_sequence(sequence)
    assert [part.tolist() for part in unpacked] == [s.tolist() for s in sequences()]


def test_a_total_length_that_is_too_short():
    with pytest.raises(ValueError, match="got total_length=2 and max sequence length being 3"):
        rnn.pad_packed_sequence(packed(), total_length=2)
