"""Wrapper subclasses at work: writes, views, autograd, parameters, copies, logs."""

import copy
import importlib
import pickle

import pytest
from under_test import NAME, t
from wrapped_tensor import Aliasing, Wrapped, names, tree_map, unwrap, wrapped

_python_dispatch = importlib.import_module(f"{NAME}.utils._python_dispatch")
logging_tensor = importlib.import_module(f"{NAME}.testing._internal.logging_tensor")
aten = t.ops.aten
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch's answer is another, or a crash")


@pytest.fixture(autouse=True)
def seen():
    Wrapped.seen.clear()
    return Wrapped.seen


# ---- writes and views ----
def test_in_place_operators_return_the_object_they_wrote_to():
    for w in (wrapped(3), wrapped(3, cls=Aliasing)):
        assert w.add_(1) is w
        w *= 2
        assert w.inner.tolist() == [4, 6, 8]
        out = type(w)(t.empty(3))
        assert t.add(w, w, out=out) is out and out.inner.tolist() == [8, 12, 16]
        assert aten.mul_.Tensor(w, 2) is w
    x = t.ones(2)
    assert x.add_(wrapped(2)) is x and x.tolist() == [2, 3]


def test_writing_through_a_view():
    w = wrapped(2, 2)
    w[0] = 5
    assert w.inner.tolist() == [[5, 5], [3, 4]]
    view = w.view(4)
    assert view._base is w and view._is_view()
    view.zero_()
    assert w.inner.tolist() == [[0, 0], [0, 0]]


def test_writes_are_counted_with_the_base():
    w = wrapped(2, 2)
    view = w.t()
    before = w._version
    view.mul_(2)
    assert w._version == view._version == before + 1


def test_detached_wrappers_count_writes_together_and_data_does_not():
    w = wrapped(2)
    before = w._version
    w.detach().add_(1)
    assert w._version == before + 1
    w.data.add_(1)
    assert w._version == before + 1


def test_the_storage_of_a_wrapper_has_no_address():
    with pytest.raises(RuntimeError, match="data pointer on an invalid python storage"):
        wrapped(2).untyped_storage().data_ptr()
    assert wrapped(2).data_ptr() == 0 and t.empty(2, device="meta").data_ptr() == 0


def test_set_asks_the_class(seen):
    w, other = wrapped(2), t.zeros(3)
    assert w.set_(other) is w and w.inner.data_ptr() == other.data_ptr()
    assert names(seen) == ["aten.set_.source_Tensor"]


def test_an_undefined_result_is_named_where_it_is_used():
    class Forgets(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_dispatch__(func, types, args, kwargs)
            return None if func.overloadpacket is aten.add else result

    w = wrapped(2, cls=Forgets)
    assert w + 1 is None
    w = Forgets(t.full((2,), 0.5), requires_grad=True)
    with pytest.raises(RuntimeError, match="Expected a proper Tensor but got None"):
        w.acos().sum().backward()


def test_aliasing_results_share_a_storage():
    w = wrapped(2, 2, cls=Aliasing)
    view = w.view(4)
    view.inner.zero_()
    before = w._version
    aten.add_.Tensor(view, 1)
    assert w._version == before + 1
    w = wrapped(2, 2, cls=Aliasing)
    w.t_()
    assert w.inner.tolist() == [[1, 3], [2, 4]] and w.stride() == (1, 2)
    w.unsqueeze_(0)
    assert w.shape == (1, 2, 2)


def test_aliasing_wants_wrappers_of_one_class():
    class Leaking(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            return _python_dispatch.return_and_correct_aliasing(func, args, kwargs or {}, out)

    with pytest.raises(AssertionError, match="But expected types to match"):
        wrapped(4, cls=Leaking).view(2, 2)


# ---- autograd ----
@pytest.mark.parametrize("cls", [Wrapped, Aliasing])
def test_gradients_are_wrappers(cls):
    w = wrapped(2, 2, cls=cls, requires_grad=True)
    x = t.ones(2, 2, requires_grad=True)
    y = ((w @ x).sigmoid() * w).sum()
    assert type(y) is cls and y.requires_grad and not y.inner.requires_grad
    y.backward()

    plain = t.arange(1.0, 5).view(2, 2).requires_grad_()
    other = t.ones(2, 2, requires_grad=True)
    ((plain @ other).sigmoid() * plain).sum().backward()
    assert type(w.grad) is cls and t.allclose(w.grad.inner, plain.grad)
    assert type(x.grad) is cls and t.allclose(x.grad.inner, other.grad)


def test_gradients_add_up_over_backwards():
    w = wrapped(2, requires_grad=True)
    for _ in range(2):
        (w * 3).sum().backward()
    assert w.grad.inner.tolist() == [6, 6]


def test_double_backward():
    w = wrapped(3, requires_grad=True)
    (first,) = t.autograd.grad((w**3).sum(), w, create_graph=True)
    (second,) = t.autograd.grad(first.sum(), w)
    assert first.inner.tolist() == [3, 12, 27] and second.inner.tolist() == [6, 12, 18]


@pytest.mark.parametrize("cls", [Wrapped, Aliasing])
def test_in_place_on_a_view_is_recorded(cls):
    w = wrapped(2, 3, cls=cls, requires_grad=True)
    y = w * 2
    y[0].mul_(5)
    y.sum().backward()
    assert w.grad.inner.tolist() == [[10, 10, 10], [2, 2, 2]]


def test_a_saved_wrapper_that_was_written_to_is_noticed():
    w = wrapped(2, requires_grad=True)
    y = w.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        wrapped(2, requires_grad=True).add_(1)


def test_handlers_run_below_autograd_unless_they_ask():
    recorded = []

    class Asking(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            recorded.append((t.ones(1, requires_grad=True) * 2).requires_grad)
            with t.overrides.enable_reentrant_dispatch():
                recorded.append((t.ones(1, requires_grad=True) * 2).requires_grad)
            return super().__torch_dispatch__(func, types, args, kwargs)

    wrapped(2, cls=Asking).exp()
    assert recorded == [False, True]


def test_detach_and_data_ask_the_class(seen):
    w = wrapped(2, requires_grad=True)
    for made in (w.detach(), w.data):
        assert type(made) is Wrapped and not made.requires_grad and made is not w
    assert names(seen) == ["aten.detach.default"] * 2


def test_transforms_reach_the_class(seen):
    w = wrapped(3)
    gradient = t.func.grad(lambda v: (v.sin() * v).sum())(w)
    inner = w.inner
    assert t.allclose(gradient.inner, inner.sin() + inner * inner.cos())
    rows = t.func.vmap(lambda row: row.sum())(wrapped(2, 3))
    assert rows.inner.tolist() == [6, 15]


# ---- parameters, copies, text ----
def test_parameters_keep_the_class():
    p = t.nn.Parameter(wrapped(2, 2))
    assert type(p) is Wrapped and isinstance(p, t.nn.Parameter) and p.requires_grad
    layer = t.nn.Linear(2, 2, bias=False)
    layer.weight = p
    assert dict(layer.named_parameters())["weight"] is p
    layer(t.ones(1, 2)).sum().backward()
    assert type(p.grad) is Wrapped and p.grad.inner.tolist() == [[1, 1], [1, 1]]


def test_a_class_without_detach_makes_no_parameter():
    class Plain(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*tree_map(unwrap, args), **(kwargs or {}))

    with pytest.raises(RuntimeError, match=r"requires that detach\(\) returns an instance of the same type, but return type Tensor was found"):  # fmt: skip
        t.nn.Parameter(wrapped(2, cls=Plain))


def test_copies():
    w = wrapped(2, 2, requires_grad=True)
    twin = copy.deepcopy(w)
    assert type(twin) is Wrapped and twin.requires_grad and twin.inner is not w.inner
    assert twin.inner.tolist() == w.inner.tolist()
    again = pickle.loads(pickle.dumps(w))
    assert type(again) is Wrapped and again.requires_grad and again.shape == (2, 2)
    assert again.inner.tolist() == w.inner.tolist()


def test_a_deep_copy_is_a_clone_of_the_class(seen):
    copy.deepcopy(wrapped(2))
    assert "aten.clone.default" in names(seen)

    class Unwraps(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*tree_map(unwrap, args), **(kwargs or {}))

    with pytest.raises(RuntimeError, match="for which cloning returns another instance of the same subclass"):  # fmt: skip
        copy.deepcopy(wrapped(2, cls=Unwraps))


def test_text_of_a_logging_tensor():
    x = logging_tensor.LoggingTensor(t.ones(2), requires_grad=True)
    assert repr(x) == "LoggingTensor(tensor([1., 1.]), requires_grad=True)"
    assert "LoggingTensor" in repr(x.sum()) and "grad_fn=<SumBackward0>" in repr(x.sum())


@only_taeda
def test_text_of_a_wrapper_without_one():
    class Silent(Wrapped):
        __repr__ = t.Tensor.__repr__

    assert repr(wrapped(2, 3, cls=Silent)) == "Silent(..., size=(2, 3))"


# ---- taking wrappers apart ----
def test_wrappers_that_can_be_taken_apart():
    w = wrapped(2, 2)
    assert _python_dispatch.is_traceable_wrapper_subclass(w)
    assert not _python_dispatch.is_traceable_wrapper_subclass(t.ones(2))
    assert not _python_dispatch.is_traceable_wrapper_subclass(3)
    twice = _python_dispatch.transform_subclass(w, lambda name, inner: inner * 2)
    assert type(twice) is Wrapped and twice.inner.tolist() == [[2, 4], [6, 8]]
    with pytest.raises(AssertionError, match="to have shape equal to"):
        _python_dispatch.transform_subclass(w, lambda name, inner: inner[0])


# ---- the log ----
def test_a_log_of_forward_and_backward():
    with logging_tensor.capture_logs() as logs:
        x = logging_tensor.LoggingTensor(t.tensor([3.0]), requires_grad=True)
        logging_tensor.log_input("x", x)
        y = x * x
        (grad,) = t.autograd.grad(y, x, t.ones(1))
    module = aten.mul.Tensor.__module__
    assert logs[:2] == ["$0: f32[1] = input('x')", f"$1: f32[1] = {module}.mul.Tensor($0, $0)"]
    assert any(".add.Tensor(" in line for line in logs[2:])
    assert grad.elem.tolist() == [6]
    with logging_tensor.capture_logs_with_logging_tensor_mode() as logs:
        t.ones(2) + 1
    assert logs[-1] == f"$1: f32[2] = {module}.add.Tensor($0, 1)"
