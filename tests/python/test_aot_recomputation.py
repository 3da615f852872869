"""What a program traced ahead of time saves for its backward, and what is computed again."""

import functools

import pytest
from taeda.fx.aot import (
    aot_function,
    default_partition,
    min_cut_rematerialization_partition,
    nop,
)
from taeda.utils._config_module import functorch_config
from taeda.utils.checkpoint import CheckpointPolicy, checkpoint
from watched_programs import kernels

import taeda as t

BACKENDS = {"nop": nop, "kernels": kernels}


# ---- who says what is saved ----


@pytest.mark.parametrize("is_again", [True, False])
def test_a_program_says_what_is_computed_again(is_again):
    policy = CheckpointPolicy.MUST_RECOMPUTE if is_again else CheckpointPolicy.MUST_SAVE
    name = "mm" if is_again else "sin"  # without a word mm is saved, and sin is not
    seen = []

    def f(x, w):
        return ((x @ w).sin() * (x * w).sin()).sum()

    def cut(joint, inputs, **kwargs):
        for node in joint.graph.find_nodes(op="call_function"):
            if node.name == name:
                node.meta["recompute"] = policy
        forward, backward = min_cut_rematerialization_partition(joint, inputs, **kwargs)
        seen.append([node.name for node in backward.graph.find_nodes(op="placeholder")])
        return forward, backward

    x, w = t.randn(3, 3, requires_grad=True), t.randn(3, 3, requires_grad=True)
    got = t.autograd.grad(aot_function(f, nop, partition_fn=cut)(x, w), [x, w])
    for a, b in zip(got, t.autograd.grad(f(x, w), [x, w]), strict=True):
        assert t.equal(a, b)
    assert (name in seen[0]) == (not is_again)


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
def test_partition_functions(partition):
    sizes = []

    def cut(joint, inputs, *, num_fwd_outputs):
        forward, backward = partition(joint, inputs, num_fwd_outputs=num_fwd_outputs)
        sizes.append(len(forward.graph.output_node().args[0]) - num_fwd_outputs)
        return forward, backward

    def f(x):
        return x.cos().cos().cos()

    x = t.randn(4, requires_grad=True)
    compiled = aot_function(f, nop, partition_fn=cut)
    have, want = compiled(x), f(x)
    assert t.equal(have, want)
    assert t.equal(t.autograd.grad(have.sum(), x)[0], t.autograd.grad(want.sum(), x)[0])
    # The input alone, where cheap values are computed again.
    assert sizes == [1 if partition is min_cut_rematerialization_partition else 3]


# ---- what is saved ----


def _block(x, w1, w2):
    return t.relu(x @ w1) @ w2


def _chain(block):
    def run(x, *weights):
        for w1, w2 in zip(weights[::2], weights[1::2]):
            x = block(x, w1, w2)
        return x.sum()

    return run


def _saved_bytes(f, inputs, budget=1.0):
    """Bytes that the backward gets beside inputs; the gradients must be those of the chain."""
    saved = []

    def partition(joint, joint_inputs, **kwargs):
        forward, backward = min_cut_rematerialization_partition(joint, joint_inputs, **kwargs)
        returned = forward.graph.output_node().args[0][kwargs["num_fwd_outputs"] :]
        own = [n.meta["val"] for n in returned if n.op != "placeholder"]
        saved.append(sum(v.numel() * v.element_size() for v in own))
        return forward, backward

    with functorch_config.patch(activation_memory_budget=budget):
        loss = aot_function(f, nop, partition_fn=partition)(*inputs)
    want = t.autograd.grad(_chain(_block)(*inputs), inputs)
    for have, expected in zip(t.autograd.grad(loss, inputs), want, strict=True):
        assert t.equal(have, expected)
    return saved[0]


def test_checkpointed_regions_are_computed_again():
    inputs = [t.randn(32, 8, requires_grad=True)]
    inputs += [t.randn(*((8, 64), (64, 8))[i % 2], requires_grad=True) for i in range(6)]
    checkpointed = functools.partial(checkpoint, _block, use_reentrant=False)
    plain = _saved_bytes(_chain(_block), inputs)
    assert plain == 3 * 32 * 64 * 4 + 2 * 32 * 8 * 4
    assert _saved_bytes(_chain(checkpointed), inputs) == 2 * 32 * 8 * 4
    assert _saved_bytes(_chain(_block), inputs, 0.5) <= plain / 2
    assert _saved_bytes(_chain(_block), inputs, 0.0) == 0
    with pytest.raises(ValueError, match="activation_memory_budget is a number from 0 to 1"):
        _saved_bytes(_chain(_block), inputs, 1.5)


# ---- numbers that are drawn ----


def _dropout(x):
    return t.nn.functional.dropout(x.sin(), 0.5) * x


def _checkpointed_dropout(x):
    return checkpoint(_dropout, x, use_reentrant=False)


def _two_checkpoints(x):
    return _checkpointed_dropout(_checkpointed_dropout(x))


def _second_results(x):
    return x.sin().max(1)[0].cos() + x.cumsum(1).sort(1)[0].sum(1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
@pytest.mark.parametrize("f", [_dropout, _checkpointed_dropout, _two_checkpoints, _second_results])
def test_gradients_of_what_is_drawn_or_chosen(f, partition, backend):
    x = t.randn(3, 5, requires_grad=True)
    compiled = aot_function(f, BACKENDS[backend], partition_fn=partition)
    for seed in (1, 2):
        results = []
        for function in (f, compiled):
            t.manual_seed(seed)
            value = function(x)
            results.append((value, *t.autograd.grad(value.sum(), x)))
        for want, have in zip(*results, strict=True):
            assert t.equal(want, have)


def drop(x):
    return t.nn.functional.dropout(x, 0.5)


def again(function, *args):
    return checkpoint(function, *args, use_reentrant=False)


def equal_draws(x):
    return again(lambda v: drop(v) * v + drop(v) * v.sin(), x)


def draws_around(x):
    return again(lambda v: v.sin() * t.rand(4), x) * t.rand(4) + again(
        lambda v: v.cos() * t.rand(4), x
    )


def nested_draws(x):
    return again(lambda v: again(lambda w: drop(w.sin()).exp(), v).cos(), x)


def draws_on_both_levels(x):
    def outer(v):
        return drop(again(lambda w: drop(w.sin()).exp() * drop(w), v) * drop(v)).cos()

    return again(outer, x) * drop(x)


def a_region_twice(x):
    def region(v):
        return drop(v.sin()).exp()

    return again(region, x) * again(region, x) + again(region, again(region, x))


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
@pytest.mark.parametrize(
    "f", [equal_draws, draws_around, nested_draws, draws_on_both_levels, a_region_twice]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_draws_of_checkpointed_regions(f, backend, partition):
    x = t.randn(3, 4, requires_grad=True)
    compiled = aot_function(f, BACKENDS[backend], partition_fn=partition)
    for seed in (1, 2):
        results = []
        for function in (f, compiled):
            t.manual_seed(seed)
            value = function(x)
            results.append((value, *t.autograd.grad(value.sum(), x), t.rand(2)))
        for want, have in zip(*results, strict=True):
            assert t.equal(want, have)


def test_a_checkpointed_dropout_saves_its_mask_alone():
    graphs = []
    compiled = aot_function(
        nested_draws, lambda graph, inputs: graphs.append(graph) or graph, nop,
        partition_fn=min_cut_rematerialization_partition,
    )  # fmt: skip
    compiled(t.randn(3, 4, requires_grad=True))
    (saved,) = [
        node.meta["val"] for node in graphs[0].graph.output_node().args[0][1:]
        if node.op != "placeholder"
    ]  # fmt: skip
    assert saved.dtype == t.bool
