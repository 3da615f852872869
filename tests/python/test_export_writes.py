"""What a program writes to: parameters, constants, attributes; modes and containers of its caller."""

import dataclasses
import warnings

import pytest
from exported_forms import reloaded
from taeda.export.graph_signature import OutputKind

import taeda
from taeda import nn
from taeda.export import UserError, export, register_dataclass


class Writing(nn.Module):
    """A parameter that `write` changes before it is used."""

    def __init__(self, write):
        super().__init__()
        self.w = nn.Parameter(taeda.ones(3))
        self.write = write

    def forward(self, x):
        self.write(self.w, x)
        return x * self.w


def without_gradients(w, x):
    with taeda.no_grad():
        w.add_(1)


def through_data(w, x):
    w.data.add_(1)


def through_detach(w, x):
    w.detach().add_(1)


# ---- parameters ----
@pytest.mark.parametrize("write", [without_gradients, through_data, through_detach])
def test_a_write_to_a_parameter_is_lowered(write):
    program = export(Writing(write), (taeda.ones(3),))
    lowered = program.run_decompositions()
    assert [s.kind for s in lowered.graph_signature.output_specs] == [
        OutputKind.PARAMETER_MUTATION,
        OutputKind.USER_OUTPUT,
    ]
    assert list(lowered.graph_signature.parameters_to_mutate.values()) == ["w"]
    for form in (program, lowered, reloaded(program), reloaded(lowered)):
        with taeda.no_grad():
            form.state_dict["w"].fill_(1)
        module = form.module()
        assert module(taeda.ones(3)).tolist() == [2, 2, 2]
        assert module(taeda.ones(3)).tolist() == [3, 3, 3]
        assert module.w.tolist() == [3, 3, 3] and module.w.is_leaf and module.w.requires_grad


def test_a_write_to_a_parameter_keeps_gradients_of_the_rest():
    module = export(Writing(without_gradients), (taeda.ones(3),)).run_decompositions().module()
    module(taeda.full((3,), 2.0)).sum().backward()
    assert module.w.grad.tolist() == [2, 2, 2]


def test_a_leaf_that_requires_gradients_is_not_written():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        export(Writing(lambda w, x: w.add_(1)), (taeda.ones(3),))


def test_a_frozen_parameter_is_written():
    module = Writing(lambda w, x: w.add_(1))
    module.w.requires_grad_(False)
    lowered = export(module, (taeda.ones(3),)).run_decompositions()
    assert lowered.module()(taeda.ones(3)).tolist() == [2, 2, 2]


# ---- constants ----
class Constant(nn.Module):
    def __init__(self, is_used=True):
        super().__init__()
        self.c = taeda.ones(3)
        self.unused = taeda.ones(3)

    def forward(self, x):
        return x * self.c


def test_constants_are_inputs_where_they_are_used_and_no_state():
    program = export(Constant(), (taeda.ones(3),))
    assert program.graph_signature.lifted_tensor_constants == ("c",)
    module = program.module()
    assert dict(module.state_dict()) == {}
    assert taeda.equal(module.c, taeda.ones(3))


def test_hidden_buffers_are_no_state():
    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("shown", taeda.ones(2))
            self.register_buffer("hidden", taeda.ones(2), persistent=False)

        def forward(self, x):
            return x + self.shown + self.hidden

    assert list(export(Hidden(), (taeda.ones(2),)).module().state_dict()) == ["shown"]


def test_a_write_to_a_constant_cannot_be_lowered():
    class Counting(Constant):
        def forward(self, x):
            self.c.add_(1)
            return x * self.c

    program = export(Counting(), (taeda.ones(3),))
    message = "Constant c is mutated in the forward method. Pls register it as buffer"
    with pytest.raises(RuntimeError, match=message):
        program.run_decompositions()


def test_an_assigned_constant_is_lost_with_a_warning():
    class Assigning(Constant):
        def forward(self, x):
            self.c = x + 1
            self.new = x + 2
            return x * self.c

    module = Assigning()
    with pytest.warns(UserWarning, match=r"self\.c, self\.new were assigned during export"):
        program = export(module, (taeda.ones(3),))
    assert program.module()(taeda.ones(3)).tolist() == [2, 2, 2]
    assert module.c.tolist() == [1, 1, 1] and not hasattr(module, "new")


def test_nothing_is_warned_of_where_nothing_is_assigned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export(Constant(), (taeda.ones(3),))


# ---- modes ----
def test_the_grad_mode_of_the_caller_stays():
    def f(x):
        taeda.set_grad_enabled(False)
        return x * 2

    program = export(f, (taeda.ones(3),))
    assert taeda.is_grad_enabled()
    assert not program.module()(taeda.ones(3, requires_grad=True)).requires_grad


# ---- containers ----
def test_dicts_may_have_their_keys_in_another_order():
    module = export(
        lambda d: d["a"] - d["b"], ({"a": taeda.ones(2), "b": taeda.zeros(2)},)
    ).module()
    assert module({"b": taeda.zeros(2), "a": taeda.ones(2)}).tolist() == [1, 1]
    with pytest.raises(ValueError, match="Trying to flatten user inputs"):
        module({"b": taeda.zeros(2), "c": taeda.ones(2)})


@dataclasses.dataclass
class Pair:
    first: taeda.Tensor
    second: taeda.Tensor | None = None
    times: int = 3


register_dataclass(Pair)


def test_leaves_of_dataclasses_are_named_by_their_fields():
    def f(pair):
        return Pair(pair.first * pair.times, pair.first + 1, pair.times + 1)

    program = export(f, (Pair(taeda.ones(2)),))
    assert [s.arg.name for s in program.graph_signature.input_specs] == [
        "pair_first",
        "pair_times",
    ]
    result = program.module()(Pair(taeda.ones(2)))
    assert result.first.tolist() == [3, 3] and result.times == 4


def test_data_that_is_assigned_is_refused():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = nn.Parameter(taeda.zeros(4), requires_grad=False)

        def forward(self, x):
            self.cache.data = self.cache.roll(1) + x
            return self.cache

    with pytest.raises(UserError, match="The data of cache was assigned during export"):
        export(Cache(), (taeda.ones(4),))
