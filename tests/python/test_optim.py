"""Optimizer: groups, options, state dicts, hooks, pickling, printed form, errors."""

import copy
import importlib
import pickle
import warnings

import pytest
from optim_cases import IDS, SETTINGS, loss_of, parameters, run
from under_test import NAME, t

optim = t.optim
base = importlib.import_module(f"{NAME}.optim.optimizer")


def made(name="Adam", **options):
    params = parameters(t)
    return params, getattr(optim, name)(params, **options)


# ---- groups ----
def test_groups_have_their_options_or_the_defaults():
    a, b, c = parameters(t)
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1, momentum=0.9)
    optimizer.add_param_group({"params": [c], "momentum": 0.0})
    lrs = [group["lr"] for group in optimizer.param_groups]
    momenta = [group["momentum"] for group in optimizer.param_groups]
    assert lrs == [0.5, 0.1, 0.1] and momenta == [0.9, 0.9, 0.0]
    assert optimizer.param_groups[1]["params"] == [b]


def test_named_parameters_keep_their_names():
    a, b, c = parameters(t)
    optimizer = optim.Adam([("first", a), ("second", b)])
    assert optimizer.param_groups[0]["param_names"] == ["first", "second"]
    assert optimizer.param_groups[0]["params"] == [a, b]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [c]})


@pytest.mark.parametrize(
    "given, error, message",
    [
        (lambda a: a, TypeError, "params argument given to the optimizer should be an iterable"),
        (lambda a: [], ValueError, "optimizer got an empty parameter list"),
        (lambda a: [{"params": {a}}], TypeError, "need to be organized in ordered collections"),
        (lambda a: [3], TypeError, "optimizer can only optimize Tensors, but one of the params"),
        (lambda a: [a * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda a: [("a", a), a.detach()], ValueError, "Some param names are missing"),
        (
            lambda a: [{"params": [a]}, {"params": [a]}],
            ValueError,
            "some parameters appear in more than one parameter group",
        ),
    ],
)
def test_refused_parameters(given, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(given(t.ones(2, requires_grad=True)), lr=0.1)


def test_a_parameter_twice_in_a_group_is_warned_of():
    a = t.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="a parameter group with duplicate parameters"):
        optim.SGD([a, a], lr=0.1)


def test_required_options():
    class Own(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"rate": base.required})

    with pytest.raises(ValueError, match=r"didn't specify a value of required .* rate"):
        Own([t.ones(1)])


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("SGD", {"lr": -1.0}, "Invalid learning rate: -1.0"),
        ("SGD", {"momentum": -0.5}, "Invalid momentum value: -0.5"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ("Adam", {"betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0"),
        ("Adam", {"betas": (0.5, t.tensor(0.5))}, "betas must be either both floats or both"),
        ("Adam", {"lr": t.tensor(0.1), "foreach": True}, "lr as a Tensor is not supported"),
        ("AdamW", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
        ("Adamax", {"eps": -1}, "Invalid epsilon value: -1"),
        ("NAdam", {"momentum_decay": -0.2}, "Invalid momentum_decay value: -0.2"),
        ("Adagrad", {"lr_decay": -0.5}, "Invalid lr_decay value: -0.5"),
        ("Adadelta", {"rho": 1.1}, "Invalid rho value: 1.1"),
        ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
        ("Rprop", {"etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5"),
        ("ASGD", {"lr": t.tensor([0.1, 0.2])}, "Tensor lr must be 1-element"),
        ("Adafactor", {"d": 0.0}, "Clipping threshold d should be >= 1 but is: 0.0"),
        ("Muon", {"adjust_lr_fn": "no"}, "Adjust learning rate function no is not supported"),
        ("SparseAdam", {"eps": 0.0}, "Invalid epsilon value: 0.0"),
    ],
)
def test_refused_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        made(name, **options)


@pytest.mark.parametrize(
    "name, message",
    [
        ("SGD", "'<' not supported between instances of 'str' and 'float'"),
        ("Adam", "'<=' not supported between instances of 'float' and 'str'"),
    ],
)
def test_a_learning_rate_that_is_no_number(name, message):
    with pytest.raises(TypeError, match=message):
        made(name, lr="fast")


def test_forms_that_exclude_each_other():
    for options in ({"foreach": True}, {"differentiable": True}):
        with pytest.raises(RuntimeError, match="`fused`"):
            made("Adam", fused=True, **options)


def test_capturable_steps_need_an_accelerator():
    params, optimizer = made("Adam", capturable=True)
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be"):
        run(params, optimizer, 1)
    one, lists = "mu_products and .* 'xla']", "mu_products, and .*one']"
    for foreach, text in ((None, one), (False, one), (True, lists)):
        params, optimizer = made("NAdam", capturable=True, foreach=foreach)
        with pytest.raises(AssertionError, match=text):
            run(params, optimizer, 1)


def test_fused_steps_need_floats_on_a_device_with_a_kernel():
    param = t.ones(2, device="meta", requires_grad=True)
    param.grad = t.ones(2, device="meta")
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating"):
        optim.Adam([param], fused=True).step()


def test_muon_takes_matrices_alone():
    with pytest.raises(ValueError, match="Muon only supports 2D parameters whereas we found"):
        optim.Muon([t.ones(3, requires_grad=True)])


def test_sparse_adam_refuses_dense_gradients():
    params, optimizer = made("SparseAdam")
    optimizer.step()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        run(params, optimizer, 1)


# ---- gradients ----
def test_zero_grad_drops_or_fills():
    params, optimizer = made(foreach=True)
    loss_of(params).backward()
    optimizer.zero_grad(set_to_none=False)
    assert all(param.grad.abs().sum() == 0 for param in params)
    optimizer.zero_grad()
    assert all(param.grad is None for param in params)


def test_parameters_without_gradients_stay():
    params, optimizer = made("AdamW", lr=0.1)
    before = [param.tolist() for param in params]
    params[0].grad = t.ones_like(params[0])
    optimizer.step()
    assert params[0].tolist() != before[0]
    assert [param.tolist() for param in params[1:]] == before[1:]
    assert list(optimizer.state) == [params[0]]


def test_a_closure_runs_with_gradients_and_gives_the_loss():
    params, optimizer = made("SGD", lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(params)
        loss.backward()
        return loss

    with t.no_grad():
        assert optimizer.step(closure).item() == pytest.approx(loss_of(parameters(t)).item())


# ---- printed form, copies ----
def test_printed_form():
    optimizer = optim.SGD([t.ones(1, requires_grad=True)], lr=0.5)
    assert repr(optimizer) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n"
        "    fused: None\n    lr: 0.5\n    maximize: False\n    momentum: 0\n    nesterov: False\n"
        "    weight_decay: 0\n)"
    )


def test_pickles_and_copies_go_on_alike():
    params, optimizer = made("Adam", lr=0.1)
    run(params, optimizer, 2)
    for twin in (pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)):
        twins = twin.param_groups[0]["params"]
        assert twins[0] is not params[0]
        expected = copy.deepcopy((params, optimizer.state_dict()))
        assert run(twins, twin, 3)[-1] == _continued(*expected)


def _continued(params, state):
    optimizer = optim.Adam(params, lr=0.1)
    optimizer.load_state_dict(state)
    return run(params, optimizer, 3)[-1]


# ---- state dicts ----
@pytest.mark.parametrize("name, options", SETTINGS, ids=IDS)
def test_a_state_dict_continues_the_run(name, options):
    params, optimizer = made(name, **options)
    run(params, optimizer, 3)
    others = [param.detach().clone().requires_grad_() for param in params]
    other = getattr(optim, name)(others, **options)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert run(others, other, 3) == run(params, optimizer, 3)


def test_state_dicts_name_parameters_by_position():
    a, b, c = parameters(t)
    optimizer = optim.Adam([{"params": [a]}, {"params": [b, c]}], lr=0.1)
    run([a, b, c], optimizer, 1)
    state = optimizer.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[0], [1, 2]]
    assert list(state["state"]) == [0, 1, 2]
    assert list(state["state"][1]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["state"][2]["step"].item() == 1.0 and state["state"][2]["step"].dim() == 0


def test_refused_state_dicts():
    params, optimizer = made("SGD", lr=0.1)
    state = optimizer.state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.SGD([{"params": [params[0]]}, {"params": [params[1]]}]).load_state_dict(state)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optim.SGD([params[0]]).load_state_dict(state)


def test_loaded_states_have_the_dtype_of_their_parameters():
    params, optimizer = made("Adam")
    run(params, optimizer, 2)
    doubles = parameters(t, t.float64)
    other = optim.Adam(doubles)
    other.load_state_dict(optimizer.state_dict())
    state = other.state[doubles[0]]
    assert state["exp_avg"].dtype == t.float64 and state["step"].dtype == t.float32


def test_step_counts_of_old_state_dicts_become_tensors():
    params, optimizer = made("Adam")
    run(params, optimizer, 2)
    state = copy.deepcopy(optimizer.state_dict())
    for entry in state["state"].values():
        entry["step"] = 2
    del state["param_groups"][0]["amsgrad"]
    optimizer.load_state_dict(state)
    assert isinstance(optimizer.state[params[0]]["step"], t.Tensor)
    assert optimizer.param_groups[0]["amsgrad"] is False
    run(params, optimizer, 1)
    assert optimizer.state[params[0]]["step"].item() == 3


def test_names_of_the_optimizer_stay_when_the_saved_state_has_none():
    a, b, _ = parameters(t)
    plain, named = optim.SGD([a], lr=0.3), optim.SGD([("b", b)], lr=0.1)
    named.load_state_dict(plain.state_dict())
    assert named.param_groups[0]["param_names"] == ["b"] and named.param_groups[0]["lr"] == 0.3


# ---- hooks ----
def test_step_hooks_see_and_change_arguments():
    params, optimizer = made("SGD", lr=0.1)
    seen = []
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(args[0] is o))
    optimizer.step()
    before.remove()
    optimizer.step()
    assert seen == ["before", True, True]
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kw"):
        optimizer.step()


def test_hooks_of_all_optimizers_run_around_those_of_one():
    _, optimizer = made("SGD", lr=0.1)
    seen = []
    handles = [
        base.register_optimizer_step_pre_hook(lambda *_: seen.append("all, before")),
        base.register_optimizer_step_post_hook(lambda *_: seen.append("all, after")),
        optimizer.register_step_pre_hook(lambda *_: seen.append("before")),
        optimizer.register_step_post_hook(lambda *_: seen.append("after")),
    ]
    optimizer.step()
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert seen == ["all, before", "before", "after", "all, after"]


def test_hooks_around_state_dicts():
    _, optimizer = made("SGD", lr=0.1)
    seen = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    state = optimizer.state_dict()
    assert seen == ["first", "second"] and state["extra"] == 1

    def halve(o, state):
        state["param_groups"][0]["lr"] /= 2

    optimizer.register_load_state_dict_pre_hook(halve)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(state)
    assert seen[-1] == 0.05


def test_an_optimizer_of_ones_own_gets_the_hooks():
    class Own(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 1.0})

        def step(self, closure=None):
            return "stepped"

    optimizer = Own([t.ones(1)])
    seen = []
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    assert optimizer.step() == "stepped" and seen == [1]


# ---- other states for the length of a with ----
def test_parameters_and_states_swapped_in():
    params, optimizer = made("Adam", lr=0.1)
    run(params, optimizer, 2)
    before = [param.tolist() for param in params]
    others = {str(i): p for i, p in enumerate(parameters(t))}
    state = copy.deepcopy(optimizer.state_dict())
    with optim.swap_in_optimizer_params_and_state(optimizer, others, state):
        run(list(others.values()), optimizer, 1)
    assert [param.tolist() for param in params] == before
    assert optimizer.param_groups[0]["params"] == params
    assert optimizer.state[params[0]]["step"].item() == 2
    with (
        pytest.raises(RuntimeError, match="different number of params than the live optimizer"),
        optim.swap_in_optimizer_params_and_state(
            optimizer, others, {**state, "param_groups": [{"params": [0]}]}
        ),
    ):
        pass


def test_warnings_are_silent_by_default():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        params, optimizer = made("AdamW")
        run(params, optimizer, 2)


@pytest.mark.parametrize("name", ["RAdam", "Adadelta", "NAdam", "Adamax"])
def test_a_parameter_without_dimensions_comes_first(name):
    """A list that begins with it is a list of tensors, not of numbers."""

    def trained(foreach):
        params = [t.tensor(1.5, requires_grad=True), t.full((4, 1, 2), -0.5, requires_grad=True)]
        optimizer = getattr(optim, name)(params, lr=0.1, foreach=foreach)
        for _ in range(8):
            optimizer.zero_grad()
            sum((p * p).sum() for p in params).backward()
            optimizer.step()
        return params

    for got, expected in zip(trained(True), trained(False)):
        assert t.allclose(got, expected, rtol=1e-6)
