"""__torch_dispatch__ of classes and modes: who is asked, with what, and what a wrapper is."""

import importlib

import pytest
from under_test import NAME, t
from wrapped_tensor import Wrapped, names, wrapped

TorchDispatchMode = importlib.import_module(f"{NAME}.utils._python_dispatch").TorchDispatchMode
no_dispatch = importlib.import_module(f"{NAME}.utils._mode_utils").no_dispatch
aten = t.ops.aten
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch's answer is another, or a crash")


class Declining(Wrapped):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Derived(Wrapped):
    pass


@pytest.fixture(autouse=True)
def seen():
    Wrapped.seen.clear()
    return Wrapped.seen


# ---- what a class sees ----
def test_an_operator_comes_with_its_types_and_arguments(seen):
    calls = []

    class Recording(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append((func, types, args, kwargs))
            return super().__torch_dispatch__(func, types, args, kwargs)

    w = wrapped(3, cls=Recording)
    result = t.add(w, 2, alpha=3)
    assert type(result) is Recording and result.inner.tolist() == [7, 8, 9]
    ((func, types, args, kwargs),) = calls
    assert func is aten.add.Tensor and types == (Recording,)
    assert args[0] is w and args[1] == 2 and kwargs == {"alpha": 3}


def test_composites_come_in_parts(seen):
    t.nn.functional.linear(t.ones(2, 3), wrapped(4, 3))
    assert names(seen) == ["aten.t.default", "aten.mm.default"]


def test_lists_and_optional_arguments_are_found(seen):
    assert t.cat([t.ones(2), wrapped(2)]).inner.tolist() == [1, 1, 1, 2]
    assert t.clamp(t.tensor([0.0, 9.0]), max=wrapped(2)).inner.tolist() == [0, 2]
    assert names(seen) == ["aten.cat.default", "aten.clamp.Tensor"]


def test_several_results_and_numbers_as_results(seen):
    values, order = wrapped(3).sort(descending=True)
    assert values.inner.tolist() == [3, 2, 1] and order.inner.tolist() == [2, 1, 0]
    assert t.equal(wrapped(3), wrapped(3)) is True
    assert [type(part) for part in wrapped(4).split(2)] == [Wrapped, Wrapped]


def test_reading_a_number_goes_through_the_class(seen):
    w = wrapped(3).sum()
    assert w.item() == 6 and float(w) == 6 and bool(w)
    assert names(seen)[1:] == ["aten._local_scalar_dense.default"] * 3
    with pytest.raises(
        RuntimeError, match="a Tensor with 3 elements cannot be converted to Scalar"
    ):
        wrapped(3).item()


def test_a_class_with_memory_calls_the_default(seen):
    class Counted(t.Tensor):
        calls = 0

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls += 1
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    for made in (
        t.ones(2).as_subclass(Counted),
        t.Tensor._make_subclass(Counted, t.ones(2)),
        Counted([1.0, 1.0]),
    ):
        Counted.calls = 0
        result = (made + 1) * 2
        assert type(made) is Counted and type(result) is t.Tensor
        assert result.tolist() == [4, 4] and Counted.calls == 1


def test_the_default_is_the_disabled_handler():
    assert t.Tensor.__torch_dispatch__ is t._C._disabled_torch_dispatch_impl

    class Plain(Wrapped):
        __torch_dispatch__ = t._C._disabled_torch_dispatch_impl

    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        Plain(t.ones(2))
    assert type(t.ones(2).as_subclass(Plain) + 1) is not Wrapped


def test_torch_function_is_off_unless_the_class_defines_it():
    assert Wrapped.__torch_function__ is t._C._disabled_torch_function_impl
    calls = []

    class Both(Wrapped):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    assert type(t.exp(wrapped(2, cls=Both))) is Both
    assert calls == ["exp"]


# ---- who is asked ----
def test_subclasses_are_asked_before_their_bases(seen):
    assert type(wrapped(2) + wrapped(2, cls=Derived)) is Derived
    assert seen == [("aten.add.Tensor", (Derived, Wrapped))]


def test_the_next_class_is_asked_when_one_declines(seen):
    class Taking(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return t.zeros(1)

    assert t.mul(wrapped(2, cls=Declining), wrapped(2, cls=Taking)).tolist() == [0]


def test_when_all_decline_the_error_names_them():
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch._ops.aten.exp.default'; all __torch_dispatch__ handlers returned NotImplemented:\n\n  - tensor subclass <class '.*Declining'>"):  # fmt: skip
        t.exp(wrapped(2, cls=Declining))


def test_errors_of_a_class_reach_the_caller():
    class Failing(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wrapped(2, cls=Failing).exp()


def test_a_result_of_another_type_is_an_error():
    class Wrong(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "text"

    with pytest.raises(RuntimeError, match="Unable to cast text to Tensor"):
        wrapped(2, cls=Wrong).exp()


# ---- modes ----
class Seeing(TorchDispatchMode):
    def __init__(self, declines=()):
        super().__init__()
        self.seen = []
        self.declines = declines

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((str(func), types))
        if any(cls in self.declines for cls in types):
            return NotImplemented
        return func(*args, **(kwargs or {}))


def test_a_mode_is_asked_first_and_told_of_classes(seen):
    w = wrapped(2)
    with Seeing() as mode:
        w + 1
    assert mode.seen == [("aten.add.Tensor", (Wrapped,))]
    assert names(seen) == ["aten.add.Tensor"]


def test_a_mode_does_not_see_objects_being_made():
    data = t.ones(2)
    with Seeing() as mode:
        made = [
            t.nn.Parameter(data),
            data.as_subclass(Derived),
            t.Tensor._make_subclass(Derived, data),
        ]
    assert [type(each) for each in made] == [t.nn.Parameter, Derived, Derived]
    assert mode.seen == []


def test_a_mode_that_declines_sees_what_the_class_calls(seen):
    w = wrapped(2)
    with Seeing(declines=(Wrapped,)) as mode:
        result = w + 1
    assert type(result) is Wrapped
    assert mode.seen == [("aten.add.Tensor", (Wrapped,)), ("aten.add.Tensor", ())]


def test_a_mode_and_a_class_that_decline_are_both_named():
    w = wrapped(2, cls=Declining)
    mode = Seeing(declines=(Declining,))
    message = r"- mode object <.*Seeing.*\n  - tensor subclass <class '.*Declining'>"
    with mode, pytest.raises(TypeError, match=message):
        w.exp()


# ---- wrappers ----
def test_a_wrapper_has_the_geometry_it_was_given():
    w = t.Tensor._make_wrapper_subclass(
        Wrapped, (2, 3), strides=(1, 2), storage_offset=4, dtype=t.float16, device="cuda:1"
    )
    assert w.shape == (2, 3) and w.stride() == (1, 2) and w.storage_offset() == 4
    assert w.dtype is t.float16 and w.device == t.device("cuda:1") and w.is_cuda
    assert not w.is_meta and not w.is_cpu and w.is_leaf and not w.requires_grad
    plain = t.Tensor._make_wrapper_subclass(Wrapped, (2, 3))
    assert plain.stride() == (3, 1) and plain.is_cpu and plain.dtype is t.get_default_dtype()
    assert plain.data_ptr() == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, (2,)), TypeError, r"cls must be a type \(got int\)"),
        ((t.Tensor, (2,)), TypeError, "must define __torch_dispatch__"),
        ((Wrapped, (2, 3), (1,)), RuntimeError, "dimensionality of sizes"),
    ],
)
def test_wrappers_that_cannot_be(arguments, error, message):
    with pytest.raises(error, match=message):
        t.Tensor._make_wrapper_subclass(*arguments)
    with pytest.raises(ValueError, match="Unknown sizes_strides_policy: rows"):
        t.Tensor._make_wrapper_subclass(Wrapped, (2,), dispatch_sizes_strides_policy="rows")


def test_values_of_a_wrapper_are_out_of_reach():
    w = wrapped(3)
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        w.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses"):
        w.tolist()


@only_taeda
def test_without_dispatch_a_wrapper_is_refused():
    w = wrapped(3)
    message = "Cannot access data pointer of Tensor that doesn't have storage"
    for call in (lambda: w + 1, lambda: w.view(3, 1), lambda: t.cat([t.ones(3), w]), w.sum):
        with no_dispatch(), pytest.raises(RuntimeError, match=message):
            call()
    with pytest.raises(BufferError, match=message):
        w.__dlpack__()
    with pytest.raises(NotImplementedError, match="has no memory"):
        bytes(w.untyped_storage())


def test_no_dispatch_reads_the_memory_of_a_class_that_has_it():
    class Refusing(t.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("asked")

    x = t.ones(2).as_subclass(Refusing)
    with no_dispatch():
        y = x + 1
    assert type(y) is t.Tensor and y.tolist() == [2, 2]
    with no_dispatch(), Seeing() as mode:
        t.ones(2) + 1
    assert mode.seen == []


def test_a_tensor_has_one_class():
    w = wrapped(2)
    assert type(w.as_subclass(t.Tensor)) is Wrapped
    with pytest.raises(RuntimeError, match="Creating a new Tensor subclass Declining but the raw Tensor object is already associated to a python object of type Wrapped"):  # fmt: skip
        w.as_subclass(Declining)
