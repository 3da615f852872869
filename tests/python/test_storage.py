"""Storages: their bytes, their numbers, and tensors set to look at them."""

import copy
import gc
import importlib
import warnings
import weakref

import pytest
from under_test import NAME, t

FakeTensorMode = importlib.import_module(f"{NAME}._subclasses.fake_tensor").FakeTensorMode
StorageWeakRef = importlib.import_module(f"{NAME}.multiprocessing.reductions").StorageWeakRef


class TestUntyped:
    def test_bytes(self):
        s = t.tensor([1.0, 2.0]).untyped_storage()
        assert s.tolist() == [0, 0, 128, 63, 0, 0, 0, 64] and len(s) == 8
        assert s[3] == 63 and s[-1] == 64 and list(s) == s.tolist()

    def test_a_byte_can_be_written(self):
        x = t.tensor([1, 2], dtype=t.uint8)
        x.untyped_storage()[1] = 7
        assert x.tolist() == [1, 7]

    @pytest.mark.parametrize("make", [lambda s: s.clone(), copy.copy, copy.deepcopy])
    def test_copies_have_bytes_of_their_own(self, make):
        x = t.tensor([1, 2], dtype=t.uint8)
        s = make(x.untyped_storage())
        x[0] = 9
        assert s.tolist() == [1, 2]

    def test_out_of_range(self):
        with pytest.raises(IndexError):
            t.ones(1).untyped_storage()[4]

    def test_attributes_live_as_long_as_the_storage(self):
        x = t.ones(2)
        x.untyped_storage().note = [1]
        assert x[1:].untyped_storage().note == [1]
        x.untyped_storage().note.append(2)
        assert x.untyped_storage().note == [1, 2]
        del x.untyped_storage().note
        assert not hasattr(x.untyped_storage(), "note")

    def test_attributes_go_with_the_storage(self):
        class Note:
            pass

        x, note = t.ones(2), Note()
        gone = weakref.ref(note)
        x.untyped_storage().note = note
        del note
        assert gone() is not None
        del x
        gc.collect()
        assert gone() is None

    def test_identity_is_shared_by_views(self):
        x = t.ones(2)
        assert x.untyped_storage()._cdata == x[1:].untyped_storage()._cdata
        assert x.untyped_storage()._cdata != t.ones(2).untyped_storage()._cdata

    def test_a_storage_is_one_object(self):
        x = t.ones(2)
        kept = x.untyped_storage()
        assert x[1:].untyped_storage() is kept and t.ones(2).untyped_storage() is not kept
        del x
        assert t.empty(0).set_(kept).untyped_storage() is kept

    def test_meta_has_no_bytes(self):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device"):
            t.ones(2, device="meta").untyped_storage().tolist()


class TestTyped:
    def typed(self, x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return x.storage()

    def test_numbers(self):
        x = t.arange(4, dtype=t.int16)
        s = self.typed(x[1:])
        assert s.tolist() == [0, 1, 2, 3] and len(s) == s.size() == 4 and s[2] == 2
        assert s.dtype == t.int16 and s.nbytes() == 8 and s.data_ptr() == x.data_ptr()
        s[0] = 9
        assert x.tolist() == [9, 1, 2, 3]

    def test_a_size_or_data(self):
        assert t.TypedStorage().dtype == t.float32 and len(t.TypedStorage(3, dtype=t.int16)) == 3
        assert t.TypedStorage([1, 2], dtype=t.int64).tolist() == [1, 2]
        with pytest.raises(RuntimeError, match="No positional arguments"):
            t.TypedStorage(1, wrap_storage=t.ones(1).untyped_storage(), dtype=t.float32)
        with pytest.raises(RuntimeError, match="'dtype' must be specified"):
            t.TypedStorage(wrap_storage=t.ones(1).untyped_storage())

    def test_names_by_dtype(self):
        s = t.LongStorage([1, 2])
        assert s.dtype == t.int64 and s.tolist() == [1, 2] and isinstance(s, t.LongStorage)
        assert t.is_storage(s) and not t.is_storage(t.ones(1))
        assert not isinstance(s, t.Storage) and isinstance(t.FloatStorage(1), t.Storage)
        assert len(t.Storage()) == 0 and t.empty(0).set_(t.FloatStorage([3])).tolist() == [3]
        for arguments, keywords in (((1, 2), {}), ((), {"device": "cpu"})):
            with pytest.raises(RuntimeError, match="received an invalid combination of arguments"):
                t.FloatStorage(*arguments, **keywords)

    def test_untyped(self):
        x = t.ones(2)
        assert self.typed(x).untyped() == x.untyped_storage()


class TestWeakReferences:
    def test_equal_for_one_storage(self):
        x = t.ones(4)
        refs = [StorageWeakRef(y.untyped_storage()) for y in (x, x[1:], t.ones(4))]
        assert refs[0] == refs[1] != refs[2] and len(set(refs)) == 2

    def test_it_does_not_hold_the_storage(self):
        x = t.ones(4)
        ref = StorageWeakRef(x.untyped_storage())
        assert not ref.expired()
        del x
        assert ref.expired() and ref != StorageWeakRef(t.ones(4).untyped_storage())


class TestSet:
    def test_to_a_tensor(self):
        x, y = t.ones(3), t.zeros(2, 2)
        assert x.set_(y) is x and x.shape == (2, 2)
        y[0, 0] = 5
        assert x[0, 0].item() == 5

    def test_to_nothing(self):
        assert t.ones(3).set_().shape == (0,)

    def test_to_a_storage(self):
        x = t.arange(6.0)
        y = t.empty(0).set_(x.untyped_storage())
        assert y.tolist() == x.tolist()
        z = t.empty(0).set_(x.untyped_storage(), 1, (2, 2), (1, 2))
        assert z.tolist() == [[1, 3], [2, 4]] and z.storage_offset() == 1
        assert t.empty(0).set_(x.untyped_storage(), 2, (2,)).tolist() == [2, 3]

    def test_a_fake_tensor_stays_one(self):
        with FakeTensorMode():
            x, y = t.arange(6.0), t.zeros(2)
            y.set_(x.untyped_storage(), 1, (2, 2))
            assert y.shape == (2, 2) and y.device.type == "cpu" and type(y + 1) is type(x)
            assert y.set_(x.untyped_storage()).shape == (6,) and y.set_().shape == (0,)
            assert type(y + 1) is type(x)

    def test_a_small_storage_grows(self):
        x = t.arange(2.0)
        y = t.empty(0).set_(x.untyped_storage(), 0, (2, 2), (2, 1))
        assert y.untyped_storage().nbytes() == 16 and y[0].tolist() == [0, 1]

    def test_a_typed_storage_has_the_dtype(self):
        x = t.arange(4.0)
        y = t.empty(0).set_(x.storage(), 1, (2,), (2,))
        assert y.tolist() == [1, 3] and y.data_ptr() == x.data_ptr() + 4
        with pytest.raises(RuntimeError, match="Expected a Storage of type"):
            t.empty(0, dtype=t.float64).set_(x.storage())

    def test_it_counts_as_a_write(self):
        x = t.ones(2)
        version = x._version
        x.set_(t.zeros(2))
        assert x._version > version

    @pytest.mark.parametrize(
        ("call", "error"),
        [
            (lambda x: x.set_(t.ones(2, dtype=t.int32)), RuntimeError),
            (lambda x: x.set_(x.untyped_storage(), -1, (1,)), RuntimeError),
            (lambda x: x.set_(x.untyped_storage(), 0, (1,), (1, 1)), RuntimeError),
            (lambda x: x.set_(x.untyped_storage(), 0, (-1,)), RuntimeError),
            (lambda x: x.set_(x.untyped_storage(), 0, (2**62, 2**62)), RuntimeError),
            (lambda x: x.set_(3), TypeError),
            (lambda x: x.set_(x.untyped_storage(), 0, "a"), TypeError),
            (lambda x: x.set_(x.untyped_storage(), (2,)), TypeError),
        ],
    )
    def test_refusals(self, call, error):
        with pytest.raises(error):
            call(t.ones(2))

    def test_not_on_what_requires_gradients(self):
        with pytest.raises(RuntimeError):
            t.ones(2, requires_grad=True).set_(t.ones(2))


@pytest.mark.parametrize("name", ["float32", "int64", "bfloat16", "complex64", "bool"])
def test_tensors_over_a_storage(name):
    dtype = getattr(t, name)
    x = t.arange(4).to(dtype)
    shared = t.tensor(x.untyped_storage(), dtype=dtype)
    assert shared.equal(x) and shared.data_ptr() == x.data_ptr()
    typed = x._typed_storage()
    assert t.tensor(typed, dtype=dtype).data_ptr() == x.data_ptr()
    other = t.float64 if dtype != t.float64 else t.float32
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        t.tensor(typed, dtype=other)


def test_casts_and_names_of_typed_storages():
    storage = t.IntStorage([-1, 0, 3])
    assert storage.type() == "torch.IntStorage" and storage.float().type() == "torch.FloatStorage"
    assert storage.byte().tolist() == [255, 0, 3] and storage.double().dtype == t.float64
    assert storage.type("torch.LongStorage").dtype == t.int64
    assert t.ones(2).storage_type() == t.FloatStorage
    assert t.storage._dtype_to_storage_type_map()[t.float16] == "HalfStorage"


def test_storages_without_memory(tmp_path):
    typed = t.TypedStorage([1, 2, 3], device="meta", dtype=t.float32)
    untyped = t.UntypedStorage([1, 2, 3], device="meta")
    assert typed.size() == untyped.size() == 3 and typed.nbytes() == 12
    for storage in (typed, untyped):
        with pytest.raises(NotImplementedError, match="Not available"):
            storage[0]
        with pytest.raises(NotImplementedError, match="Not available"):
            storage.tolist()
        with pytest.raises(NotImplementedError, match="Cannot copy out"):
            storage.cpu()
        with pytest.raises(RuntimeError, match="only available on CPU"):
            storage.share_memory_()
    with pytest.raises(NotImplementedError, match="Cannot copy out"):
        t.TypedStorage([1, 2, 3], dtype=t.float32).copy_(typed)
    with pytest.raises(NotImplementedError, match="Not available"):
        t.UntypedStorage(0, device="meta")[0]


def test_memory_is_not_pinned_without_an_accelerator():
    if t.accelerator.is_available():
        pytest.skip("there is one")
    x = t.ones(2)
    for owner in (x, x.untyped_storage(), x.storage(), t.nn.Parameter(x)):
        assert owner.is_pinned() is False
        with pytest.raises(RuntimeError, match="when none is available"):
            owner.pin_memory()
    with pytest.raises(RuntimeError, match="when none is available"):
        t.utils.data._utils.pin_memory.pin_memory({"a": [x]})
    with pytest.raises(RuntimeError, match="cannot pin"):
        t.ones(2, device="meta").pin_memory()
