"""Tests of activation checkpointing: gradients, memory, random numbers, early stop, errors."""

import contextlib
import gc
import weakref

import pytest
from under_test import NAME, t

checkpoint_module = pytest.importorskip(f"{NAME}.utils.checkpoint")
checkpoint = checkpoint_module.checkpoint
CheckpointError = checkpoint_module.CheckpointError
both = pytest.mark.parametrize("use_reentrant", [False, True], ids=["hooks", "reentrant"])
needs_taeda = pytest.mark.skipif(NAME != "taeda", reason="looks into the library")


def leaf(*size):
    return t.randn(*size, requires_grad=True)


def block(x, weight):
    return (x @ weight).tanh().exp().sin()


def gradients(function, *inputs):
    for x in inputs:
        x.grad = None
    function(*inputs).sum().backward()
    return [x.grad.clone() for x in inputs]


@both
def test_gradients_are_those_of_the_plain_call(use_reentrant):
    x, weight = leaf(3, 4), leaf(4, 4)
    plain = gradients(block, x, weight)
    saved = gradients(lambda *a: checkpoint(block, *a, use_reentrant=use_reentrant), x, weight)
    for a, b in zip(plain, saved):
        assert t.equal(a, b)


@both
def test_weights_reached_from_inside_get_gradients(use_reentrant):
    x, weight = leaf(3, 4), leaf(4, 4)
    expected = gradients(block, x, weight)[1]
    weight.grad = None
    checkpoint(lambda y: block(y, weight), x, use_reentrant=use_reentrant).sum().backward()
    assert t.equal(weight.grad, expected)


@both
def test_several_outputs_and_other_arguments(use_reentrant):
    def function(x, factor, none, y):
        assert none is None
        return x * factor, x * y, "text"

    x, y = leaf(3), leaf(3)
    a, b, text = checkpoint(function, x, 3.0, None, y, use_reentrant=use_reentrant)
    assert text == "text"
    (a + b).sum().backward()
    assert t.equal(x.grad, 3 + y.detach()) and t.equal(y.grad, x.detach())


def test_keyword_arguments_and_containers():
    def function(pair, *, scale):
        return pair["x"] * pair["x"] * scale

    x = leaf(3)
    checkpoint(function, {"x": x}, scale=2.0, use_reentrant=False).sum().backward()
    assert t.allclose(x.grad, 4 * x.detach())


# ---- memory ----
def watched(alive, steps=6):
    """A function whose intermediate values can be watched."""

    def function(x):
        for _ in range(steps):
            x = x.sin()
            alive.append(weakref.ref(x))
        return x * 1.0

    return function


def count(alive):
    gc.collect()
    return sum(ref() is not None for ref in alive)


@pytest.mark.slow
@both
def test_intermediate_values_are_not_kept(use_reentrant):
    kept, dropped = [], []
    x = leaf(8)
    plain = watched(kept)(x)
    saved = checkpoint(watched(dropped), x, use_reentrant=use_reentrant)
    assert count(kept) >= 5 and count(dropped) == 0
    (plain + saved).sum().backward()
    del plain, saved
    assert count(kept) == 0 and count(dropped) == 0


@pytest.mark.slow
@needs_taeda
def test_peak_memory_of_a_deep_chain():
    stats = t._C._dispatch._allocator_stats
    size = 4 * 2**20

    def held(use):
        x = leaf(2**20)
        before = stats()["allocated_bytes"]
        y = use(x)
        after = stats()["allocated_bytes"]
        y.sum().backward()
        return (after - before) / size

    def chain(x):
        for _ in range(10):
            x = x.sin()
        return x

    assert held(chain) >= 9.5
    assert held(lambda x: checkpoint(chain, x, use_reentrant=False)) <= 1.5


# ---- random numbers ----
@both
def test_dropout_repeats(use_reentrant):
    def function(x):
        return t.dropout(x, 0.5, True) * x

    x = leaf(1000)
    t.manual_seed(7)
    plain = gradients(function, x)[0]
    t.manual_seed(7)
    saved = gradients(lambda y: checkpoint(function, y, use_reentrant=use_reentrant), x)[0]
    assert t.equal(plain, saved)


@both
def test_recomputing_leaves_the_generator_alone(use_reentrant):
    x = leaf(10)
    t.manual_seed(7)
    y = checkpoint(lambda a: t.dropout(a, 0.5, True) * a, x, use_reentrant=use_reentrant)
    state = t.get_rng_state()
    t.rand(3)
    after = t.get_rng_state()
    y.sum().backward()
    assert t.equal(t.get_rng_state(), after) and not t.equal(state, after)


@both
def test_random_state_is_not_kept_on_request(use_reentrant):
    drawn = []

    def function(x):
        drawn.append(t.rand(4))
        return x.sin()

    x = leaf(4)
    for preserve in (True, False):
        y = checkpoint(function, x, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        y.sum().backward()
    assert t.equal(drawn[0], drawn[1]) and not t.equal(drawn[2], drawn[3])


def test_fork_rng():
    t.manual_seed(3)
    with t.random.fork_rng():
        inside = t.rand(3)
    assert t.equal(t.rand(3), inside)
    with t.random.fork_rng(enabled=False):
        first = t.rand(3)
    assert not t.equal(t.rand(3), first)


# ---- early stop ----
def with_a_tail(tail):
    """Saves a tensor for sin and one for exp, then does more that saves nothing."""

    def function(x):
        y = x.sin().exp()
        tail.append(1)
        return y + 1

    return function


@pytest.mark.parametrize("early_stop, runs", [(True, 1), (False, 2)])
def test_recomputation_stops_at_the_last_tensor_needed(early_stop, runs):
    tail, x = [], leaf(3)
    checkpoint(with_a_tail(tail), x, use_reentrant=False, early_stop=early_stop).sum().backward()
    assert len(tail) == runs


def test_early_stop_of_a_scope_wins():
    tail, x = [], leaf(3)
    with checkpoint_module.set_checkpoint_early_stop(False):
        y = checkpoint(with_a_tail(tail), x, use_reentrant=False, early_stop=True)
    y.sum().backward()
    assert len(tail) == 2
    z = checkpoint(with_a_tail(tail), x, use_reentrant=False)
    z.sum().backward()
    assert len(tail) == 3


# ---- composition ----
def counted(calls, name, inner):
    def function(x):
        calls.append(name)
        return inner(x).sin()

    return function


@both
def test_nested_checkpoints(use_reentrant):
    calls = []

    def nest(name, inner):
        body = counted(calls, name, inner)
        return lambda x: checkpoint(body, x, use_reentrant=use_reentrant)

    x = leaf(4)
    nested = nest("a", nest("b", nest("c", t.exp)))
    plain = gradients(lambda y: y.exp().sin().sin().sin(), x)[0]
    assert t.allclose(gradients(nested, x)[0], plain)
    assert calls[:3] == ["a", "b", "c"] and calls.count("c") >= 2


def test_grad_and_partial_backward():
    x, weight = leaf(3, 4), leaf(4, 4)
    expected = gradients(block, x, weight)[1]
    y = checkpoint(block, x, weight, use_reentrant=False)
    assert t.equal(t.autograd.grad(y.sum(), weight, retain_graph=True)[0], expected)
    weight.grad = None
    y.sum().backward(inputs=[weight])
    assert t.equal(weight.grad, expected)


def test_backward_twice_recomputes_twice():
    calls, x = [], leaf(3)
    y = checkpoint(counted(calls, "f", t.exp), x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert calls == ["f"] * 3 and t.allclose(x.grad, 2 * first)


def test_double_backward():
    def second(function, x):
        (grad,) = t.autograd.grad(function(x).sum(), x, create_graph=True)
        return t.autograd.grad(grad.sum(), x)[0]

    def function(x):
        return x.sin().exp()

    x = leaf(4)
    saved = second(lambda y: checkpoint(function, y, use_reentrant=False), x)
    assert t.allclose(saved, second(function, x))


@pytest.mark.parametrize("early_stop", [True, False])
def test_backward_inside_the_region(early_stop):
    def function(x):
        y = x.sin().exp()
        (grad,) = t.autograd.grad(y.sum(), x, retain_graph=True)
        return y.cos() * grad

    x = leaf(4)
    saved = gradients(
        lambda y: checkpoint(function, y, use_reentrant=False, early_stop=early_stop), x
    )
    assert t.allclose(saved[0], gradients(function, x)[0])


@both
def test_autocast_is_restored(use_reentrant):
    seen = []

    def function(x, weight):
        y = x @ weight
        seen.append((y.dtype, t.is_autocast_enabled("cpu")))
        return y.sin()

    x, weight = leaf(3, 4), leaf(4, 4)
    with t.autocast("cpu", dtype=t.float16):
        y = checkpoint(
            function,
            x,
            weight,
            use_reentrant=use_reentrant,
            **({} if use_reentrant else {"early_stop": False}),
        )
    y.float().sum().backward()
    assert seen == [(t.float16, True)] * 2 and weight.grad.dtype == t.float32


def test_without_recording_it_is_the_plain_call():
    calls, x = [], leaf(3)
    with t.no_grad():
        y = checkpoint(counted(calls, "f", t.exp), x, use_reentrant=False)
    assert not y.requires_grad and calls == ["f"]


def test_inputs_that_need_no_gradient():
    weight = leaf(4, 4)
    y = checkpoint(lambda x: block(x, weight), t.ones(2, 4), use_reentrant=False)
    y.sum().backward()
    assert weight.grad is not None
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not checkpoint(t.sin, t.ones(2), use_reentrant=True).requires_grad


def test_contexts_are_entered_for_forward_and_recomputation():
    entered = []

    @contextlib.contextmanager
    def scope(name):
        entered.append(name)
        yield
        entered.append(f"end of {name}")

    x = leaf(3)
    y = checkpoint(
        lambda a: a.sin(),
        x,
        use_reentrant=False,
        early_stop=False,
        context_fn=lambda: (scope("forward"), scope("recomputation")),
    )
    assert entered == ["forward", "end of forward"]
    y.sum().backward()
    assert entered[2:] == ["recomputation", "end of recomputation"]


@both
def test_an_error_inside_leaves_nothing_behind(use_reentrant):
    def function(x):
        raise KeyError("here")

    x = leaf(3)
    with pytest.raises(KeyError, match="here"):
        checkpoint(function, x, use_reentrant=use_reentrant)
    kept = []
    y = watched(kept)(x)
    assert count(kept) >= 5
    y.sum().backward()


# ---- sequences ----
@both
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequences(use_reentrant, segments):
    calls, x = [], leaf(4)
    functions = [counted(calls, i, t.exp) for i in range(5)]

    def plain(y):
        for function in functions:
            y = function(y)
        return y

    expected = gradients(plain, x)[0]
    calls.clear()
    saved = gradients(
        lambda y: checkpoint_module.checkpoint_sequential(
            functions, segments, y, use_reentrant=use_reentrant
        ),
        x,
    )[0]
    assert t.allclose(saved, expected)
    recomputed = 5 // segments * (segments - 1)
    assert calls[:5] == [0, 1, 2, 3, 4] and sorted(calls[5:]) == list(range(recomputed))


# ---- errors ----
class Changing:
    """A function that does something else the second time."""

    def __init__(self, first, second):
        self.functions = [second, first]

    def __call__(self, x):
        return self.functions.pop()(x)


def fails(phrase, first, second, **settings):
    y = checkpoint(Changing(first, second), leaf(4), use_reentrant=False, **settings)
    with pytest.raises(CheckpointError) as raised:
        y.sum().backward()
    assert phrase in str(raised.value)
    return str(raised.value)


def test_fewer_tensors():
    text = fails(
        "A different number of tensors was saved during the original forward and recomputation.",
        lambda x: x.sin().cos(),
        lambda x: x.sin() + 1.0,
    )
    assert "saved during forward: 2" in text and "saved during recomputation: 1." in text


def test_more_tensors():
    fails(
        "trying to save more tensors during recomputation than during the original forward pass.",
        lambda x: x.sin(),
        lambda x: x.sin().cos(),
        early_stop=False,
    )


def test_other_shapes():
    text = fails(
        "Recomputed values for the following tensors have different metadata",
        lambda x: x.sin().sum(),
        lambda x: x[:2].sin().sum(),
    )
    assert "tensor at position 0:" in text and "[4]" in text and "[2]" in text


def test_other_dtypes():
    fails(
        "have different metadata than during the forward pass.",
        lambda x: x.sin(),
        lambda x: x.double().sin().float(),
    )


def test_the_check_can_be_off():
    x = leaf(4)
    changing = Changing(lambda y: y.sin().sum(), lambda y: y.double().sin().sum())
    y = checkpoint(changing, x, use_reentrant=False, determinism_check="none")
    y.backward()
    assert changing.functions == []
    assert t.allclose(x.grad, x.detach().cos())


@needs_taeda  # PyTorch logs through a handler that pytest does not get along with
@pytest.mark.parametrize("is_scoped", [False, True])
def test_debug_lists_the_operators(is_scoped):
    scope = checkpoint_module.set_checkpoint_debug_enabled(True if is_scoped else None)
    with scope:
        text = fails(
            "Detected non-determinism while running activation checkpointing",
            lambda x: x.sin().cos(),
            lambda x: x.sin() + 1.0,
            debug=not is_scoped,
        )
    assert "sin" in text and "cos" in text
    assert "Operations executed during the original forward:" in text
    assert "Operations executed during recomputation:" in text


def test_an_input_written_to_is_noticed():
    x = leaf(4)
    y = x * 1.0
    z = checkpoint(t.sin, y, use_reentrant=False)
    with t.no_grad():
        y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_tensor_unpacked_twice_in_a_run():
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            (x,) = ctx.saved_tensors
            return grad * 2

    y = checkpoint(Twice.apply, leaf(3), use_reentrant=False)
    with pytest.raises(CheckpointError, match="already unpacked once"):
        y.sum().backward()


def test_reentrant_refuses_grad():
    x = leaf(3)
    y = checkpoint(t.sin, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
        t.autograd.grad(y, x)
    z = checkpoint(t.sin, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"passing an `inputs` parameter to \.backward\(\)"):
        z.backward(inputs=[x])


def test_reentrant_without_a_gradient_inside():
    x = leaf(3)
    y = checkpoint(lambda a: a.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.sum().backward()


def test_the_variant_should_be_named():
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(t.sin, leaf(3))
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint_module.checkpoint_sequential([t.sin, t.cos], 2, leaf(3))


def test_a_context_that_hides_errors():
    def function(x):
        raise KeyError

    with pytest.raises(RuntimeError, match="context_fn suppressed an exception"):
        checkpoint(
            function,
            leaf(3),
            use_reentrant=False,
            context_fn=lambda: (contextlib.suppress(KeyError), contextlib.nullcontext()),
        )


class TestGraphExecGroup:
    def checkpointed(self):
        calls = []

        def region(x):
            calls.append(1)
            y = x.sin()
            return y, y.cos()

        x = t.ones(2, requires_grad=True)
        return x, calls, checkpoint(region, x, use_reentrant=False)

    @pytest.mark.parametrize("is_grouped, count", [(True, 2), (False, 3)])
    def test_recomputes_once_for_all_runs(self, is_grouped, count):
        x, calls, (y, z) = self.checkpointed()
        with checkpoint_module.GraphExecGroup() if is_grouped else contextlib.nullcontext():
            (grad,) = t.autograd.grad(z, y, t.ones(2))
            (grad,) = t.autograd.grad(y, x, grad)
        assert len(calls) == count
        assert t.allclose(grad, -x.sin().sin() * x.cos())

    def test_refuses_runs_that_overlap_and_nesting(self):
        _, _, (_, z) = self.checkpointed()
        group = checkpoint_module.GraphExecGroup
        with group():
            z.sum().backward(retain_graph=True)
            with pytest.raises(RuntimeError, match="two backward calls that overlap"):
                z.sum().backward()
            with pytest.raises(RuntimeError, match="cannot be nested"), group():
                pass
