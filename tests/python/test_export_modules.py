"""Modules around exported programs: as arguments, by methods, and what they keep of a trace."""

import io
import warnings
from collections import OrderedDict, defaultdict

import pytest
from taeda._export.utils import sync_state, wrap_method
from taeda.export._module_inputs import read_spec, written_spec
from taeda.utils import _pytree as pytree

import taeda
from taeda import nn
from taeda.export import Dim, export, load, save, unflatten


class Adapter(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.register_buffer("shift", taeda.ones(size))

    def forward(self, x):
        return self.linear(x) + self.shift


class Applying(nn.Module):
    def forward(self, x, adapter, scale=1):
        return adapter(x) * scale


class Summing(nn.Module):
    def forward(self, values):
        return values["a"] - values["b"]


# ---- modules as arguments ----
def test_the_tensors_of_a_module_argument_are_inputs():
    program = export(Applying(), (taeda.randn(3), Adapter(3)))
    names = [n.name for n in program.graph.find_nodes(op="placeholder")]
    assert names == ["x", "adapter_linear_weight", "adapter_linear_bias", "adapter_shift"]
    assert program.state_dict == {}


@pytest.mark.parametrize("again", [lambda p: p, lambda p: p.run_decompositions()])
def test_another_module_of_the_class_can_be_given(again):
    model, x = Applying(), taeda.randn(3)
    program = again(export(model, (x, Adapter(3)))).module()
    other = Adapter(3)
    assert taeda.allclose(program(x, other), model(x, other))


def test_a_module_argument_keeps_its_own_tensors():
    adapter = Adapter(3)
    before = dict(adapter.named_parameters())
    program = export(Applying(), (taeda.randn(3),), {"adapter": adapter}).module()
    program(taeda.randn(3), adapter=adapter)
    assert all(p is before[name] for name, p in adapter.named_parameters())


def test_module_arguments_of_other_sizes_are_refused():
    program = export(Applying(), (taeda.randn(3), Adapter(3))).module()
    with pytest.raises(AssertionError, match="Guard failed: adapter_linear_weight"):
        program(taeda.randn(3), Adapter(4))


def test_the_class_of_a_module_argument_stays_a_leaf_elsewhere():
    adapter = Adapter(3)
    program = export(Applying(), (taeda.randn(3), adapter))
    program.module()(taeda.randn(3), adapter)
    assert pytree.tree_leaves([adapter]) == [adapter]


def saved_and_read(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def test_a_program_with_a_module_argument_can_be_saved():
    model, x, adapter = Applying(), taeda.randn(3), Adapter(3)
    program = saved_and_read(export(model, (x, adapter)))
    other = Adapter(3)
    assert taeda.allclose(program.module()(x, other), model(x, other))
    with pytest.raises(ValueError, match="Trying to flatten user inputs"):
        program.module()(x, nn.Linear(3, 3))


def test_a_program_with_a_module_argument_can_be_saved_twice():
    x, adapter = taeda.randn(3), Adapter(3)
    program = saved_and_read(saved_and_read(export(Applying(), (x,), {"adapter": adapter})))
    assert taeda.allclose(program.module()(x, adapter=adapter), adapter(x))


def test_the_class_of_a_saved_module_argument_must_be_known():
    text = written_spec(export(Applying(), (taeda.randn(3), Adapter(3))).call_spec.in_spec)
    assert "test_export_modules.Adapter" in text
    unknown = text.replace("test_export_modules.Adapter", "no_such_package.Adapter")
    with pytest.raises(NotImplementedError, match=r"Deserializing no_such_package.Adapter in"):
        read_spec(unknown)


def test_a_program_with_a_module_argument_can_be_unflattened():
    x, adapter = taeda.randn(3), Adapter(3)
    module = unflatten(export(Applying(), (x, adapter)))
    assert taeda.allclose(module(x, adapter), adapter(x))


def test_dicts_of_any_kind_stand_for_one_another():
    program = export(Summing(), (defaultdict(int, a=taeda.ones(2), b=taeda.zeros(2)),)).module()
    given = OrderedDict(b=taeda.ones(2), a=taeda.full((2,), 5.0))
    assert program(given).tolist() == [4.0, 4.0]


# ---- methods ----
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", taeda.tensor(10.0))

    def grow(self, x):
        self.total.mul_(2)
        return x + self.total

    def shrink(self, x):
        return x - self.total


def methods_of(counter, x):
    shapes = ({0: Dim.DYNAMIC},)
    return [
        export(wrap_method(m), (x,), dynamic_shapes=shapes).module()
        for m in (counter.grow, counter.shrink)
    ]


def test_programs_of_methods_share_the_tensors_of_their_module():
    counter, x = Counter(), taeda.ones(4)
    grow, shrink = methods_of(counter, x)
    assert counter.total == 10  # tracing writes nothing
    y = taeda.ones(5)
    assert taeda.equal(grow(y), taeda.full((5,), 21.0))
    assert taeda.equal(shrink(y), taeda.full((5,), -19.0))
    assert counter.total == 20


def test_programs_of_different_modules_can_be_joined():
    x = taeda.ones(4)
    grow, shrink = methods_of(Counter(), x)[0], methods_of(Counter(), x)[1]
    sync_state(grow, shrink)
    grow(x)
    assert taeda.equal(shrink(x), taeda.full((4,), -19.0))


def test_only_methods_of_modules_are_wrapped():
    with pytest.raises(TypeError, match="takes a method of a module"):
        wrap_method(taeda.sin)


# ---- what a program keeps ----
def exported_with_leaks(f):
    """The messages of an export that looks for tensors that the program keeps."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with taeda._export.config.patch(detect_non_strict_fake_tensor_leaks=True):
            export(f, (taeda.randn(4),))
    return [str(w.message) for w in caught]


def test_tensors_that_a_program_keeps_are_named_with_their_lines():
    kept = []

    def f(x):
        kept.append(x + 1)
        return x.sin()

    (message,) = exported_with_leaks(f)
    assert message.startswith("Detected 1 fake tensors that are still alive after export")
    assert "test_export_modules.py" in message and "kept.append(x + 1)" in message


def test_a_program_that_keeps_nothing_is_not_warned_of():
    assert exported_with_leaks(lambda x: (x + 1).sin()) == []
