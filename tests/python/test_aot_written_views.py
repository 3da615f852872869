"""Views and detached tensors of memory that a traced program writes to."""

import pytest
from taeda.fx.aot import aot_function, nop

import taeda as t

# ---- two histories of one memory ----


def write_to_a_detached_input(x, w):
    y = x.detach()
    y.mul_(w)
    return y, x * 2


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_detached_input_that_is_written_has_a_history_of_its_own(backend):
    def run(f):
        x, w = t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0], requires_grad=True)
        y, z = f(x, w)
        assert y.data_ptr() == x.data_ptr() and y._base is None and not x.requires_grad
        y.detach().zero_()
        assert y._version == x._version
        return y.detach(), z, x, t.autograd.grad(y.sum(), w)[0]

    found = run(t.compile(write_to_a_detached_input, backend=backend))
    t.testing.assert_close(found, run(write_to_a_detached_input))


def test_a_detached_value_that_is_written_has_a_history_of_its_own():
    def program(x, w):
        y = x * 2
        d = y.detach()
        d.mul_(w)
        return y, d, d[1:], y.data

    def run(f):
        x, w = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0], requires_grad=True)
        y, d, part, data = f(x, w)
        assert {r.untyped_storage().data_ptr() for r in (d, part, data)} == {y.data_ptr()}
        assert part._base is d and d._base is None
        grads = [
            t.autograd.grad(r.sum(), [x, w], allow_unused=True, retain_graph=True) for r in (y, d)
        ]
        version = y._version
        data.add_(1)
        assert y._version == version == d._version
        return y.detach(), part.detach(), grads

    found = run(aot_function(program, nop))
    t.testing.assert_close(found, run(program))


# ---- views and what becomes of their bases ----


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("is_written_first", [False, True])
def test_a_view_older_than_a_write_follows_its_base(backend, is_written_first):
    def program(b):
        if is_written_first:
            b[2:].add_(1)
        v = b[2:]
        if not is_written_first:
            v.add_(1)
        return v

    for f in (program, t.compile(program, backend=backend)):
        b = t.arange(4.0)
        v = f(b)
        b.requires_grad_()
        assert v.requires_grad and v.is_leaf == is_written_first
        assert v._base is b and v.tolist() == [3, 4]


def test_a_view_of_a_result_older_than_a_write_follows_it():
    def program(x):
        y = x * 2
        v = y[1:]
        y.add_(1)
        return y, v, y[:1]

    for f in (program, aot_function(program, nop)):
        y, v, w = f(t.arange(3.0))
        y.requires_grad_()
        assert v._base is y and w._base is y and not v.is_leaf and w.is_leaf


def test_writes_through_data_are_not_counted():
    def program(x):
        x.data.add_(1)
        return x * 2

    for f in (program, aot_function(program, nop)):
        x = t.ones(3)
        f(x)
        assert x._version == 0 and x.sum() == 6


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_parts_of_one_tensor_count_writes_together(backend):
    def program(a, b):
        with t.no_grad():
            b.mul_(2)
        return a[:-1].sin(), a

    found = []
    for f in (program, t.compile(program, backend=backend)):
        x = t.arange(6.0, requires_grad=True)
        y = x * 1
        s, a = f(y[:3], y[3:])
        (s.sum() + a.sum()).backward()
        found.append(x.grad)
    t.testing.assert_close(*found)


class Tripled(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(2, 2) * 3


def see_input(x):
    return (Tripled.apply(x),)


def see_result(x):
    y = x.sin()
    return Tripled.apply(y), y


def see_hidden(x):
    return (Tripled.apply(x.sin()),)


def see_hooked(x):
    v = x[1]
    v.register_hook(lambda grad: grad * 3)
    return v, v[1:]


@pytest.mark.parametrize("program", [see_input, see_result, see_hidden, see_hooked])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_views_with_gradients_of_their_own(program, backend):
    found = []
    for f in (program, t.compile(program, backend=backend)):
        x = t.arange(4.0).reshape(2, 2).clone().requires_grad_()
        results = f(x)
        v = results[0]
        assert v._is_view() and all(r._base is v._base for r in results[1:] if r._is_view())
        if program is not see_hidden:
            base = results[1] if program is see_result else x
            assert v._base is base and v.untyped_storage().data_ptr() == base.data_ptr()
        if program is not see_hooked:
            with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
                v.mul_(2)
        sum(r.sum() for r in results).backward()
        found.append(x.grad)
    t.testing.assert_close(*found)


def test_views_that_autograd_refuses_after_a_write():
    def program(x, y):
        with t.no_grad():
            v = x[1:]
        x.mul_(2)
        w = Tripled.apply(y.clone())
        w.detach().add_(1)
        return v, w

    for f in (program, aot_function(program, nop)):
        x = t.ones(3, requires_grad=True) * 1
        v, w = f(x, t.ones(2, 2, requires_grad=True))
        for refused in (v, w):
            with pytest.raises(RuntimeError, match="modified inplace"):
                _ = refused.grad_fn
        assert v.tolist() == [2, 2] and w.tolist() == [2, 2, 2, 2]


def test_gradients_that_end_at_an_unrecorded_view():
    def program(x):
        with t.no_grad():
            v = x[:1]
        return v.unbind(0)[0], x * 2

    for f in (program, aot_function(program, nop)):
        x = t.ones(2, 3, requires_grad=True)
        v, y = f(x)
        assert v.requires_grad and not v.is_leaf
        assert t.autograd.grad(v.sum(), x, allow_unused=True)[0] is None


# ---- places in memory ----


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("offset", [None, 3, 4])
def test_as_strided_of_a_part_that_was_written(offset, requires_grad):
    def look(x):
        x.mul_(2)
        return x.as_strided((2,), (1,), offset)

    def write(x):
        x.mul_(2)
        v = x.as_strided((2,), (1,), offset)
        v[0] = 50.0
        return x, v[1:]

    for program in (look, write):
        found = []
        for f in (program, aot_function(program, nop)):
            whole = t.arange(12.0, requires_grad=requires_grad)
            whole = whole * 1 if requires_grad else whole
            results = f(whole[3:9].view(2, 3))
            found.append([whole.detach(), results])
        t.testing.assert_close(found[1], found[0])


def test_an_input_that_is_written_and_then_gets_fewer_elements():
    def program(x):
        x.add_(1)
        x.resize_(2)

    for f in (program, aot_function(program, nop)):
        x = t.zeros(6)
        f(x[1:5])
        assert x.tolist() == [0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_expanded_input_of_memory_that_is_written(requires_grad):
    def program(x, expanded):
        x.mul_(2)
        return expanded * 3

    found = []
    for f in (program, aot_function(program, nop)):
        leaf = t.arange(3.0, requires_grad=requires_grad)
        x = leaf * 1 if requires_grad else leaf
        y = f(x, x.expand(2, 3))
        if requires_grad:
            y.sum().backward()
        found.append((x.detach(), y.detach(), leaf.grad))
    t.testing.assert_close(found[1], found[0])


# ---- elements that share a place ----


def fill_windows(x):
    windows = x.unfold(-1, 2, 1).index_fill_(-2, t.tensor([1, 3]), 0.5)
    return windows, x


def fill_windows_of_a_part(x):
    return x[1:].unfold(0, 3, 1).masked_fill_(t.arange(3) == 1, -1.0) + 1, x


def fill_with_a_tensor(x):
    return x.t().unfold(1, 3, 2).index_fill_(2, t.tensor([0]), t.tensor(3.0)), x


def fill_places(x):
    return x.as_strided((4, 3), (2, 1), 1).index_fill_(0, t.tensor([1]), 7.0), x


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize(
    "f", [fill_windows, fill_windows_of_a_part, fill_with_a_tensor, fill_places]
)
def test_a_place_is_filled_if_one_of_its_elements_is(f, backend, dynamic):
    compiled = t.compile(f, backend=backend, dynamic=dynamic)
    for rows in (5, 7):
        x = t.arange(6.0 * rows).view(rows, 6)
        for got, expected in zip(compiled(x.clone()), f(x.clone()), strict=True):
            assert t.equal(got, expected) and got.stride() == expected.stride()
