"""Functions of nn.functional have the parameters and defaults of PyTorch's."""

import inspect

import pytest

import taeda

# Operators that are the function themselves have no Python signature, in PyTorch too.
FUNCTIONS = sorted(
    name
    for name, value in vars(taeda.nn.functional).items()
    if inspect.isfunction(value) and not name.startswith("_")
)


def parameters(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_pytorchs(torch, name):
    theirs = getattr(torch.nn.functional, name, None)
    if not inspect.isfunction(theirs) or "args" in inspect.signature(theirs).parameters:
        pytest.skip("no Python function of one signature in PyTorch")
    assert parameters(getattr(taeda.nn.functional, name)) == parameters(theirs)
