"""Selective checkpointing: which operators run again, and what goes wrong with those kept."""

import collections
import functools
import importlib

import child_programs
import pytest
from under_test import NAME, t

ckpt = importlib.import_module(f"{NAME}.utils.checkpoint")
modes = importlib.import_module(f"{NAME}.utils._python_dispatch")
Policy = ckpt.CheckpointPolicy
contexts = ckpt.create_selective_checkpoint_contexts
aten = t.ops.aten


class Count(modes.TorchDispatchMode):
    """Counts calls by operator."""

    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls[func] += 1
        return func(*args, **(kwargs or {}))


def checkpoint(function, *args, policy, **options):
    context_fn = functools.partial(contexts, policy, **options)
    return ckpt.checkpoint(function, *args, use_reentrant=False, context_fn=context_fn)


def inputs():
    t.manual_seed(0)
    return t.rand(4, 4, requires_grad=True), t.rand(4, 4, requires_grad=True)


def model(x, y):
    return t.sigmoid(t.mm(t.mm(x, y), y)) * y


def gradients(run):
    """The inputs' gradients and the calls made in backward."""
    x, y = inputs()
    out = run(x, y)
    with Count() as count:
        out.sum().backward()
    return x.grad, y.grad, count.calls


# ---- what is computed again ----
def test_without_a_policy_everything_is_computed_again():
    *_, plain = gradients(model)
    *_, calls = gradients(lambda x, y: ckpt.checkpoint(model, x, y, use_reentrant=False))
    assert calls[aten.mm.default] - plain[aten.mm.default] == 2
    assert calls[aten.sigmoid.default] == 1


def test_kept_operators_are_not_computed_again():
    expected_x, expected_y, plain = gradients(model)
    x, y, calls = gradients(lambda x, y: checkpoint(model, x, y, policy=[aten.mm.default]))
    assert calls[aten.mm.default] == plain[aten.mm.default] == 4
    assert calls[aten.sigmoid.default] == 1
    assert t.equal(x, expected_x)
    assert t.equal(y, expected_y)


@pytest.mark.parametrize(
    ("answer", "recomputed"),
    [
        (Policy.MUST_SAVE, 0),
        (Policy.PREFER_SAVE, 0),
        (Policy.MUST_RECOMPUTE, 1),
        (Policy.PREFER_RECOMPUTE, 1),
        (True, 0),
        (False, 1),
    ],
)
def test_every_answer_of_a_policy(answer, recomputed):
    *_, calls = gradients(lambda x, y: checkpoint(model, x, y, policy=lambda *_, **__: answer))
    assert calls[aten.sigmoid.default] == recomputed


def test_a_policy_may_choose_by_call():
    """The second product alone is kept: alternate answers, as layers would."""
    products = []

    def policy(ctx, op, *args, **kwargs):
        if op is not aten.mm.default:
            return Policy.PREFER_RECOMPUTE
        products.append(tuple(ctx.op_output.shape))
        return Policy.MUST_SAVE if len(products) == 2 else Policy.PREFER_RECOMPUTE

    *_, plain = gradients(model)
    *_, calls = gradients(lambda x, y: checkpoint(model, x, y, policy=policy))
    assert calls[aten.mm.default] - plain[aten.mm.default] == 1
    assert products == [(4, 4), (4, 4)]


def test_the_policy_gets_context_operator_and_arguments():
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append((type(ctx), ctx.is_recompute, str(op), len(args), kwargs))
        return Policy.PREFER_RECOMPUTE

    x = t.ones(2, requires_grad=True)
    out = checkpoint(lambda x: t.add(x, x, alpha=2).sin(), x, policy=policy)
    expected = [
        (ckpt.SelectiveCheckpointContext, False, "aten.add.Tensor", 2, {"alpha": 2}),
        (ckpt.SelectiveCheckpointContext, False, "aten.sin.default", 1, {}),
    ]
    assert seen == expected
    out.sum().backward()
    assert seen == expected


def test_linear_is_kept_by_its_product():
    x = t.ones(2, 3, requires_grad=True)
    w = t.ones(4, 3, requires_grad=True)
    b = t.ones(4, requires_grad=True)

    def layer(x):
        return t.nn.functional.linear(x, w, b).sigmoid().sin()

    layer(x).sum().backward()
    expected, x.grad, w.grad, b.grad = w.grad, None, None, None
    out = checkpoint(layer, x, policy=[aten.addmm.default])
    with Count() as count:
        out.sum().backward()
    assert count.calls[aten.addmm.default] == 0
    assert count.calls[aten.sigmoid.default] == 1
    assert t.equal(w.grad, expected)


def test_views_lists_and_tuples_can_be_kept():
    def function(x):
        a, b = x.sin().view(3, 2).t().split(1)
        return (a * b.exp()).max(1)[0].cos()

    x = t.arange(6.0).view(2, 3).requires_grad_()
    function(x).sum().backward()
    expected, x.grad = x.grad, None
    out = checkpoint(function, x, policy=lambda *_, **__: Policy.MUST_SAVE)
    with Count() as count:
        out.sum().backward()
    assert count.calls[aten.max.dim] == 0
    assert count.calls[aten.split.Tensor] == 0
    assert t.equal(x.grad, expected)


def test_random_operators_can_be_kept():
    def function(x):
        return (t.nn.functional.dropout(x.sin(), 0.5) * x).cos()

    x = t.arange(1.0, 9.0).requires_grad_()
    t.manual_seed(3)
    function(x).sum().backward()
    expected, x.grad = x.grad, None
    t.manual_seed(3)
    out = checkpoint(function, x, policy=[aten.sin.default])
    out.sum().backward()
    assert t.equal(x.grad, expected)


HELD = """
import functools, gc
from taeda.utils import checkpoint as ckpt

def allocated():
    gc.collect()
    return t._C._dispatch._allocator_stats()["allocated_bytes"]

def bytes_held(policy):
    context_fn = functools.partial(ckpt.create_selective_checkpoint_contexts, policy)
    before = allocated()
    function = lambda x: x.mm(x).sin().exp().sum()
    out = ckpt.checkpoint(function, x, use_reentrant=False, context_fn=context_fn)
    held = allocated() - before
    out.backward()
    x.grad = None
    del out
    assert allocated() == before
    return held

aten = t.ops.aten
x = t.ones(256, 256, requires_grad=True)
nothing = bytes_held(lambda *_, **__: ckpt.CheckpointPolicy.PREFER_RECOMPUTE)
assert bytes_held([aten.mm.default]) - nothing == 256 * 256 * 4
assert bytes_held([aten.mm.default, aten.exp.default]) - nothing == 2 * 256 * 256 * 4
"""


@pytest.mark.skipif(NAME != "taeda", reason="reads Taeda's memory statistics")
@pytest.mark.slow
def test_kept_results_take_memory_until_backward():
    # In a process of its own: what other tests leave behind is freed at any time.
    code, _, errors = child_programs.run(HELD)
    assert code == 0, errors


# ---- errors ----
def mutating(x):
    y = x.sin()
    z = y.exp()
    with t.no_grad():
        y.mul_(2)
    return z.cos()


def test_writing_to_a_kept_tensor_is_an_error():
    out = checkpoint(mutating, t.ones(3, requires_grad=True), policy=[aten.sin.default])
    with pytest.raises(RuntimeError, match="selective activation checkpoint has been mutated"):
        out.sum().backward()


def test_writing_to_a_kept_tensor_can_be_allowed():
    x = t.zeros(1, requires_grad=True)
    options = {"policy": [aten.sin.default], "allow_cache_entry_mutation": True}
    checkpoint(mutating, x, **options).sum().backward()
    assert x.grad.item() == pytest.approx(-0.8414709848)


def test_a_second_backward_is_an_error():
    x = t.ones(3, requires_grad=True)
    out = checkpoint(lambda x: x.sin().exp().cos(), x, policy=[aten.sin.default]).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.backward()


def changing(function):
    """A function of (x, number of the call)."""
    calls = []

    def run(x):
        calls.append(None)
        return function(x, len(calls))

    return run


def test_an_operator_that_was_not_seen_in_forward_is_an_error():
    function = changing(lambda x, n: (x.sin() if n == 1 else x.cos()).exp().sin())
    out = checkpoint(function, t.ones(3, requires_grad=True), policy=[aten.exp.default])
    with pytest.raises(
        RuntimeError,
        match=r"aten\.cos\.default encountered during backward but not found in storage",
    ):
        out.sum().backward()


def test_an_operator_called_more_often_is_an_error():
    def function(x, n):
        y = x.sin()
        return (y if n == 1 else y.detach().sin()).exp().cos()

    x = t.ones(3, requires_grad=True)
    out = checkpoint(changing(function), x, policy=[aten.exp.default])
    with pytest.raises(
        RuntimeError, match=r"aten\.sin\.default invocation index 1 encountered during backward"
    ):
        out.sum().backward()


def test_what_stands_for_a_policy():
    with pytest.raises(ValueError, match=r"an OpOverload but got: aten\.mm .* update the OpOver"):
        contexts([aten.mm])
    with pytest.raises(ValueError, match="to be an OpOverload but got: 3"):
        contexts([3])
    with pytest.raises(TypeError, match="must be either a function or a list of ops"):
        contexts(3)


def test_without_gradients_nothing_is_kept():
    def policy(ctx, op, *args, **kwargs):
        raise AssertionError("asked")

    with t.no_grad():
        assert checkpoint(t.sin, t.zeros(1), policy=policy).item() == 0
