"""Dispatch modes: what they see, what they may change, how they nest."""

import importlib
import threading

import pytest
from under_test import NAME, t

modes = importlib.import_module(f"{NAME}.utils._python_dispatch")
TorchDispatchMode = modes.TorchDispatchMode
aten = t.ops.aten
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch's parts have other names")


class Log(TorchDispatchMode):
    """Lists what it sees and passes it on."""

    def __init__(self, seen=None, label=""):
        super().__init__()
        self.seen = [] if seen is None else seen
        self.label = label

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(self.label + str(func))
        return func(*args, **(kwargs or {}))


class Handler(TorchDispatchMode):
    """Calls a function in place of the operator."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.function(func, args, kwargs or {})


# ---- what a mode sees ----
def test_calls_come_as_overloads_with_their_arguments():
    calls = []

    def handle(func, args, kwargs):
        calls.append((func, args, kwargs))
        return func(*args, **kwargs)

    x = t.ones(2)
    with Handler(handle):
        y = t.add(x, x, alpha=3)
        y.mul_(2)
    (add, add_args, add_kwargs), (mul, mul_args, mul_kwargs) = calls
    assert add is aten.add.Tensor
    assert add_args[0] is x
    assert add_kwargs == {"alpha": 3}
    assert mul is aten.mul_.Tensor
    assert mul_args[0] is y
    assert mul_args[1] == 2
    assert mul_kwargs == {}
    assert y.tolist() == [8, 8]


def test_numbers_stay_numbers_and_defaults_are_left_out():
    calls = []

    def handle(func, args, kwargs):
        calls.append((args[1:], kwargs))
        return func(*args, **kwargs)

    x = t.ones(2, 3)
    with Handler(handle):
        _ = x + 2
        _ = x * 0.5
        x.sum(0)
        x.sum(0, keepdim=True)
    assert calls == [((2,), {}), ((0.5,), {}), (([0],), {}), (([0], True), {})]
    assert type(calls[0][0][0]) is int


def test_types_are_empty_for_plain_tensors():
    class Types(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert types == ()
            return func(*args, **(kwargs or {}))

    with Types():
        assert (t.ones(2) + 1).tolist() == [2, 2]


def test_factories_are_seen():
    with Log() as log:
        t.zeros(2)
        t.arange(3)
    assert log.seen[0] == "aten.zeros.default"
    assert any("arange" in name for name in log.seen[1:])


def test_composites_are_seen_in_parts():
    x, w, b = t.ones(2, 3), t.ones(4, 3), t.ones(4)
    with Log() as log:
        t.nn.functional.linear(x, w, b)
    assert log.seen == ["aten.t.default", "aten.addmm.default"]
    with Log() as log:
        t.matmul(x, w.t())
    assert log.seen == ["aten.t.default", "aten.mm.default"]


def test_products_of_many_dimensions_are_seen_as_bmm():
    a = t.arange(24.0).view(2, 3, 1, 4).requires_grad_()
    b = t.arange(12.0).view(3, 4, 1)
    expected = t.matmul(a, b)
    with Log() as log:
        got = t.matmul(a, b)
    assert log.seen.count("aten.bmm.default") == 1
    assert got.tolist() == expected.tolist()
    got.sum().backward()
    assert a.grad.tolist() == b.transpose(1, 2).expand(2, 3, 1, 4).tolist()


def test_backward_is_seen():
    x = t.ones(3, requires_grad=True)
    y = x.sin().sum()
    with Log() as log:
        y.backward()
    assert "aten.cos.default" in log.seen
    assert "aten.mul.Tensor" in log.seen
    assert "aten.sin.default" not in log.seen


def test_backward_runs_inside_backward_runs_are_seen():
    """Taeda goes on in another thread when they nest deeply."""

    class Nested(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth > 0:
                with t.enable_grad():
                    x = t.ones(1, requires_grad=True)
                    Nested.apply(x, ctx.depth - 1).sum().backward()
            return grad.sin(), None

    y = Nested.apply(t.ones(1, requires_grad=True), 120).sum()
    with Log() as log:
        y.backward()
    assert log.seen.count("aten.sin.default") == 121


def test_nothing_is_seen_outside():
    with Log() as log:
        pass
    t.ones(2).add(1)
    assert log.seen == []


# ---- autograd above modes ----
def test_results_are_recorded_after_the_mode():
    inside = []

    def handle(func, args, kwargs):
        result = func(*args, **kwargs)
        inside.append((args[0].requires_grad, result.requires_grad))
        return result

    x = t.ones(2, requires_grad=True)
    with Handler(handle):
        y = x.sin()
    assert inside == [(True, False)]
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == x.detach().cos().tolist()


def test_views_stay_views():
    x = t.zeros(2, 3)
    with Log() as log:
        x.view(6)[1:3].add_(1)
    assert log.seen == ["aten.view.default", "aten.slice.Tensor", "aten.add_.Tensor"]
    assert x.tolist() == [[0, 1, 1], [0, 0, 0]]
    leaf = t.zeros(3, requires_grad=True)
    base = leaf * 1
    with Log():
        base[0].mul_(5)
    base.sum().backward()
    assert leaf.grad.tolist() == [5, 1, 1]


def test_versions_count_once():
    x = t.ones(2)
    with Log():
        x.add_(1)
    assert x._version == 1


@pytest.mark.parametrize("nested", [False, True])
def test_transforms_run_above_modes(nested):
    def f(x):
        return (x.sin() * x).sum()

    transform = t.func.vmap(t.func.grad(f)) if nested else t.func.grad(f)
    x = t.arange(6.0).view(2, 3)
    expected = transform(x)
    with Log() as log:
        got = transform(x)
    assert got.tolist() == expected.tolist()
    assert "aten.cos.default" in log.seen

    def inside(x):
        with Log(seen):
            return f(x)

    seen = []
    t.func.grad(inside)(x)
    assert "aten.sin.default" in seen


def test_autocast_acts_above_modes():
    dtypes = []

    def handle(func, args, kwargs):
        if func is aten.mm.default:
            dtypes.extend(a.dtype for a in args)
        return func(*args, **kwargs)

    with t.autocast("cpu", dtype=t.bfloat16), Handler(handle):
        t.mm(t.ones(2, 2), t.ones(2, 2))
    assert dtypes == [t.bfloat16, t.bfloat16]


# ---- what a mode may do ----
def test_a_mode_may_call_something_else():
    def handle(func, args, kwargs):
        if func is aten.add.Tensor:
            return aten.mul.Tensor(*args, **kwargs)
        return func(*args, **kwargs)

    with Handler(handle):
        assert (t.tensor([3.0]) + t.tensor([4.0])).item() == 12


def test_several_results_and_lists_come_back():
    def handle(func, args, kwargs):
        result = func(*args, **kwargs)
        return list(result) if isinstance(result, tuple) else tuple(result)

    row, line = t.tensor([[1.0, 3.0]]), t.arange(4)
    with Handler(handle):
        values, indices = row.max(1)
        first, second = line.split(2)
    assert (values.item(), indices.item()) == (3, 1)
    assert (first.tolist(), second.tolist()) == ([0, 1], [2, 3])


def test_exceptions_keep_their_type():
    class RefusedError(Exception):
        pass

    def handle(func, args, kwargs):
        raise RefusedError(str(func))

    x = t.ones(2)
    with pytest.raises(RefusedError, match=r"aten\.sin\.default"), Handler(handle):
        x.sin()
    assert modes._get_current_dispatch_mode() is None
    with Log() as log:
        x.sin()
    assert log.seen == ["aten.sin.default"]


def test_exceptions_cross_backward():
    def handle(func, args, kwargs):
        raise KeyError("no")

    y = t.ones(2, requires_grad=True).sin().sum()
    with pytest.raises(KeyError, match="no"), Handler(handle):
        y.backward()


def test_a_result_of_another_type_is_refused():
    x = t.ones(2)
    handler = Handler(lambda func, args, kwargs: "x")
    with pytest.raises(RuntimeError, match="Unable to cast x to Tensor"), handler:
        x.sin()


def test_not_implemented_is_a_type_error():
    x = t.ones(2)
    handler = Handler(lambda func, args, kwargs: NotImplemented)
    with pytest.raises(TypeError, match="returned NotImplemented"), handler:
        x.sin()


def test_the_base_class_handles_nothing():
    x = t.ones(2)
    with pytest.raises(NotImplementedError), TorchDispatchMode():
        x.sin()


# ---- the stack ----
def test_the_innermost_mode_comes_first():
    seen = []
    with Log(seen, "outer "), Log(seen, "inner "):
        t.ones(2)
    assert seen == ["inner aten.ones.default", "outer aten.ones.default"]


def test_a_mode_is_off_while_it_runs():
    depths = []

    def handle(func, args, kwargs):
        depths.append(len(modes._get_current_dispatch_mode_stack()))
        t.ones(1)
        return func(*args, **kwargs)

    with Handler(handle):
        t.ones(2)
    assert depths == [0]


def test_a_mode_may_enter_itself():
    seen = []

    class Again(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            if func is aten.sin.default:
                with self:
                    return args[0].cos()
            return func(*args, **(kwargs or {}))

    x = t.zeros(1)
    with Again():
        y = x.sin()
    assert y.item() == 1
    assert seen == ["aten.sin.default", "aten.cos.default"]


def test_the_stack_can_be_read():
    assert modes._get_current_dispatch_mode() is None
    assert not modes.is_in_torch_dispatch_mode()
    with Log() as outer, Log() as inner:
        assert modes._get_current_dispatch_mode() is inner
        assert modes._get_current_dispatch_mode_stack() == [outer, inner]
        assert modes.is_in_torch_dispatch_mode()
    assert modes._get_current_dispatch_mode_stack() == []


def test_push_and_pop_by_hand():
    log = Log()
    modes._push_mode(log)
    t.ones(1)
    assert modes._pop_mode() is log
    t.ones(1)
    assert log.seen == ["aten.ones.default"]


@only_taeda
def test_an_empty_stack_has_nothing_to_pop():
    with pytest.raises(RuntimeError, match="empty mode stack"):
        modes._pop_mode()


def test_modes_can_be_off_for_a_while():
    with Log() as outer, Log() as log:
        with modes._disable_current_modes() as off:
            t.ones(1)
            assert modes._get_current_dispatch_mode() is None
        assert off == [log, outer]
        assert modes._get_current_dispatch_mode_stack() == [outer, log]
        t.zeros(1)
    assert log.seen == outer.seen == ["aten.zeros.default"]


def test_other_threads_have_stacks_of_their_own():
    with Log() as log:
        thread = threading.Thread(target=lambda: t.ones(1))
        thread.start()
        thread.join()
    assert log.seen == []


def test_a_mode_may_send_tensors_to_another_device():
    class OnMeta(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            has_device = any(a.name == "device" for a in func._schema.arguments)
            is_factory = not any(isinstance(a, t.Tensor) for a in args)
            if has_device and (is_factory or kwargs.get("device")):
                kwargs["device"] = t.device("meta")
            return func(*args, **kwargs)

    x = t.ones(2)
    with OnMeta():
        made = [t.zeros(2), t.ones(2, device="cpu"), t.randn(2), t.arange(3), t.full((2,), 1.0)]
        made += [t.zeros_like(t.empty(2)), x.to("meta"), t.nn.Linear(2, 2).weight]
        kept = [x.to(t.float64), x.new_zeros(2), x + 1]
    assert all(made_here.is_meta for made_here in made)
    assert not any(kept_here.is_meta for kept_here in kept)


def test_a_mode_sees_a_number_being_read():
    x = t.ones(1)
    with Log() as log:
        assert x.item() == 1
        assert bool(x)
    assert log.seen == ["aten._local_scalar_dense.default"] * 2


def test_modes_of_the_library_stand_below_those_of_the_user():
    fake = importlib.import_module(f"{NAME}._subclasses.fake_tensor")
    mode, log = fake.FakeTensorMode(), Log()
    with log, mode:  # whatever was entered first
        assert modes._get_current_dispatch_mode_stack() == [mode, log]
        x = t.ones(2) + 1
    assert log.seen == ["aten.ones.default", "aten.add.Tensor"] and isinstance(x, fake.FakeTensor)
    assert modes._get_current_dispatch_mode() is None


def test_fake_tensors_are_among_the_types():
    fake = importlib.import_module(f"{NAME}._subclasses.fake_tensor")

    class Types(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(types)
            return func(*args, **(kwargs or {}))

    seen = []
    x = fake.FakeTensorMode().from_tensor(t.ones(2))
    with Types():
        x + 1
    assert [tuple(types) for types in seen] == [(fake.FakeTensor,)]


def test_gradients_are_added_out_of_place_under_a_mode():
    x = t.ones(3, requires_grad=True)
    with Log() as log:
        t.autograd.grad((x * x).sum(), x)
    assert "aten.add.Tensor" in log.seen and "aten.add_.Tensor" not in log.seen


def test_indexing_is_seen_item_by_item():
    with Log() as log:
        t.ones(3, 4)[0, 1:3]
    assert log.seen == ["aten.ones.default", "aten.select.int", "aten.slice.Tensor"]


def test_push_makes_a_mode():
    class Counting(TorchDispatchMode):
        def __init__(self, start):
            super().__init__()
            self.count = start

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    with pytest.warns(UserWarning, match="no longer necessary"):
        mode = Counting.push(5)
    with mode:
        t.ones(1)
    assert mode.count == 6


def test_a_mode_whose_handler_is_a_classmethod():
    class OfTheClass(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = t.ones(2)
    message = "classmethod is not supported, please make it a plain method"
    with OfTheClass(), pytest.raises(RuntimeError, match=message):
        x + x


def test_factories_say_where_their_result_goes():
    seen = []

    class Options(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(kwargs)
            return func(*args, **(kwargs or {}))

    x = t.ones(2)
    with Options():
        t.empty(2)
        t.empty_like(x)
        x.new_zeros(2)
        t.arange(3, device="meta")
    placed, like = {"device": t.device("cpu"), "pin_memory": False}, {"pin_memory": False}
    assert seen == [placed, like, like, {**placed, "device": t.device("meta")}]


# ---- arguments that only some operators take ----
def test_a_number_above_the_signed_range_stays_itself():
    big, given = 2**63 + 1, []

    def keep(func, args, kwargs):
        given.append(args)
        return func(*args, **kwargs)

    with Handler(keep):
        x = t.full((2,), big, dtype=t.uint64)
    assert given[0][1] == big and x.tolist() == [big, big]
    assert t.ops.aten.full.default((1,), big, dtype=t.uint64).item() == big


def test_set_is_seen_as_an_operator():
    log = Log()
    x, y = t.ones(4), t.zeros(2)
    with log:
        y.set_(x)
        y.set_(x.untyped_storage())
        y.set_(x, 1, (2,), (1,))
        y.set_()
    assert log.seen == [
        "aten.set_.source_Tensor",
        "aten.set_.source_Storage",
        "aten.set_.source_Storage_storage_offset",
        "aten.set_.default",
    ]
    assert y.shape == (0,)


def test_a_storage_comes_as_an_argument():
    x, y, given = t.arange(4.0), t.zeros(2), []

    def keep(func, args, kwargs):
        given.append(args[1])
        return func(*args, **kwargs)

    with Handler(keep):
        y.set_(x.untyped_storage(), 1, (2,))
    assert given[0].data_ptr() == x.untyped_storage().data_ptr() and y.tolist() == [1, 2]
