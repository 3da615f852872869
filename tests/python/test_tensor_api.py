"""Tests of the Python tensor as an object: making it, converting it, copying it, holding it."""

import copy
import gc
import math
import operator
import pickle
import subprocess
import sys
import weakref

import pytest
from under_test import NAME, t

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.fixture(autouse=True)
def default_state():
    yield
    t.set_default_dtype(t.float32)


class TestMaking:
    @pytest.mark.parametrize(
        "data, dtype, shape",
        [
            (1, "int64", ()),
            (True, "bool", ()),
            (1.0, "float32", ()),
            (1j, "complex64", ()),
            ([], "float32", (0,)),
            ([[]], "float32", (1, 0)),
            ([1, 2], "int64", (2,)),
            ([1, 2.5], "float32", (2,)),
            ([True, 2], "int64", (2,)),
            ([True, False], "bool", (2,)),
            ([1, 2j], "complex64", (2,)),
            ([[1, 2, 3], [4, 5, 6]], "int64", (2, 3)),
            (((1.0,), (2.0,)), "float32", (2, 1)),
            (range(4), "int64", (4,)),
        ],
    )
    def test_tensor_infers_dtype_and_shape(self, data, dtype, shape):
        x = t.tensor(data)
        assert x.dtype == getattr(t, dtype) and tuple(x.shape) == shape

    def test_tensor_of_zero_dim_tensors(self):
        x = t.tensor([t.tensor(1), t.tensor(2)])
        assert x.tolist() == [1, 2] and x.dtype == t.int64

    @pytest.mark.filterwarnings("ignore")
    def test_tensor_copies_a_tensor(self):
        x = t.ones(3)
        y = t.tensor(x)
        y[0] = 5
        assert x.tolist() == [1, 1, 1]

    def test_as_tensor_keeps_a_tensor(self):
        x = t.ones(3)
        assert t.as_tensor(x) is x
        y = t.as_tensor(x, dtype=t.float64)
        assert y.dtype == t.float64 and y.data_ptr() != x.data_ptr()
        assert t.as_tensor([1, 2]).dtype == t.int64

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_dtype_argument_converts(self, dtype):
        x = t.tensor([0, 1, 1], dtype=getattr(t, dtype))
        assert x.dtype == getattr(t, dtype)
        assert x.tolist() == [0, 1, 1]

    def test_attributes(self):
        x = t.zeros(2, 3, dtype=t.float64)
        assert (x.dim(), x.ndim, x.numel(), x.element_size()) == (2, 2, 6, 8)
        assert x.shape == x.size() == t.Size([2, 3]) and isinstance(x.shape, tuple)
        assert x.size(1) == x.shape[-1] == 3
        assert x.stride() == (3, 1) and x.stride(0) == 3
        assert x.storage_offset() == 0 and x.itemsize == 8 and x.nbytes == 48
        assert x.device == t.device("cpu") and x.layout == t.strided
        assert x.is_floating_point() and not x.is_complex()
        assert x.is_leaf and not x.requires_grad and x.grad is None and x.grad_fn is None
        assert x.T.shape == (3, 2) and x.mT.shape == (3, 2)

    def test_size_is_a_tuple_with_pytorchs_form(self):
        size = t.ones(2, 3).shape
        assert repr(size) == "torch.Size([2, 3])" and size.numel() == 6
        assert size == (2, 3) and hash(size) == hash((2, 3))
        assert isinstance(size[:1], t.Size)

    def test_dtype_and_device_print_as_pytorchs(self):
        assert repr(t.float32) == "torch.float32" and repr(t.bool) == "torch.bool"
        assert t.float is t.float32 and t.long is t.int64 and t.half is t.float16
        assert repr(t.device("cpu")) == "device(type='cpu')" and str(t.device("meta")) == "meta"
        assert t.device("cpu", 0).index == 0 and t.device("cpu:0") == t.device("cpu", 0)
        assert t.float64.is_floating_point and t.complex64.is_complex and not t.int8.is_complex
        assert t.float16.itemsize == 2


class TestDefaults:
    def test_default_dtype_rules_literals_and_factories(self):
        t.set_default_dtype(t.float64)
        assert t.get_default_dtype() == t.float64
        assert t.tensor(1.0).dtype == t.ones(1).dtype == t.rand(1).dtype == t.float64
        assert t.tensor(1j).dtype == t.complex128
        assert (t.ones(1, dtype=t.int64) + 1.5).dtype == t.float64
        assert t.tensor(1).dtype == t.arange(3).dtype == t.int64

    def test_default_device(self):
        t.set_default_device("meta")
        try:
            assert t.ones(2).device.type == "meta"
            assert t.tensor([1.0]).device.type == "meta"
            assert t.ones(2, device="cpu").device.type == "cpu"
        finally:
            t.set_default_device(None)
        assert t.ones(2).device.type == "cpu"

    def test_threads(self):
        before = t.get_num_threads()
        x = t.arange(200_000).to(t.float32) / 1000
        try:
            t.set_num_threads(1)
            assert t.get_num_threads() == 1
            alone = t.sqrt(x)
            t.set_num_threads(2)
            assert t.get_num_threads() == 2
            assert (t.sqrt(x) == alone).all()
        finally:
            t.set_num_threads(before)


class TestRandom:
    @pytest.mark.parametrize(
        "draw",
        [
            lambda: t.rand(50),
            lambda: t.randn(7, 3),
            lambda: t.randint(0, 1000, (20,)),
            lambda: t.bernoulli(t.full((64,), 0.5)),
            lambda: t.empty(9).uniform_(-1, 1),
            lambda: t.empty(9).normal_(2, 3),
            lambda: t.nn.functional.dropout(t.ones(64), 0.5),
        ],
        ids=["rand", "randn", "randint", "bernoulli", "uniform_", "normal_", "dropout"],
    )
    def test_seed_repeats_the_stream(self, draw):
        t.manual_seed(11)
        first, second = draw(), draw()
        t.manual_seed(11)
        again = draw()
        t.manual_seed(12)
        other = draw()
        assert first.tolist() == again.tolist()
        assert first.tolist() != second.tolist() and first.tolist() != other.tolist()

    def test_generator_is_independent_of_the_default_one(self):
        generator = t.Generator()
        assert generator.manual_seed(5) is generator and generator.initial_seed() == 5
        t.manual_seed(1)
        expected = t.rand(4).tolist()
        first = t.rand(4, generator=generator).tolist()
        t.manual_seed(1)
        t.rand(4, generator=generator)
        assert t.rand(4).tolist() == expected
        generator.manual_seed(5)
        assert t.rand(4, generator=generator).tolist() == first

    def test_saved_state_resumes(self):
        t.manual_seed(3)
        t.rand(3)
        state = t.get_rng_state()
        expected = t.rand(5).tolist()
        t.rand(100)
        t.set_rng_state(state)
        assert t.rand(5).tolist() == expected

    def test_ranges(self):
        t.manual_seed(0)
        x = t.rand(10_000)
        assert x.min().item() >= 0 and x.max().item() < 1 and abs(x.mean().item() - 0.5) < 0.02
        n = t.randn(10_000)
        assert abs(n.mean().item()) < 0.05 and abs(n.var().item() - 1) < 0.1
        assert sorted(set(t.randint(-2, 3, (1000,)).tolist())) == [-2, -1, 0, 1, 2]


class TestConversion:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_item_and_tolist_give_python_numbers(self, dtype):
        kind = {"bool": bool, "f": float, "b": float, "c": complex}
        expected = bool if dtype == "bool" else kind.get(dtype[0], int)
        x = t.tensor([[0, 1], [1, 0]], dtype=getattr(t, dtype))
        assert x.tolist() == [[0, 1], [1, 0]]
        assert type(x.tolist()[0][0]) is type(x[0, 0].item()) is expected

    def test_tolist_shapes(self):
        assert t.tensor(3).tolist() == 3
        assert t.empty(0).tolist() == [] and t.empty(2, 0).tolist() == [[], []]
        assert t.arange(6).reshape(2, 3).t().tolist() == [[0, 3], [1, 4], [2, 5]]

    def test_item_takes_any_one_element_tensor(self):
        assert t.tensor([[[7]]]).item() == 7
        assert math.isnan(t.tensor(math.nan).item())
        assert t.tensor(2**63 - 1).item() == 2**63 - 1

    def test_number_protocols(self):
        assert int(t.tensor(3.9)) == 3 and float(t.tensor(2)) == 2.0
        assert complex(t.tensor(1 + 2j)) == 1 + 2j
        assert type(int(t.tensor([5]))) is int
        assert operator.index(t.tensor(4)) == 4 and [10, 20, 30][t.tensor(1)] == 20
        assert list(range(t.tensor(3))) == [0, 1, 2]

    def test_bool(self):
        assert t.tensor(1) and t.tensor([0.5]) and not t.tensor(0.0) and not t.tensor([[False]])

    def test_len_and_iteration(self):
        x = t.arange(6).reshape(3, 2)
        assert len(x) == 3
        assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
        next(iter(x))[0] = 9
        assert x[0, 0].item() == 9
        assert [row.tolist() for row in reversed(x)] == [[4, 5], [2, 3], [9, 1]]
        *_, last = x
        assert last.tolist() == [4, 5]

    def test_contains(self):
        x = t.arange(4)
        assert 2 in x and 7 not in x and t.tensor(3) in x

    def test_casts(self):
        x = t.tensor([0.0, 1.9, -1.9])
        assert x.int().tolist() == [0, 1, -1] and x.int().dtype == t.int32
        assert x.bool().tolist() == [False, True, True]
        assert x.double().dtype == t.float64 and x.long().dtype == t.int64
        assert x.half().dtype == t.float16 and x.bfloat16().dtype == t.bfloat16
        assert x.to(t.float32) is x and x.float() is x and x.to("cpu") is x
        assert x.to(t.float32, copy=True) is not x
        assert x.to(t.ones(1, dtype=t.int8)).dtype == t.int8 and x.type_as(t.ones(1)) is x


class TestEqualityAndHash:
    def test_eq_is_elementwise_and_hash_is_identity(self):
        x, y = t.tensor([1, 2]), t.tensor([1, 3])
        assert (x == y).tolist() == [True, False] and (x != y).tolist() == [False, True]
        assert hash(x) == hash(x) and hash(x) != hash(x.clone())
        assert {x: "x", y: "y"}[x] == "x"
        assert len({x, y, x}) == 2

    def test_eq_with_what_is_no_tensor(self):
        x = t.tensor([1, 2])
        assert (x == None) is False  # noqa: E711
        assert (x == "a") is False and (x != "a") is True

    def test_python_operators(self):
        x = t.tensor([7.0, -7.0])
        assert (x + 1).tolist() == (1 + x).tolist() == [8, -6]
        assert (10 - x).tolist() == [3, 17] and (x - 10).tolist() == [-3, -17]
        assert (2 * x).tolist() == [14, -14] and (14 / x).tolist() == [2, -2]
        assert (x // 2).tolist() == [3, -4] and (x % 4).tolist() == [3, 1]
        assert (15 // x).tolist() == [2, -3] and (x**2).tolist() == [49, 49]
        assert (2 ** t.tensor([3.0])).tolist() == [8] and (-x).tolist() == [-7, 7]
        assert abs(x).tolist() == [7, 7] and (+x).tolist() == [7, -7]
        assert (x > 0).tolist() == [True, False] and (0 >= x).tolist() == [False, True]
        assert (t.tensor([3]) & t.tensor([6])).tolist() == [2]
        assert (t.ones(2, 3) @ t.ones(3)).tolist() == [3, 3]


def test_int_of_a_complex_number_without_imaginary_part():
    assert int(t.tensor(2 + 0j)) == 2


class TestCopying:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_pickle_keeps_everything(self, dtype):
        x = t.tensor([[1, 0, 1], [0, 1, 1]], dtype=getattr(t, dtype)).t()
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype == x.dtype and y.shape == x.shape and y.stride() == x.stride()
        assert y.tolist() == x.tolist()

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle_protocols(self, protocol):
        x = t.arange(5)[1:]
        assert pickle.loads(pickle.dumps(x, protocol)).tolist() == [1, 2, 3, 4]

    def test_pickle_of_corner_cases(self):
        x = t.ones(2, requires_grad=True)
        assert pickle.loads(pickle.dumps(x)).requires_grad
        assert pickle.loads(pickle.dumps(t.tensor(2.5))).item() == 2.5
        assert pickle.loads(pickle.dumps(t.empty(0, 3))).shape == (0, 3)
        for value in (t.float16, t.device("cpu", 0), t.Size([2, 3]), t.strided):
            assert pickle.loads(pickle.dumps(value)) == value

    @pytest.mark.parametrize(
        "view",
        [
            lambda x: x[1:3, 2:5],
            lambda x: x[::2, ::3],
            lambda x: x[0, :1].expand(3),
            lambda x: x[:0],
            lambda x: x[1, 1],
        ],
    )
    def test_pickle_keeps_a_view_as_it_lies(self, view):
        x = view(t.arange(24.0).reshape(4, 6))
        y = pickle.loads(pickle.dumps(x))
        assert y.tolist() == x.tolist() and y.stride() == x.stride()
        assert y.storage_offset() == x.storage_offset()
        assert y.untyped_storage().nbytes() == 96

    def test_pickle_keeps_what_is_conjugate_or_negative(self):
        x = t.tensor([1 + 2j]).conj()
        y, z = pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x.imag))
        assert y.is_conj() and y.tolist() == [1 - 2j]
        assert z.is_neg() and z.tolist() == [-2]

    def test_pickle_of_a_tensor_without_memory(self):
        x = pickle.loads(pickle.dumps(t.empty(3, 4, device="meta")[1:].t()))
        assert x.is_meta and x.shape == (4, 2) and x.stride() == (1, 4)

    @pytest.mark.skipif(NAME != "taeda", reason="looks into the stored form")
    def test_pickle_whose_memory_is_too_short_is_refused(self):
        rebuild, (data, *rest) = t.arange(4).__reduce_ex__(2)
        short = t.TypedStorage(wrap_storage=data.untyped()[:8], dtype=data.dtype)
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
            rebuild(short, *rest)

    def test_what_was_computed_becomes_a_leaf(self):
        x = t.ones(2, requires_grad=True) * 2
        for y in (pickle.loads(pickle.dumps(x)), copy.copy(x)):
            assert y.requires_grad and y.is_leaf and y.tolist() == [2, 2]

    def test_copy_shares_and_deepcopy_does_not(self):
        x = t.zeros(3)
        shallow, deep = copy.copy(x), copy.deepcopy(x)
        x[0] = 1
        assert shallow.tolist() == [1, 0, 0] and deep.tolist() == [0, 0, 0]
        assert deep.data_ptr() != x.data_ptr()

    def test_deepcopy_keeps_identity_sharing_and_attributes(self):
        x = t.arange(4).to(t.float32).requires_grad_()
        x.note = ["kept"]
        first, second, view = copy.deepcopy([x, x, x.detach()[1:]])
        assert first is second and first.requires_grad and first.note == ["kept"]
        assert first.note is not x.note
        assert view.data_ptr() == first.data_ptr() + 4

    def test_deepcopy_shares_among_dtypes(self):
        x = t.arange(4, dtype=t.int32)
        y, z, storage = copy.deepcopy([x, x.view(t.float32), x.untyped_storage()])
        y[0] = 7
        assert z.view(t.int32).tolist() == [7, 1, 2, 3] and storage[0] == 7
        assert x.tolist() == [0, 1, 2, 3]

    def test_deepcopy_keeps_the_gradient(self):
        x = t.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        assert copy.deepcopy(x).grad.tolist() == [3, 3]

    def test_clone(self):
        x = t.arange(6).reshape(2, 3)
        y = x.clone()
        y[0, 0] = 50
        assert x[0, 0].item() == 0 and y.stride() == x.stride()


class TestIdentity:
    def test_attributes_survive_while_only_a_gradient_slot_holds_the_tensor(self):
        x = t.ones(2, requires_grad=True)
        x.grad = t.zeros(2)
        x.grad.note = "kept"
        number = id(x.grad)
        gc.collect()
        assert x.grad.note == "kept" and id(x.grad) == number and x.grad is x.grad

    def test_attributes_survive_while_only_a_view_holds_the_tensor(self):
        base = t.ones(4)
        base.note = "kept"
        view = base[1:]
        del base
        gc.collect()
        assert view._base.note == "kept"

    def test_attributes_survive_while_only_the_graph_holds_the_tensor(self):
        x = t.ones(2, requires_grad=True)
        x.note = "kept"
        y = x * 2
        del x
        gc.collect()
        leaf = y.grad_fn.next_functions[0][0].variable
        assert leaf.note == "kept" and leaf.is_leaf

    def test_tensors_are_freed(self):
        x = t.ones(2)
        died = []
        weakref.finalize(x, died.append, True)
        del x
        gc.collect()
        assert died == [True]

    def test_cycles_through_attributes_are_freed(self):
        x = t.ones(2)
        x.self_reference = x
        died = []
        weakref.finalize(x, died.append, True)
        del x
        gc.collect()
        assert died == [True]


class Meters(t.Tensor):
    """A subclass with a method and an attribute."""

    unit = "m"

    def in_feet(self):
        return self * 3.25


class TestSubclass:
    def test_as_subclass_shares_memory(self):
        x = t.ones(3)
        y = x.as_subclass(Meters)
        y[0] = 4
        assert type(y) is Meters and isinstance(y, t.Tensor) and x[0].item() == 4
        assert y.unit == "m" and y.shape == (3,)

    def test_operators_keep_the_subclass(self):
        y = t.ones(3).as_subclass(Meters)
        assert type(y + 1) is type(y.in_feet()) is type(y[1:]) is type(t.exp(y)) is Meters
        assert y.in_feet().tolist() == [3.25] * 3

    def test_subclass_pickles(self):
        y = t.ones(2).as_subclass(Meters)
        y.note = 1
        z = pickle.loads(pickle.dumps(y))
        assert type(z) is Meters and z.note == 1 and z.tolist() == [1, 1]

    def test_torch_function_sees_calls(self):
        seen = []

        class Watched(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        t.add(t.ones(2).as_subclass(Watched), 1)
        assert "add" in seen


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch's import loads NumPy and much else")
def test_import_is_light():
    code = "import sys, taeda; print(sorted({'numpy', 'torch', 'asyncio'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr
