"""Shows a model what eight bits would do to it: its layers get inputs rounded to 256 values.

    y = linear(x)      →      q = quantize(x, scale, zero); d = dequantize(q, scale, zero)
                              y = linear(d)

`calibrate` runs examples and returns the range of each value; `insert_quantize_dequantize` puts the
pairs before the nodes that a rule chooses.
"""

import taeda
from taeda.fx.graph_module import GraphModule
from taeda.fx.interpreter import Interpreter

__all__ = ["calibrate", "dequantize", "insert_quantize_dequantize", "quantize"]

_LOW, _HIGH = -128, 127


def quantize(x, scale, zero_point):
    """int8 values: x / scale + zero_point, rounded and clamped."""
    return (taeda.round(x / scale) + zero_point).clamp(_LOW, _HIGH).to(taeda.int8)


def dequantize(q, scale, zero_point):
    """The numbers that int8 values stand for."""
    return (q.to(taeda.float32) - zero_point) * scale


class _Ranges(Interpreter):
    def __init__(self, module, ranges):
        super().__init__(module)
        self._ranges = ranges

    def run_node(self, n):
        result = super().run_node(n)
        if isinstance(result, taeda.Tensor) and result.is_floating_point() and result.numel():
            low, high = result.min().item(), result.max().item()
            if n in self._ranges:
                low, high = min(low, self._ranges[n][0]), max(high, self._ranges[n][1])
            self._ranges[n] = (low, high)
        return result


def calibrate(module, examples):
    """{node: (smallest, largest)} over runs on example arguments, each a tuple."""
    ranges = {}
    with taeda.no_grad():
        for example in examples:
            _Ranges(module, ranges).run(*example)
    return ranges


def _parameters(low, high):
    """(scale, zero_point) such that 0 is one of the 256 values."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (_HIGH - _LOW) or 1.0
    return scale, max(_LOW, min(_HIGH, round(_LOW - low / scale)))


def _is_layer(module, node):
    return node.op == "call_module" and isinstance(
        module.get_submodule(node.target), taeda.nn.Linear
    )


def insert_quantize_dequantize(module, ranges, is_chosen=None):
    """A module whose chosen nodes (by default calls of Linear) read rounded inputs.

    `is_chosen(node)` chooses; a value that several chosen nodes read is rounded once.
    """
    graph, rounded = module.graph, {}
    chosen = [n for n in graph.nodes if (is_chosen(n) if is_chosen else _is_layer(module, n))]
    for node in chosen:
        for value in node.all_input_nodes:
            if value not in ranges:
                continue
            if value not in rounded:
                scale, zero_point = _parameters(*ranges[value])
                with graph.inserting_after(value):
                    q = graph.call_function(quantize, (value, scale, zero_point))
                with graph.inserting_after(q):
                    rounded[value] = graph.call_function(dequantize, (q, scale, zero_point))
            node.replace_input_with(value, rounded[value])
    graph.lint()
    return GraphModule(module, graph, type(module).__name__)
