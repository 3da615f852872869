"""Wrapper subclasses that tell sizes, strides, device or layout at each read."""

import pytest
from taeda.utils._pytree import tree_map

import taeda as t

aten, prim = t.ops.aten, t.ops.prim


class Wrapper(t.Tensor):
    """Holds a tensor; what is asked of it is asked of that."""

    asked = []

    @staticmethod
    def __new__(cls, inner, sizes=None, **options):
        options.setdefault("device", inner.device)
        return t.Tensor._make_wrapper_subclass(
            cls, inner.shape if sizes is None else sizes, dtype=inner.dtype, **options
        )

    def __init__(self, inner, sizes=None, **options):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func)
        assert types == (cls,) and not kwargs

        def inner(value):
            return value.inner if isinstance(value, cls) else value

        return func(*tree_map(inner, args))


def asked(read, wrapper):
    """(value, operators that the class was asked)."""
    Wrapper.asked = []
    return read(wrapper), Wrapper.asked


READS = {
    "shape": (lambda w: w.shape, [aten.sym_size.default], t.Size([2, 3])),
    "size": (lambda w: w.size(), [aten.sym_size.default], t.Size([2, 3])),
    "size(dim)": (lambda w: w.size(-1), [aten.sym_size.default], 3),
    "len": (len, [aten.sym_size.default], 2),
    "dim": (lambda w: w.dim(), [aten.dim.default], 2),
    "ndim": (lambda w: w.ndim, [aten.dim.default], 2),
    "numel": (lambda w: w.numel(), [aten.sym_numel.default], 6),
    "offset": (lambda w: w.storage_offset(), [aten.sym_storage_offset.default], 0),
}
STRIDE_READS = {
    "stride": (lambda w: w.stride(), [aten.sym_stride.default], (3, 1)),
    "stride(dim)": (lambda w: w.stride(0), [aten.sym_stride.default], 3),
    "is_contiguous": (lambda w: w.is_contiguous(), [aten.is_contiguous.default], True),
    "is_contiguous(format)": (
        lambda w: w.is_contiguous(memory_format=t.channels_last),
        [aten.is_contiguous.memory_format],
        False,
    ),
}


@pytest.mark.parametrize("name", [*READS, *STRIDE_READS])
def test_sizes_are_told_by_the_class(name):
    read, operators, value = (READS | STRIDE_READS)[name]
    wrapper = Wrapper(t.ones(2, 3), (1, 1), dispatch_sizes_strides_policy="sizes")
    assert asked(read, wrapper) == (value, operators)


@pytest.mark.parametrize("name", STRIDE_READS)
def test_strides_are_told_by_the_class(name):
    read, operators, value = STRIDE_READS[name]
    wrapper = Wrapper(t.ones(2, 3), strides=(1, 2), dispatch_sizes_strides_policy="strides")
    assert asked(read, wrapper) == (value, operators)


@pytest.mark.parametrize("name", READS)
def test_sizes_stay_where_only_strides_are_told(name):
    read, _, value = READS[name]
    wrapper = Wrapper(t.ones(2, 3), dispatch_sizes_strides_policy="strides")
    assert asked(read, wrapper) == (value, [])


def test_device_is_told_by_the_class():
    wrapper = Wrapper(t.ones(2), device="meta", dispatch_device=True)
    for read, value in (
        (lambda w: w.device, t.device("cpu")),
        (lambda w: w.is_cpu, True),
        (lambda w: w.is_cuda, False),
        (lambda w: w.is_meta, False),
        (lambda w: w.get_device(), -1),
    ):
        assert asked(read, wrapper) == (value, [prim.device.default])
    assert asked(lambda w: w.shape, wrapper)[1] == []


def test_layout_is_told_by_the_class():
    wrapper = Wrapper(t.ones(2), dispatch_layout=True)
    assert asked(lambda w: w.layout, wrapper) == (t.strided, [prim.layout.default])


def test_none_stands_for_what_was_given():
    class Silent(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return None

    wrapper = Silent(t.ones(2, 3), (4, 5), dispatch_sizes_strides_policy="sizes")
    assert wrapper.shape == (4, 5) and wrapper.stride() == (5, 1) and wrapper.numel() == 20


def test_a_class_that_declines():
    class Declines(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    wrapper = Declines(t.ones(2, 3), dispatch_sizes_strides_policy="sizes")
    with pytest.raises(TypeError, match=r"'torch.ops.aten.sym_size'; all .*NotImplemented"):
        wrapper.shape  # noqa: B018


def test_errors_of_the_class_arrive():
    class Fails(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise KeyError(func)

    wrapper = Fails(t.ones(2, 3), dispatch_sizes_strides_policy="sizes", dispatch_device=True)
    for read in (lambda: wrapper.shape, lambda: len(wrapper), lambda: wrapper.device):
        with pytest.raises(KeyError):
            read()


def test_nobody_is_asked_where_dispatch_is_off():
    wrapper = Wrapper(t.ones(2, 3), (1, 1), dispatch_sizes_strides_policy="sizes")
    with t.utils._mode_utils.no_dispatch():
        assert wrapper.shape == (1, 1)
    assert wrapper.shape == (2, 3)


def test_the_operators_serve_plain_tensors():
    x = t.ones(4, 3).t()
    assert aten.sym_size.default(x) == [3, 4] and aten.sym_stride.default(x) == [1, 3]
    assert aten.dim.default(x) == 2 and aten.is_contiguous.default(x) is False
    assert prim.device.default(x) == t.device("cpu") and prim.layout.default(x) is t.strided
    assert aten.sym_size.int(x, 0) == 3


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"storage_offset": 3}, RuntimeError, "setting storage offset without stride"),
        ({"strides": (1,)}, RuntimeError, r"dimensionality of sizes \(2\) must match"),
        ({"dispatch_sizes_strides_policy": "all"}, ValueError, "Unknown sizes_strides_policy"),
        ({"layout": t.sparse_coo}, NotImplementedError, "dispatch_layout=True"),
    ],
)
def test_requests_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        t.Tensor._make_wrapper_subclass(Wrapper, (2, 3), **options)


def test_classes_that_are_refused():
    with pytest.raises(TypeError, match="does not inherit from Tensor is not possible"):
        t.Tensor._make_wrapper_subclass(int, (2, 3))


def test_a_class_with_memory_may_tell_its_sizes_too():
    class Sized(t.Tensor):
        @staticmethod
        def __new__(cls, data):
            return t.Tensor._make_subclass(cls, data, dispatch_sizes_strides_policy="sizes")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return {aten.sym_size.default: (5, 3), aten.dim.default: 2}.get(func)

    sized = Sized(t.ones(4, 2))
    assert sized.size() == (5, 3) and sized.dim() == 2
    with pytest.raises(ValueError, match="Unknown sizes_strides_policy: nonsense"):
        t.Tensor._make_subclass(Sized, t.ones(2), dispatch_sizes_strides_policy="nonsense")


class Tells(t.Tensor):
    """Answers the questions of `answers`, and is asked no other operator."""

    answers, asked = {}, []

    @staticmethod
    def __new__(cls, data, **options):
        return t.Tensor._make_subclass(cls, data, **options)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func)
        return cls.answers.get(func, NotImplemented)


@pytest.fixture
def tells():
    Tells.answers, Tells.asked = {}, []
    yield Tells
    Tells.answers = {}


def test_contiguous_asks_the_class(tells):
    x = tells(t.ones(2, 3).t(), dispatch_sizes_strides_policy="strides")
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.ops\.aten\.is_contiguous'"):  # fmt: skip
        x.contiguous()
    tells.answers[aten.is_contiguous.default] = True
    assert x.contiguous() is x
    tells.answers[aten.is_contiguous.default] = False
    with pytest.raises(TypeError, match=r"aten\.clone\.default"):
        x.contiguous()
    tells.answers[aten.is_contiguous.memory_format] = True
    assert x.contiguous(memory_format=t.channels_last) is x


def test_data_ptr_asks_for_the_number_of_elements(tells):
    data = t.ones(2)
    x = tells(data, dispatch_sizes_strides_policy="sizes")
    tells.answers[aten.numel.default] = None
    assert x.data_ptr() == data.data_ptr() and tells.asked == [aten.numel.default]
    tells.answers[aten.numel.default] = 0
    assert x.data_ptr() == 0


def test_type_as_takes_the_device_that_is_told(tells):
    tells.answers[prim.device.default] = t.device("meta")
    x = tells(t.ones(2, dtype=t.float64), dispatch_device=True)
    made = t.ones(3).type_as(x)
    assert made.device.type == "meta" and made.dtype == t.float64


@pytest.mark.parametrize(
    ("question", "rest", "value"),
    [
        (aten.is_non_overlapping_and_dense.default, (), False),
        (aten.is_strides_like_format.default, (t.channels_last,), True),
    ],
)
def test_questions_about_strides(tells, question, rest, value):
    x = tells(t.ones(2, 3), dispatch_sizes_strides_policy="strides")
    tells.answers[question] = None
    assert question(x, *rest) is not value and tells.asked == [question]
    tells.answers[question] = value
    assert question(x, *rest) is value


def test_questions_about_strides_of_a_plain_tensor():
    x = t.ones(1, 2, 3, 4)
    assert aten.is_non_overlapping_and_dense(x) and not aten.is_non_overlapping_and_dense(
        x[..., :2]
    )
    last = x.to(memory_format=t.channels_last)
    assert aten.is_strides_like_format(last, t.channels_last)
    assert not aten.is_strides_like_format(x, t.channels_last)
    assert aten.sym_is_contiguous(x) and not aten.sym_is_contiguous(x.transpose(1, 2))
    assert (aten.size(x), aten.stride(x), aten.numel(x)) == ([1, 2, 3, 4], [24, 12, 4, 1], 24)
