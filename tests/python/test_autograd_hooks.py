"""Tests of hooks on tensors and nodes: order, replacement, removal, lifetime."""

import gc
import importlib
import warnings
import weakref

import pytest
from under_test import NAME, t


def leaf(*sizes):
    return t.ones(*sizes, requires_grad=True)


def test_order_of_all_kinds():
    log = []
    a = leaf(2)
    b = a * 2
    b.register_hook(lambda grad: log.append("first"))
    b.retain_grad()
    b.register_hook(lambda grad: log.append("second") or grad * 3)
    b.grad_fn.register_prehook(lambda grads: log.append("pre"))
    b.grad_fn.register_hook(lambda inputs, outputs: log.append("post"))
    a.register_hook(lambda grad: log.append("leaf"))
    a.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
    b.sum().backward()
    assert log == ["first", "second", "pre", "post", "leaf", [6.0, 6.0]]
    assert b.grad.tolist() == [3.0, 3.0]


def test_removal_by_handle_and_context():
    a = leaf(1)
    handle = a.register_hook(lambda grad: grad * 2)
    a.sum().backward()
    handle.remove()
    handle.remove()
    a.sum().backward()
    assert a.grad.tolist() == [3.0]
    with a.register_hook(lambda grad: grad * 5):
        a.sum().backward()
    a.sum().backward()
    assert a.grad.tolist() == [9.0]


def test_stay_with_the_history_an_in_place_write_replaced():
    log = []
    a = leaf(2)
    b = a.clone()
    b.register_hook(lambda grad: log.append(("before", grad.tolist())))
    b.retain_grad()
    b.mul_(2)
    b.register_hook(lambda grad: log.append(("after", grad.tolist())))
    b.sum().backward()
    assert log == [("after", [1.0, 1.0]), ("before", [2.0, 2.0])]
    assert b.grad.tolist() == [1.0, 1.0]


def test_node_hooks_replace_gradients():
    a = leaf(2)
    b = a * 2
    b.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, None))
    b.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    b.sum().backward()
    assert a.grad.tolist() == [60.0, 60.0]


def test_hooks_of_the_accumulator():
    a, log = leaf(2), []
    b = a * 2
    accumulator, number = b.grad_fn.next_functions[0]
    assert accumulator.variable is a and number == 0
    accumulator.register_prehook(lambda grads: log.append(grads[0].tolist()))
    accumulator.register_hook(lambda inputs, outputs: log.append((inputs, len(outputs))))
    b.sum().backward()
    assert log == [[2.0, 2.0], ((), 1)]


def test_cycle_through_a_hook_is_collected():
    def make():
        a = leaf(1)
        a.register_hook(lambda grad: a)
        return weakref.ref(a)

    a = make()
    gc.collect()
    assert a() is None


def test_retain_grad():
    a = leaf(1)
    a.retain_grad()
    b = a * 2
    assert not a.retains_grad and not b.retains_grad
    b.retain_grad()
    assert b.retains_grad
    b.backward()
    assert b.grad.tolist() == [1.0]


def test_grad_of_an_inner_tensor_warns():
    b = leaf(1) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert b.grad is None
    assert "not a leaf Tensor is being accessed" in str(caught[0].message)


def test_multi_grad_hook_waits_for_all():
    a, b, c, d = (leaf(1) for _ in range(4))
    seen = []
    x = a * b
    handle = t.autograd.graph.register_multi_grad_hook(
        (a, b, c, d, x), lambda grads: seen.append([g if g is None else g.item() for g in grads])
    )
    (x * c).backward()
    assert seen == [[1.0, 1.0, 1.0, None, 1.0]]
    (x.detach() * d).backward(inputs=[d])
    assert seen[1:] == [[None, None, None, 1.0, None]]
    handle.remove()
    (a * b).backward()
    assert len(seen) == 2


def test_multi_grad_hook_on_any():
    a, b, seen = leaf(1), leaf(1), []
    t.autograd.graph.register_multi_grad_hook((a, b), seen.append, mode="any")
    (a * b).backward()
    (a * b).backward()
    assert [grad.tolist() for grad in seen] == [[1.0], [1.0]]


def test_hook_of_an_output_without_gradient():
    x, seen = t.ones(2, 1, requires_grad=True), []
    a, b = x.split(1)
    a.register_hook(seen.append)
    b.sum().backward()
    assert seen == [None]


def test_captured_gradient_and_hooks():
    """A gradient that also flows on is captured before the tensor's hooks."""
    x = t.ones(2, requires_grad=True)
    v = x * x
    v.register_hook(lambda grad: grad * 2)
    (alone,) = t.autograd.grad(v.sum(), [v], retain_graph=True)
    inner, outer = t.autograd.grad(v.sum(), [v, x])
    assert alone.tolist() == [2.0, 2.0]
    assert inner.tolist() == [1.0, 1.0] and outer.tolist() == [4.0, 4.0]


def test_a_number_is_not_packed():
    packed = []
    with t.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x) or x, lambda x: x):
        y = t.ones(2, requires_grad=True) * 3.0
    y.sum().backward()
    assert not packed


def test_post_accumulate_runs_without_a_gradient():
    log = []
    a = leaf(2)
    a.register_post_accumulate_grad_hook(lambda p: log.append(p.grad))
    view = a.view(2)
    a.requires_grad_(False)
    view.sum().backward()
    assert log == [None]

    class Nothing(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    Nothing.apply(a.requires_grad_()).sum().backward()
    assert log == [None, None]


def test_post_accumulate_may_return_its_tensor():
    a = t.zeros(3, requires_grad=True)
    a.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad, alpha=0.5))
    a.backward(t.tensor([1.0, 2.0, 3.0]))
    assert a.tolist() == [-0.5, -1.0, -1.5]


def test_post_accumulate_must_return_nothing():
    a = leaf(2)
    a.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        a.sum().backward()


no_metadata = pytest.mark.skipif(NAME == "torch", reason="PyTorch does not look into metadata")


@pytest.mark.parametrize("way", ["hook", "prehook", pytest.param("metadata", marks=no_metadata)])
def test_a_node_that_leads_back_to_itself_is_collected(way):
    class Marker:
        pass

    a = leaf(2)
    node, marker = (a * 2).grad_fn, Marker()
    if way == "metadata":
        node.metadata["back"] = (node, marker)
    elif way == "hook":
        node.register_hook(lambda inputs, outputs, back=(node, marker): None)
    else:
        node.register_prehook(lambda outputs, back=(node, marker): None)
    gone = weakref.ref(marker)
    del node, marker
    gc.collect()
    assert gone() is None


def test_the_collector_leaves_hooks_of_a_leaf_in_use():
    # The hook leads to the accumulator's handle, and the accumulator shares the leaf's hooks.
    x, seen = t.ones(3, requires_grad=True), []
    t.autograd.graph.register_multi_grad_hook([x], seen.append)
    gc.collect()
    (x * 2).sum().backward()
    assert [[g.tolist() for g in grads] for grads in seen] == [[[2.0, 2.0, 2.0]]]


@pytest.mark.skipif(NAME == "torch", reason="PyTorch refuses leaves under autograd.grad")
def test_a_multi_hook_on_leaves_runs_under_grad():
    a, b, seen = leaf(2), leaf(2), []
    with t.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append(len(grads))):
        t.autograd.grad((a * b).sum(), (a, b))
    assert seen == [2]


def test_hooks_of_a_tensor_can_be_listed():
    a = leaf(2)
    assert not a._backward_hooks
    hooks = [lambda grad: None, lambda grad: grad]
    handle, _ = map(a.register_hook, hooks)
    assert list(a._backward_hooks.values()) == hooks
    handle.remove()
    assert list(a._backward_hooks.values()) == hooks[1:]
    b, c = (a * 2).unbind()
    c.register_hook(hooks[0])
    assert not b._backward_hooks and list(c._backward_hooks.values()) == hooks[:1]
    with pytest.raises(RuntimeError):
        del a._backward_hooks


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_a_hook_that_refers_to_its_leaf_is_collected_after_a_run(register):
    def used():
        a = leaf(2)
        getattr(a, register)(lambda _: (a, None)[1])
        (a * 2).sum().backward()
        return weakref.ref(a)

    gone = used()
    gc.collect()
    assert gone() is None


def test_handles_are_of_the_class_that_programs_ask_for():
    hooks = importlib.import_module(f"{NAME}.utils.hooks")
    a = leaf(2)
    handles = [
        a.register_hook(lambda grad: grad),
        a.register_post_accumulate_grad_hook(lambda _: None),
        (a * 2).grad_fn.register_hook(lambda *_: None),
    ]
    assert all(isinstance(handle, hooks.RemovableHandle) for handle in handles)
    assert not isinstance(a, hooks.RemovableHandle)
