"""The example of a quantized weight: results, gradients of inputs, memory, state."""

import importlib.util
import pathlib

import pytest
from taeda.utils._python_dispatch import TorchDispatchMode

import taeda
from taeda import nn

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "quantized_linear.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("quantized_linear", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_and_gradients_are_those_of_the_rounded_weight(example):
    taeda.manual_seed(0)
    layer = nn.Linear(8, 5)
    x = taeda.randn(3, 8, requires_grad=True)
    example.quantize_(layer)
    rounded = layer.weight.dequantize()
    assert type(layer.weight) is example.Int8Weight and layer.weight.values.dtype is taeda.int8
    result = layer(x)
    assert type(result) is taeda.Tensor
    assert taeda.allclose(result, x @ rounded.t() + layer.bias, atol=1e-6)
    result.sum().backward()
    assert type(x.grad) is taeda.Tensor
    assert taeda.allclose(x.grad, taeda.ones(3, 5) @ rounded, atol=1e-6)
    assert layer.weight.grad is None and layer.bias.grad.tolist() == [3] * 5


def test_no_float_weight_is_made_for_the_product(example):
    made = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if example.Int8Weight in types:
                return NotImplemented
            made.append(str(func))
            return func(*args, **(kwargs or {}))

    layer = example.quantize_(nn.Linear(8, 5, bias=False))
    with Sizes():
        layer(taeda.ones(2, 8))
    assert made.count("aten.mm.default") == 1
    # The scale meets the result of the product, not the weight.
    assert made.index("aten.mm.default") < made.index("aten.mul.Tensor")


def test_weights_take_a_quarter_of_the_memory(example):
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    before = example.weight_bytes(model)
    assert before * 0.25 < example.weight_bytes(example.quantize_(model)) < before * 0.3


def test_the_model_prints_and_runs(example, capsys):
    example.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("weights: 655360 bytes, then 16")
    assert float(lines[1].split()[-1]) < 0.02
