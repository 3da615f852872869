"""Steps of optimizers: values worked out by hand, and that all forms of a step agree."""

import math

import pytest
from optim_cases import FUSED, IDS, OVER_LISTS, SETTINGS, parameters, run
from under_test import NAME, t

optim = t.optim


def stepped(optimizer, param, grads):
    """The number in a parameter after steps with these gradients."""
    for grad in grads:
        param.grad = t.full_like(param, grad)
        optimizer.step()
    return param.item()


def number(value=1.0):
    return t.tensor([value], dtype=t.float64, requires_grad=True)


def test_sgd_by_hand():
    x = number()
    assert stepped(optim.SGD([x], lr=0.1), x, [2.0, 3.0]) == pytest.approx(1 - 0.2 - 0.3)
    x = number()
    optimizer = optim.SGD([x], lr=0.1, momentum=0.5, dampening=0.2)
    # The first momentum is the gradient itself; 0.5 * 2 + 0.8 * 3 = 3.4.
    assert stepped(optimizer, x, [2.0, 3.0]) == pytest.approx(1 - 0.2 - 0.34)
    x = number()
    optimizer = optim.SGD([x], lr=0.1, momentum=0.5, nesterov=True)
    # 2 + 0.5 * 2, then 3 + 0.5 * (0.5 * 2 + 3).
    assert stepped(optimizer, x, [2.0, 3.0]) == pytest.approx(1 - 0.3 - 0.5)


def test_adam_by_hand():
    x = number()
    optimizer = optim.Adam([x], lr=0.1, betas=(0.9, 0.99), eps=0.0)
    # Bias corrections make the first step the sign of the gradient.
    assert stepped(optimizer, x, [2.0]) == pytest.approx(0.9)
    mean = (0.9 * 0.2 + 0.1 * -1.0) / (1 - 0.81)
    square = (0.99 * 0.04 + 0.01 * 1.0) / (1 - 0.9801)
    assert stepped(optimizer, x, [-1.0]) == pytest.approx(0.9 - 0.1 * mean / math.sqrt(square))


def test_adamw_decays_the_parameter_itself():
    x = number()
    optimizer = optim.AdamW([x], lr=0.1, eps=0.0, weight_decay=0.5)
    assert stepped(optimizer, x, [2.0]) == pytest.approx(1 - 0.05 - 0.1)


def test_adagrad_by_hand():
    x = number()
    optimizer = optim.Adagrad([x], lr=0.1, lr_decay=0.5, eps=0.0)
    expected = 1 - 0.1 - 0.1 / 1.5 * 3.0 / math.sqrt(13.0)
    assert stepped(optimizer, x, [2.0, 3.0]) == pytest.approx(expected)


def test_rmsprop_by_hand():
    x = number()
    optimizer = optim.RMSprop([x], lr=0.1, alpha=0.75, eps=0.0)
    assert stepped(optimizer, x, [2.0]) == pytest.approx(1 - 0.1 * 2.0 / 1.0)


def test_adadelta_by_hand():
    x = number()
    optimizer = optim.Adadelta([x], lr=1.0, rho=0.5, eps=1.0)
    assert stepped(optimizer, x, [2.0]) == pytest.approx(1 - 2.0 / math.sqrt(3.0))


def test_adamax_by_hand():
    x = number()
    optimizer = optim.Adamax([x], lr=0.1, betas=(0.9, 0.5), eps=0.0)
    # A smaller gradient meets the half of the larger one before.
    expected = 1 - 0.1 - 0.1 / (1 - 0.81) * (0.9 * 0.2 + 0.1 * 0.5) / 1.0
    assert stepped(optimizer, x, [2.0, 0.5]) == pytest.approx(expected)


def test_rprop_by_hand():
    x = number()
    optimizer = optim.Rprop([x], lr=0.1, etas=(0.5, 1.2))
    # A step, a longer one in the same direction, none where the sign turns, half of the last.
    assert stepped(optimizer, x, [2.0]) == pytest.approx(0.9)
    assert stepped(optimizer, x, [1.0]) == pytest.approx(0.9 - 0.12)
    assert stepped(optimizer, x, [-1.0]) == pytest.approx(0.78)
    assert stepped(optimizer, x, [-1.0]) == pytest.approx(0.78 + 0.06)


def test_asgd_averages_from_t0_on():
    x = number()
    optimizer = optim.ASGD([x], lr=0.1, lambd=0.0, t0=1)
    stepped(optimizer, x, [1.0, 1.0, 1.0])
    # 0.9, 0.8, 0.7: mu is 1, 1, 1 and 1/2 after them.
    assert optimizer.state[x]["ax"].item() == pytest.approx(0.7)
    stepped(optimizer, x, [1.0])
    assert optimizer.state[x]["ax"].item() == pytest.approx((0.7 + 0.6) / 2)


def test_lbfgs_solves_a_quadratic():
    x = t.tensor([3.0, -2.0], dtype=t.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
    scale = t.tensor([1.0, 20.0], dtype=t.float64)

    def closure():
        optimizer.zero_grad()
        loss = (scale * (x - 1) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert x.tolist() == pytest.approx([1.0, 1.0], abs=1e-6)
    assert optimizer.state[x]["func_evals"] > optimizer.state[x]["n_iter"] > 1


def test_muon_makes_steps_of_about_one_singular_value():
    matrix = t.zeros(4, 4, requires_grad=True)
    matrix.grad = t.eye(4) * t.tensor([8.0, 4.0, 2.0, 1.0])
    optim.Muon([matrix], lr=1.0, weight_decay=0.0, nesterov=False).step()
    sizes = -matrix.detach().diagonal()
    assert ((sizes > 0.5) & (sizes < 1.3)).all()


# ---- forms ----
def forms(name):
    """The forms that a step of an optimizer can take, beside the one tensor by tensor."""
    found = [{}, {"foreach": True}]
    return [*found, {"fused": True}] if name in FUSED else found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, options", SETTINGS, ids=IDS)
def test_all_forms_give_the_same_values(name, options, dtype):
    if name not in OVER_LISTS:
        pytest.skip("one form")

    def trajectory(form):
        params = parameters(t, getattr(t, dtype))
        return run(params, getattr(optim, name)(params, **options, **form))

    expected = trajectory({"foreach": False})
    for form in forms(name):
        for seen, wanted in zip(trajectory(form), expected):
            for a, b in zip(seen, wanted):
                assert a == pytest.approx(b, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", sorted(FUSED))
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_fused_steps_of_halves_round_once(name, dtype):
    options = {"lr": 0.05, "weight_decay": 0.1}

    def result(kind, state_dtype):
        params = parameters(t, kind)
        optimizer = getattr(optim, name)(params, **options, fused=True)
        for param in params:
            param.grad = t.full_like(param, 0.5)
        optimizer.step()
        return [param.detach().to(state_dtype) for param in params]

    kind = getattr(t, dtype)
    wide = [p.detach().to(kind).float().requires_grad_() for p in parameters(t)]
    optimizer = getattr(optim, name)(wide, **options, fused=True)
    for param in wide:
        param.grad = t.full_like(param, 0.5)
    optimizer.step()
    for narrow, param in zip(result(kind, kind), wide):
        assert narrow.tolist() == param.detach().to(kind).tolist()


@pytest.mark.parametrize("name", sorted(OVER_LISTS))
def test_steps_at_different_counts_stay_apart(name):
    def trajectory(foreach):
        a, b, c = parameters(t)
        optimizer = getattr(optim, name)([a, b, c], foreach=foreach)
        for i in range(4):
            for param in (a, b, c) if i != 1 else (a,):
                param.grad = t.full_like(param, 0.3 + i)
            optimizer.step()
            optimizer.zero_grad()
        return [param.detach().flatten().tolist() for param in (a, b, c)]

    for seen, wanted in zip(trajectory(True), trajectory(False)):
        assert seen == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("form", [{"foreach": False}, {"foreach": True}, {}])
def test_strided_parameters(form):
    x = t.arange(12.0).reshape(3, 4).t().requires_grad_()
    y = t.arange(12.0).reshape(3, 4).t().contiguous().requires_grad_()
    for param in (x, y):
        optimizer = optim.Adam([param], lr=0.1, **form)
        param.grad = t.linspace(-1, 1, 12).reshape(4, 3)
        optimizer.step()
    assert t.allclose(x, y)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RAdam", "NAdam", "RMSprop", "Adadelta", "SGD"])
@pytest.mark.parametrize("foreach", [False, True])
def test_complex_parameters_are_pairs_of_real_ones(name, foreach):
    z = t.tensor([1 + 2j, -0.5 + 0.25j], requires_grad=True)
    pairs = t.view_as_real(z.detach().clone()).clone().requires_grad_()
    optimizers = [getattr(optim, name)([p], lr=0.1, foreach=foreach) for p in (z, pairs)]
    for _ in range(3):
        for param, optimizer in zip((z, pairs), optimizers):
            optimizer.zero_grad()
            (param * param.conj()).abs().sum().backward()
            optimizer.step()
    assert t.allclose(t.view_as_real(z.detach()), pairs.detach(), atol=1e-6)


@pytest.mark.skipif(NAME == "torch", reason="its fused steps count none")
def test_steps_count_a_version_and_leave_gradients_alone():
    for form in ({"foreach": False}, {"foreach": True}, {"fused": True}):
        params = parameters(t)
        optimizer = optim.Adam(params, lr=0.1, maximize=True, weight_decay=0.1, **form)
        for param in params:
            param.grad = t.ones_like(param)
        before = [param._version for param in params]
        optimizer.step()
        assert all(param._version > version for param, version in zip(params, before))
        assert all((param.grad == 1).all() for param in params)


def test_a_tensor_of_the_learning_rate_is_followed():
    lr = t.tensor(0.1)
    for form in ({}, {"fused": True}):
        x = t.ones(2, requires_grad=True)
        optimizer = optim.SGD([x], lr=lr.fill_(0.1), **form)
        x.grad = t.ones(2)
        optimizer.step()
        lr.fill_(0.5)
        optimizer.step()
        assert x.tolist() == pytest.approx([0.4, 0.4])


# ---- differentiable steps ----
@pytest.mark.skipif(
    NAME == "torch", reason="its second step changes what the first one's graph keeps"
)
@pytest.mark.parametrize(
    "name, options",
    [
        ("SGD", {"weight_decay": 0.1}),
        ("Adam", {}),
        ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
        ("AdamW", {}),
        ("Adamax", {}),
        ("NAdam", {}),
        ("RAdam", {"weight_decay": 0.1}),
        ("Adagrad", {}),
        ("Adadelta", {}),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        ("ASGD", {}),
    ],
)
def test_two_steps_can_be_differentiated(name, options):
    start = t.tensor([0.5, -0.8, 1.2], dtype=t.float64)

    def after(weight):
        param = (weight * 1.0).requires_grad_()
        optimizer = getattr(optim, name)([param], lr=0.1, differentiable=True, **options)
        for _ in range(2):
            param.grad = weight * weight + 1
            optimizer.step()
        return param

    assert t.autograd.gradcheck(after, [start.clone().requires_grad_()])


@pytest.mark.parametrize(
    "name",
    [
        "Adadelta",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "ASGD",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
    ],
)
def test_steps_over_lists_cannot_be_differentiated(name):
    param = t.ones(3, requires_grad=True)
    optimizer = getattr(optim, name)([param * 1.0], differentiable=True, foreach=True)
    optimizer.param_groups[0]["params"][0].grad = t.ones(3)
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        optimizer.step()


def test_sgd_over_lists_can_be_differentiated():
    weight = t.ones(3, requires_grad=True)
    param = weight * 1.0
    param.grad = t.full((3,), 2.0) * weight
    optim.SGD([param], lr=0.5, differentiable=True, foreach=True).step()
    param.sum().backward()
    assert weight.grad.tolist() == [0.0] * 3


def test_a_learning_rate_can_be_differentiated():
    lr = t.tensor(0.1, dtype=t.float64, requires_grad=True)
    param = (t.ones(2, dtype=t.float64) * 1.0).requires_grad_()
    param = param * 1.0
    optimizer = optim.SGD([param], lr=lr, differentiable=True)
    param.grad = t.tensor([2.0, 3.0], dtype=t.float64)
    optimizer.step()
    param.sum().backward()
    assert lr.grad.item() == pytest.approx(-5.0)


# ---- scaled gradients ----
@pytest.mark.parametrize("name", sorted(FUSED))
def test_a_fused_step_unscales_gradients_and_skips_infinite_ones(name):
    scaler = t.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
    params, twins = parameters(t), parameters(t)
    optimizer = getattr(optim, name)(params, lr=0.1, fused=True)
    twin = getattr(optim, name)(twins, lr=0.1)

    def step(factor):
        for group in (params, twins):
            for param in group:
                param.grad = None
        scaler.scale(sum((param * param * factor).sum() for param in params)).backward()
        scaler.step(optimizer)
        scaler.update()

    step(1.0)
    sum((param * param).sum() for param in twins).backward()
    twin.step()
    for a, b in zip(params, twins):
        assert t.allclose(a, b, atol=1e-6)
    before = [param.tolist() for param in params]
    step(float("inf"))
    assert [param.tolist() for param in params] == before
    if "step" in optimizer.state[params[0]]:
        assert optimizer.state[params[0]]["step"].item() == 1


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RAdam", "NAdam", "RMSprop", "Adagrad", "Adadelta"]
)
def test_differentiable_steps_of_a_number(name):
    """The states of a parameter without dimensions are states, not counts of steps."""
    weight = t.ones((), requires_grad=True)
    param = weight.clone()
    optimizer = getattr(optim, name)([param], lr=0.1, differentiable=True)
    for _ in range(3):
        param.grad = (weight * 2).sin()
        optimizer.step()
    param.backward()
    assert weight.grad.isfinite()


@pytest.mark.parametrize("momentum, count", [(0.9, 0), (0.9, 2), (0.0, 1)])
def test_fused_sgd_has_a_buffer_per_tensor_with_momentum_alone(momentum, count):
    options = {"weight_decay": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False}
    buffers = [t.zeros(3) for _ in range(count)]
    with pytest.raises(RuntimeError, match="Expected momentum_buffer_list"):
        t._fused_sgd_(
            [t.ones(3)],
            [t.ones(3)],
            buffers,
            momentum=momentum,
            maximize=False,
            is_first_step=True,
            **options,
        )


def odd_numbers(count, dtype):
    """Numbers of all sizes, with zeros, infinities, NaN and numbers below the normal ones."""
    x = (t.randn(count) * 10 ** (t.randn(count) * 8)).clamp(-1e38, 1e38)
    x[::97], x[1::197], x[2::211], x[3::91] = 0.0, math.inf, math.nan, 1e-42
    return x.to(dtype)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch's fused step rounds in another order")
@pytest.mark.parametrize("dtype", [t.float32, t.float64])
@pytest.mark.parametrize("step", [1.0, 2.0, 7.0, 1000.0, 1e6])
def test_a_fused_step_has_the_bits_of_its_operators(dtype, step):
    t.manual_seed(0)
    lr, beta1, beta2, eps, decay = 1e-3, 0.9, 0.999, 1e-8, 0.01
    given = [odd_numbers(10007, dtype) for _ in range(4)]
    given[3].abs_()
    fused, plain = ([x.clone() for x in given] for _ in range(2))
    t._fused_adamw_(
        *([x] for x in fused), [], [t.tensor(step)],
        lr=lr, beta1=beta1, beta2=beta2, weight_decay=decay, eps=eps, amsgrad=False, maximize=False,
    )  # fmt: skip
    param, grad, mean, square = plain
    param.mul_(1 - lr * decay)
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    root = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(eps)
    param.addcdiv_(mean, root, value=-lr / (1 - beta1**step))
    for got, expected in zip(fused, plain, strict=True):
        t.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize(
    ("name", "option", "entry"),
    [
        ("Adam", "amsgrad", "max_exp_avg_sq"),
        ("RMSprop", "centered", "grad_avg"),
        ("RMSprop", "momentum", "momentum_buffer"),
        ("Adam", None, "step"),
    ],
)
def test_an_entry_that_a_state_lacks_is_named(name, option, entry, foreach):
    p = t.nn.Parameter(t.ones(3))
    optimizer = getattr(t.optim, name)([p], foreach=foreach)
    p.grad = t.ones(3)
    optimizer.step()
    if option:
        optimizer.param_groups[0][option] = True
    else:
        del optimizer.state[p][entry]
    with pytest.raises(KeyError, match=entry):
        optimizer.step()
