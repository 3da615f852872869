"""Tests hooks of modules: before and after forward, around backward, for one module and for all.

The file passes on PyTorch as well, but for the cases marked otherwise.
"""

import importlib
import pickle
import warnings

import pytest
from under_test import NAME, t

nn = t.nn
functions = importlib.import_module(f"{NAME}.nn.modules.module")


class Sum(nn.Module):
    """a + b * factor"""

    def forward(self, a, b=1, *, factor=1):
        return a + b * factor


def ones(*shape):
    return t.ones(*shape, requires_grad=True)


# ---- forward ----
def test_forward_pre_hook_replaces_arguments():
    module = Sum()
    with module.register_forward_pre_hook(lambda m, args: args[0] * 10):
        assert module(2) == 21
    with module.register_forward_pre_hook(lambda m, args: (args[0], 5)):
        assert module(2) == 7
    assert module(2) == 3


def test_forward_pre_hook_with_kwargs():
    module = Sum()
    handle = module.register_forward_pre_hook(
        lambda m, args, kwargs: ((args[0] + 1,), {"factor": kwargs["factor"] * 2}),
        with_kwargs=True,
    )
    assert module(1, factor=3) == 8
    handle.remove()
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(
        RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3\."
    ):
        module(1)


def test_forward_hook_replaces_output_and_order():
    module, order = Sum(), []
    module.register_forward_hook(lambda m, args, output: order.append((args, output)))
    module.register_forward_hook(lambda m, args, output: output * 2)
    module.register_forward_hook(lambda m, args, output: order.append("first"), prepend=True)
    module.register_forward_hook(
        lambda m, args, kwargs, output: order.append((kwargs, output)), with_kwargs=True
    )
    assert module(1, 2, factor=3) == 14
    assert order == ["first", ((1, 2), 7), ({"factor": 3}, 14)]


def test_always_called_hooks():
    class Failing(nn.Module):
        def forward(self, x):
            raise KeyError("inside")

    module, seen = Failing(), []
    module.register_forward_hook(lambda m, args, output: seen.append("never"))
    module.register_forward_hook(
        lambda m, args, output: seen.append((args, output)), always_call=True
    )
    with pytest.raises(KeyError, match="inside"):
        module(3)
    assert seen == [((3,), None)]

    def bad(m, args, output):
        raise ValueError("in the hook")

    module.register_forward_hook(bad, always_call=True)
    with (
        pytest.warns(
            UserWarning, match="silenced as another error was raised in forward: in the hook"
        ),
        pytest.raises(KeyError),
    ):
        module(3)


def test_always_called_hook_that_ran_is_not_run_again():
    module, seen = Sum(), []
    module.register_forward_hook(lambda m, args, output: seen.append(output), always_call=True)

    def bad(m, args, output):
        raise ValueError("late")

    module.register_forward_hook(bad)
    with pytest.raises(ValueError, match="late"):
        module(1)
    assert seen == [2]


def test_hook_put_into_the_table_by_hand():
    module = Sum()
    module._forward_hooks[12345] = lambda m, args, output: output + 100
    assert module(1) == 102


def test_global_hooks():
    seen = []
    handles = [
        functions.register_module_forward_pre_hook(lambda m, args: seen.append("pre")),
        functions.register_module_forward_hook(lambda m, args, output: output + 1),
        functions.register_module_forward_hook(
            lambda m, args, kwargs, output: seen.append(kwargs), with_kwargs=True
        ),
    ]
    try:
        assert Sum()(1, factor=2) == 4 and seen == ["pre", {"factor": 2}]
    finally:
        for handle in handles:
            handle.remove()
    assert Sum()(1) == 2


def test_handle_pickles_with_its_module():
    module = Sum()
    handle = module.register_forward_pre_hook(print)
    module, handle = pickle.loads(pickle.dumps((module, handle)))
    assert len(module._forward_pre_hooks) == 1
    handle.remove()
    handle.remove()
    assert len(module._forward_pre_hooks) == 0


# ---- backward ----
def test_full_backward_hook_sees_and_replaces():
    layer, seen = nn.Linear(2, 1, bias=False), []
    with t.no_grad():
        layer.weight.copy_(t.tensor([[2.0, 3.0]]))

    def hook(module, grad_input, grad_output):
        seen.append((module is layer, grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(hook)
    x = ones(1, 2)
    layer(x).sum().backward()
    assert seen == [(True, [[2.0, 3.0]], [[1.0]])]
    assert x.grad.tolist() == [[20.0, 30.0]] and layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_full_backward_pre_hook_changes_all_gradients():
    layer = nn.Linear(2, 1, bias=False)
    layer.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 3,))
    order = []
    layer.register_full_backward_pre_hook(lambda m, grads: order.append(grads[0].item()))
    layer.register_full_backward_pre_hook(lambda m, g: order.append("first"), prepend=True)
    x = ones(1, 2)
    layer(x).sum().backward()
    assert order == ["first", 3.0] and layer.weight.grad.tolist() == [[3.0, 3.0]]


def test_values_without_gradient_are_none_or_zero():
    class Two(nn.Module):
        def forward(self, a, n, b):
            return a * n, "text", b.detach()

    module, seen = Two(), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    a, b = ones(2), t.ones(2)
    first, text, last = module(a, 3, b)
    assert text == "text" and not last.requires_grad
    first.sum().backward()
    ((grad_input, grad_output),) = seen
    assert grad_input[0].tolist() == [3, 3] and grad_input[1] is None
    assert grad_input[2].tolist() == [0, 0]
    assert grad_output[0].tolist() == [1, 1] and grad_output[1:] == (None, None)


def test_no_input_needs_a_gradient():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    with pytest.warns(UserWarning, match="since no inputs require gradients"):
        layer(t.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])] and layer.bias.grad.tolist() == [1.0]
    layer.register_full_backward_hook(lambda m, gi, go: (t.ones(1, 2),))
    with warnings.catch_warnings(), pytest.raises(RuntimeError, match="should always return None"):
        warnings.simplefilter("ignore")
        layer(t.ones(1, 2)).sum().backward()


@pytest.mark.parametrize(
    "register, text",
    [
        ("register_full_backward_hook", "Backward hook returned an invalid number of grad_input, got 2, but expected 1"),
        ("register_full_backward_pre_hook", "Backward pre hook returned an invalid number of grad_output, got 2, but expected 1"),
    ],
)  # fmt: skip
def test_wrong_number_of_gradients(register, text):
    layer = nn.Linear(2, 1)
    getattr(layer, register)(lambda *_: (None, None))
    with pytest.raises(RuntimeError, match=text):
        layer(ones(1, 2)).sum().backward()


def test_no_grad_and_inner_modules():
    net, seen = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), []
    for name, module in net.named_modules():
        module.register_full_backward_hook(lambda m, gi, go, name=name: seen.append(name))
    with t.no_grad():
        assert not net(t.ones(1, 2)).requires_grad
    net(ones(1, 2)).sum().backward()
    assert seen == ["2", "1", "0", ""]


def test_two_calls_are_kept_apart():
    layer, seen = nn.Linear(1, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].item()))
    (layer(ones(1, 1)) * 2 + layer(ones(1, 1)) * 5).backward()
    assert sorted(seen) == [2.0, 5.0]


def test_double_backward_with_hooks():
    module, seen = nn.Tanh(), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append(gi[0].item()))
    x = t.tensor([0.5], requires_grad=True)
    (gradient,) = t.autograd.grad(module(x), x, create_graph=True)
    (second,) = t.autograd.grad(gradient, x)
    y = t.tensor(0.5).tanh()
    assert abs(seen[0] - (1 - y * y).item()) < 1e-6
    assert abs(second.item() - (-2 * y * (1 - y * y)).item()) < 1e-6


def test_output_that_is_no_tensor_warns():
    class Wrapped(nn.Module):
        def forward(self, x):
            return {"x": x * 2}

    module = Wrapped()
    module.register_full_backward_hook(lambda *_: None)
    with pytest.warns(
        UserWarning,
        match="module output should be a Tensor or a tuple of Tensors but received <class 'dict'>",
    ):
        module(ones(2))


def test_older_backward_hook():
    layer, seen = nn.Tanh(), []
    layer.register_backward_hook(lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    x = t.zeros(2, requires_grad=True)
    layer(x * 1).sum().backward()
    assert seen == [([1, 1], [1, 1])]


def test_global_backward_hooks():
    seen = []
    handles = [
        functions.register_module_full_backward_pre_hook(lambda m, go: seen.append("pre")),
        functions.register_module_full_backward_hook(lambda m, gi, go: seen.append("post")),
    ]
    try:
        nn.Tanh()(ones(2)).sum().backward()
        with pytest.raises(RuntimeError, match="as a global Module hook"):
            functions.register_module_backward_hook(print)
    finally:
        for handle in handles:
            handle.remove()
    nn.Tanh()(ones(2)).sum().backward()
    assert seen == ["pre", "post"]


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch's backward hooks refuse transforms")
def test_hooks_under_transforms():
    layer, seen = nn.Linear(2, 1), []
    layer.register_forward_hook(lambda m, args, output: output * 2)
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(tuple(go[0].shape)))

    def loss(x):
        return layer(x).sum()

    each = t.func.vmap(t.func.grad(loss))(t.ones(4, 3, 2))
    assert t.allclose(each, (layer.weight * 2).expand(4, 3, 2)) and seen == [(3, 1)]
