"""Every layer against PyTorch's: arguments, printed form, members, random numbers, results.

A result is compared as soon as the operators behind the layer exist; until then the test is
skipped and names what is missing.
"""

import copy
import importlib
import inspect
import pickle
import warnings

import pytest
from absent_operators import skipped_without_operator
from layer_samples import SAMPLES, inputs, made

import taeda

ABSTRACT = {"Module", "RNNBase", "RNNCellBase", "Container", "DataParallel"}
CALLS = [call for call, _ in SAMPLES]
RUNS = [sample for sample in SAMPLES if sample[1] is not None]


def layer(t, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(t, call)


def classes(t):
    return sorted(
        name
        for name, value in vars(t.nn).items()
        if isinstance(value, type) and issubclass(value, t.nn.Module)
    )


def test_every_layer_exists(torch):
    assert set(classes(torch)) == set(classes(taeda))


def test_samples_have_every_layer():
    sampled = {call.split("(")[0] for call in CALLS}
    containers = {"ParameterList", "ParameterDict", "NLLLoss2d"}
    assert set(classes(taeda)) - sampled <= ABSTRACT | containers


@pytest.mark.parametrize("name", classes(taeda))
def test_arguments(torch, name):
    def arguments(t):
        kinds = inspect.signature(getattr(t.nn, name).__init__).parameters.values()
        return [(p.name, p.kind, repr(p.default).split(" at ")[0]) for p in kinds]

    assert arguments(taeda) == arguments(torch)


@pytest.mark.parametrize("name", classes(taeda))
def test_constants_and_version(torch, name):
    ours, theirs = getattr(taeda.nn, name), getattr(torch.nn, name)
    assert ours._version == theirs._version
    assert getattr(ours, "__constants__", []) == getattr(theirs, "__constants__", [])
    if name in ABSTRACT:
        return
    assert inspect.signature(ours.forward).parameters.keys() == (
        inspect.signature(theirs.forward).parameters.keys()
    )


@pytest.mark.parametrize("call", CALLS)
def test_printed_form(torch, call):
    assert repr(layer(taeda, call)) == repr(layer(torch, call))


@pytest.mark.parametrize("call", CALLS)
def test_members(torch, call):
    def members(t):
        made = layer(t, call)
        lazy = t.nn.parameter.is_lazy
        parameters = [
            (name, None if lazy(p) else tuple(p.shape)) for name, p in made.named_parameters()
        ]
        state = [
            (name, str(v.dtype).split(".")[-1], None if lazy(v) else tuple(v.shape))
            for name, v in made.state_dict().items()
        ]
        own = (list(made._parameters), list(made._buffers), list(made._modules))
        return parameters, state, own

    assert members(taeda) == members(torch)


@pytest.mark.parametrize("call", CALLS)
def test_attributes(torch, call):
    def attributes(t):
        values = vars(layer(t, call)).items()
        plain = (int, float, str, bool, tuple, list, type(None))
        return {k: v for k, v in values if isinstance(v, plain) and k[0] != "_"}

    assert attributes(taeda) == attributes(torch)


def dispatch_mode(t):
    return importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode


@pytest.mark.parametrize("call", CALLS)
def test_random_numbers_are_drawn_in_order(torch, call):
    def draws(t):
        seen = []

        class Record(dispatch_mode(t)):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                name = function.name().split("::")[1]
                if name in ("uniform_", "normal_"):
                    seen.append((name, tuple(args[0].shape), [round(v, 6) for v in args[1:]]))
                return function(*args, **(kwargs or {}))

        with Record():
            layer(t, call)
        return seen

    assert draws(taeda) == draws(torch)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [element for part in value for element in flat(part)]
    return [] if value is None else [value]


def results(ours, theirs, text, torch):
    """(ours, theirs) of a call with the same state and inputs."""
    given = inputs(taeda, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs(*inputs(torch, text))
        with skipped_without_operator():
            ours(*given)  # lazy layers get their shapes
            state = {name: taeda.tensor(v.tolist()) for name, v in theirs.state_dict().items()}
            ours.load_state_dict(state)
            result = ours(*inputs(taeda, text))
    return flat(result), flat(expected)


@pytest.mark.parametrize("call, text", RUNS, ids=[call for call, _ in RUNS])
def test_results(torch, call, text):
    ours, expected = results(layer(taeda, call), layer(torch, call), text, torch)
    assert len(ours) == len(expected)
    for result, wanted in zip(ours, expected):
        result = torch.tensor(result.tolist(), dtype=wanted.dtype).reshape(tuple(result.shape))
        torch.testing.assert_close(result, wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("call", CALLS)
def test_copies(call):
    first = layer(taeda, call)
    for second in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert repr(second) == repr(first)
        pairs = zip(first.state_dict().items(), second.state_dict().items())
        for (name, value), (other, copied) in pairs:
            assert name == other and value is not copied
            if not taeda.nn.parameter.is_lazy(value):
                assert taeda.equal(value, copied)
