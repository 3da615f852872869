"""Legacy names of dtypes (FloatTensor and the like), Tensor.new and Tensor.type."""

import pytest
from under_test import NAME, t

KINDS = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
}


@pytest.mark.parametrize("kind", KINDS)
class TestOfEachDtype:
    def test_it_makes_tensors(self, kind):
        make, dtype = getattr(t, f"{kind}Tensor"), getattr(t, KINDS[kind])
        assert make(2, 3).dtype == dtype and make(2, 3).shape == (2, 3)
        assert make([1, 0]).tolist() == t.tensor([1, 0], dtype=dtype).tolist()
        assert make().shape == (0,) and make(t.Size([4])).shape == (4,)

    def test_isinstance_asks_for_the_dtype(self, kind):
        make, dtype = getattr(t, f"{kind}Tensor"), getattr(t, KINDS[kind])
        assert isinstance(t.ones(1, dtype=dtype), make)
        other = t.float32 if dtype != t.float32 else t.int32
        assert not isinstance(t.ones(1, dtype=other), make) and not isinstance(3, make)

    def test_type_takes_and_names_it(self, kind):
        make, dtype = getattr(t, f"{kind}Tensor"), getattr(t, KINDS[kind])
        assert t.ones(2).type(make).dtype == dtype
        assert t.ones(2, dtype=dtype).type() == f"torch.{kind}Tensor"
        assert t.ones(2).type(f"torch.{kind}Tensor").dtype == dtype


def test_numbers_are_cut_to_integers():
    assert t.LongTensor([1.7, -1.7]).tolist() == [1, -1]


def test_a_tensor_of_another_dtype_is_refused():
    with pytest.raises(TypeError):
        t.LongTensor(t.ones(2))


def test_no_data():
    with pytest.raises(TypeError):
        t.FloatTensor(None)


def test_unknown_name():
    with pytest.raises(ValueError, match="invalid type"):
        t.ones(1).type("torch.NoTensor")


def test_new_is_of_the_same_dtype():
    x = t.ones(2, dtype=t.int32)
    assert x.new(2, 3).shape == (2, 3) and x.new(2, 3).dtype == t.int32
    assert x.new([1, 2]).tolist() == [1, 2] and x.new([1, 2]).dtype == t.int32
    assert x.new().shape == (0,)
    assert x.new(t.Size([])).shape == () and x.new(t.Size([2])).shape == (2,)
    assert t.FloatTensor(t.Size([])).shape == ()


def test_constructor_takes_no_dtype():
    with pytest.raises(TypeError):
        t.Tensor(2, dtype=t.int32)
    assert t.Tensor([1, 2], device="cpu").tolist() == [1, 2]


@pytest.mark.skipif(NAME == "torch", reason="PyTorch asks for the class itself")
def test_the_name_is_shown():
    assert repr(t.FloatTensor) == "<class 'torch.FloatTensor'>"
