"""Tests lazy modules: shapes from the first call or from a state; the file passes on PyTorch."""

import copy
import pickle

import pytest
from under_test import t

nn = t.nn
LAZY = (nn.UninitializedParameter, nn.UninitializedBuffer)


class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A lazy module of our own."""

    def __init__(self):
        super().__init__()
        self.weight = nn.UninitializedParameter()
        self.register_buffer("calls", nn.UninitializedBuffer())

    def initialize_parameters(self, x):
        if self.has_uninitialized_params():
            with t.no_grad():
                self.weight.materialize((x.shape[-1],))
                self.weight.fill_(2)
                self.calls.materialize((1,))
                self.calls.zero_()

    def forward(self, x):
        return x * self.weight


def test_the_first_call_gives_shapes():
    module = nn.LazyLinear(4)
    assert isinstance(module.weight, LAZY) and module.has_uninitialized_params()
    assert module(t.ones(2, 3)).shape == (2, 4)
    assert type(module) is nn.Linear and module.in_features == 3
    assert type(module.weight) is nn.Parameter and module.weight.shape == (4, 3)
    assert not module._forward_pre_hooks and not module._load_state_dict_pre_hooks


def test_a_module_of_ones_own():
    module = Scale()
    assert module(t.ones(3)).tolist() == [2, 2, 2] and type(module) is Scale
    assert module.calls.tolist() == [0] and not module.has_uninitialized_params()


def test_batch_norm():
    module = nn.LazyBatchNorm1d(affine=False)
    module(t.randn(4, 3))
    assert type(module) is nn.BatchNorm1d and module.running_mean.shape == (3,)
    assert module.num_features == 3 and int(module.num_batches_tracked) == 1


def test_the_shape_of_a_lazy_parameter_is_an_error():
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        len(nn.LazyLinear(4).weight.shape)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        nn.LazyLinear(4).weight + 1


def test_the_memory_of_a_lazy_parameter_cannot_be_shared():
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        nn.LazyLinear(4).share_memory()


def test_a_state_gives_shapes():
    module = nn.LazyLinear(4)
    module.load_state_dict(nn.Linear(3, 4).state_dict())
    assert module.weight.shape == (4, 3) and type(module) is nn.LazyLinear
    module(t.ones(1, 3))
    assert type(module) is nn.Linear and module.in_features == 3


def test_a_lazy_state_is_kept():
    module = nn.LazyLinear(4)
    assert all(isinstance(value, LAZY) for value in module.state_dict().values())
    other = nn.LazyLinear(4)
    other.load_state_dict(module.state_dict())
    assert isinstance(other.weight, LAZY)


def test_a_lazy_state_does_not_fit_a_plain_module():
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        nn.Linear(3, 4).load_state_dict(nn.LazyLinear(4).state_dict())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_lazy(copied):
    module = copied(nn.LazyLinear(4))
    assert isinstance(module.weight, LAZY)
    assert module(t.ones(2, 3)).shape == (2, 4) and type(module) is nn.Linear


def test_conversions_before_the_first_call():
    module = nn.LazyLinear(4).double()
    module(t.ones(1, 3, dtype=t.float64))
    assert module.weight.dtype == t.float64


def test_a_module_that_stays_uninitialized():
    class Forgetful(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(t.ones(1))


def test_inputs_of_other_dimensions_are_refused():
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input"):
        nn.LazyConv2d(4, 3)(t.ones(2, 3))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 3, groups=2)(t.ones(1, 3, 5, 5))
