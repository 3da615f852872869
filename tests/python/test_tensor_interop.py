"""Tests that tensors share memory with NumPy, buffers and DLPack clients."""

import array
import ctypes
import gc
import subprocess
import sys

import pytest
from under_test import NAME, t

np = pytest.importorskip("numpy")

NUMPY_DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


class TestNumpy:
    @pytest.mark.parametrize("dtype", NUMPY_DTYPES)
    def test_both_ways_share_memory(self, dtype):
        a = np.zeros((2, 3), dtype)
        x = t.from_numpy(a)
        assert x.dtype == getattr(t, dtype) and x.shape == (2, 3)
        a[1, 2] = 1
        assert x[1, 2].item() == 1
        x[0, 0] = 1
        assert a[0, 0] == 1
        back = x.numpy()
        assert back.dtype == a.dtype and back.__array_interface__["data"] == (x.data_ptr(), False)

    def test_strides_carry_over(self):
        a = np.arange(24, dtype=np.int64).reshape(4, 6)[::2, 1::2]
        x = t.from_numpy(a)
        assert x.stride() == (12, 2) and x.tolist() == a.tolist()
        assert x.t().numpy().strides == (16, 96)

    def test_zero_dim_and_empty(self):
        x = t.from_numpy(np.array(3.5))
        assert x.dim() == 0 and x.item() == 3.5
        assert t.tensor(2).numpy().shape == ()
        assert t.from_numpy(np.empty((0, 4))).shape == (0, 4)
        assert t.empty(3, 0).numpy().shape == (3, 0)

    def test_array_outlives_the_tensor_and_the_other_way_round(self):
        x = t.arange(1000)
        a = x.numpy()
        del x
        gc.collect()
        assert a.sum() == 499500
        y = t.from_numpy(np.arange(1000))
        gc.collect()
        assert y.sum().item() == 499500

    def test_tensor_copies_and_as_tensor_shares(self):
        a = np.ones(3, np.float32)
        copied, shared = t.tensor(a), t.as_tensor(a)
        a[0] = 7
        assert copied.tolist() == [1, 1, 1] and shared.tolist() == [7, 1, 1]

    def test_numpy_scalars_are_numbers(self):
        assert t.tensor(np.float32(1.5)).dtype == t.float32
        assert t.tensor(np.int64(3)).item() == 3
        assert t.tensor([np.float64(1.5), np.float64(2)]).tolist() == [1.5, 2]
        assert (t.ones(2) * np.float64(3)).dtype == t.float32
        assert t.ones(5)[np.int64(2)].item() == 1

    def test_array_protocol(self):
        x = t.arange(4).reshape(2, 2)
        assert np.asarray(x).tolist() == [[0, 1], [2, 3]]
        assert np.array(x, dtype=np.float32).dtype == np.float32
        assert np.add(np.ones((2, 2)), x).tolist() == [[1, 2], [3, 4]]
        np.asarray(x)[0, 0] = 9
        assert x[0, 0].item() == 9
        copied = np.array(x)
        copied[0, 0] = 1
        assert x[0, 0].item() == 9

    def test_force_detaches(self):
        x = t.ones(2, requires_grad=True)
        assert x.numpy(force=True).tolist() == [1, 1]
        assert x.detach().numpy().tolist() == [1, 1]
        with t.no_grad():  # nothing would be recorded anyway
            assert x.numpy().tolist() == [1, 1]

    def test_unsupported_arrays_are_refused(self):
        with pytest.raises(TypeError):
            t.from_numpy(np.array(["a"]))
        with pytest.raises(TypeError):
            t.from_numpy(np.array([None]))
        with pytest.raises(ValueError, match="negative"):
            t.from_numpy(np.arange(3)[::-1])
        with pytest.raises(TypeError):
            t.ones(2, dtype=t.bfloat16).numpy()

    @pytest.mark.filterwarnings("ignore")
    def test_read_only_array(self):
        a = np.arange(3)
        a.flags.writeable = False
        assert t.from_numpy(a).tolist() == [0, 1, 2]


class TestBuffers:
    def test_frombuffer_shares(self):
        data = bytearray(16)
        x = t.frombuffer(data, dtype=t.int32)
        x[1] = 258
        assert data[4:6] == b"\x02\x01"
        assert t.frombuffer(data, dtype=t.int16, count=2, offset=4).tolist() == [258, 0]

    def test_frombuffer_of_array(self):
        numbers = array.array("d", [1.0, 2.0, 3.0])
        assert t.frombuffer(numbers, dtype=t.float64).tolist() == [1, 2, 3]

    @pytest.mark.parametrize(
        "arguments",
        [{"offset": 16}, {"offset": 2, "count": 4}, {"count": 5}, {"count": 0}, {"offset": -1}],
        ids=str,
    )
    def test_frombuffer_checks_bounds(self, arguments):
        with pytest.raises(ValueError):
            t.frombuffer(bytearray(16), dtype=t.int32, **arguments)

    @pytest.mark.skipif(NAME == "torch", reason="PyTorch's tensors export no buffer")
    @pytest.mark.parametrize(
        "dtype, code",
        [("float32", "f"), ("float64", "d"), ("int64", "l"), ("uint8", "B"), ("bool", "?")],
    )
    def test_memoryview(self, dtype, code):
        x = t.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(t, dtype))
        view = memoryview(x)
        assert view.format in (code, {"l": "q"}.get(code, code))
        assert view.shape == (2, 3) and view.tolist() == x.tolist()
        assert view.strides == (3 * x.itemsize, x.itemsize) and not view.readonly
        view[0, 0] = 1
        assert x[0, 0].item() == 1
        assert memoryview(x.t()).strides == (x.itemsize, 3 * x.itemsize)
        del x
        gc.collect()
        assert view[1, 2] == 1

    @pytest.mark.skipif(NAME == "torch", reason="PyTorch's tensors export no buffer")
    def test_bytes_of_a_tensor(self):
        assert bytes(memoryview(t.tensor([1, 2], dtype=t.uint8))) == b"\x01\x02"

    @pytest.mark.skipif(NAME == "torch", reason="PyTorch's tensors export no buffer")
    def test_bytes_without_a_shape(self):
        room = ctypes.create_string_buffer(256)  # a Py_buffer, with room to spare
        x = t.ones(2, 2, 3, 3)
        get = ctypes.pythonapi.PyObject_GetBuffer
        get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
        ndim_at, plain, only_format = 36, 0, 4
        assert get(x, ctypes.addressof(room), plain) == 0
        assert ctypes.c_int.from_buffer(room, ndim_at).value == 1
        ctypes.pythonapi.PyBuffer_Release(room)
        with pytest.raises(BufferError, match="it has no format"):
            get(x, ctypes.addressof(room), only_format)


class TestDLPack:
    @pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES if d != "bool"])
    def test_numpy_as_client(self, dtype):
        x = t.tensor([[1, 2, 3], [4, 5, 6]], dtype=getattr(t, dtype)).t()
        a = np.from_dlpack(x)
        assert a.dtype == np.dtype(dtype) and a.shape == (3, 2) and a.tolist() == x.tolist()
        assert a.__array_interface__["data"][0] == x.data_ptr()

    @pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES if d != "bool"])
    def test_from_numpy_arrays(self, dtype):
        a = np.arange(6).astype(dtype).reshape(2, 3)
        x = t.from_dlpack(a)
        a[0, 0] = 9
        assert x.dtype == getattr(t, dtype) and x.tolist() == a.tolist()

    def test_device(self):
        assert tuple(int(part) for part in t.ones(2).__dlpack_device__()) == (1, 0)

    def test_capsule_is_used_once(self):
        capsule = t.ones(2).__dlpack__()
        assert t.from_dlpack(capsule).tolist() == [1, 1]
        with pytest.raises(RuntimeError):
            t.from_dlpack(capsule)

    def test_unused_capsule_frees_its_tensor(self):
        owner = np.ones(3)
        held = sys.getrefcount(owner)
        capsule = t.from_numpy(owner).__dlpack__()
        assert sys.getrefcount(owner) > held
        del capsule
        assert sys.getrefcount(owner) == held

    def test_round_trip_keeps_memory_alive(self):
        x = t.from_dlpack(t.arange(1000))
        gc.collect()
        assert x.sum().item() == 499500

    def test_refusals(self):
        with pytest.raises((BufferError, RuntimeError)):
            t.ones(2, requires_grad=True).__dlpack__()
        with pytest.raises((BufferError, RuntimeError)):
            t.ones(2, dtype=t.complex64).conj().__dlpack__()

    def test_copy_and_device(self):
        x = t.arange(3)
        assert t.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
        assert t.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
        assert t.from_dlpack(x, device="cpu").tolist() == [0, 1, 2]
        with pytest.raises(AssertionError, match="device and copy kwargs not supported"):
            t.from_dlpack(x.__dlpack__(), copy=True)

    def test_own_tensors_obey_the_same_refusals(self):
        with pytest.raises(BufferError):
            t.from_dlpack(t.ones(2, requires_grad=True))

    def test_module(self):
        from importlib import import_module

        dlpack = import_module(f"{NAME}.utils.dlpack")
        assert dlpack.from_dlpack(dlpack.to_dlpack(t.arange(3))).tolist() == [0, 1, 2]
        assert t.ones(1).__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "complex64", "bool"])
    def test_pytorch_both_ways(self, torch, dtype):
        x = t.tensor([[1, 0], [1, 1]], dtype=getattr(t, dtype))
        theirs = torch.from_dlpack(x)
        assert theirs.dtype == getattr(torch, dtype) and theirs.tolist() == x.tolist()
        theirs[0, 0] = 0
        assert x[0, 0].item() == 0
        ours = t.from_dlpack(torch.ones(2, 3, dtype=getattr(torch, dtype)).t())
        assert ours.dtype == getattr(t, dtype) and ours.stride() == (1, 3)


class TestReadOnlyMemory:
    """Said once per process, so a process of its own asks."""

    @pytest.mark.parametrize(
        "call",
        ["t.frombuffer(b'abcd', dtype=t.uint8)", "t.from_numpy(fixed)", "t.as_tensor(fixed)"],
    )
    def test_it_warns(self, call):
        program = f"""
import warnings, numpy, importlib
t = importlib.import_module({NAME!r})
fixed = numpy.arange(3)
fixed.flags.writeable = False
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    t.tensor(fixed)
    assert not caught
    {call}
assert "is not writable" in str(caught[0].message), caught
"""
        subprocess.run([sys.executable, "-c", program], check=True)


def test_a_numpy_scalar_is_no_array():
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        t.from_numpy(np.float32(3))


class TestAsarray:
    def test_gradients_follow_the_tensor(self):
        x = t.ones(2, requires_grad=True)
        assert t.asarray(x) is x and t.asarray(x, requires_grad=True) is x
        assert t.asarray(x, copy=True).grad_fn is not None
        assert t.asarray([1.0], requires_grad=True).requires_grad
        assert t.asarray(x.detach()).requires_grad is False

    def test_copy(self):
        x, a = t.ones(2), np.ones(2)
        assert t.asarray(x, copy=False) is x
        assert t.asarray(x, copy=True).data_ptr() != x.data_ptr()
        shared, copied = t.asarray(a, copy=False), t.asarray(a, copy=True)
        a[0] = 5
        assert shared[0].item() == 5 and copied[0].item() == 1
