"""Counts the floating point operations of matrix products and convolutions, by module and operator.

    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    print(counter.get_table())

A product of (m, k) and (k, n) counts 2 * m * k * n, a convolution each multiplication and addition
with an element of its weight; everything else counts nothing, unless a
formula is given for it. What is made of these products (matmul, linear, einsum) counts by its
parts, in forward and backward.
"""

from collections import defaultdict
from math import prod

from taeda import _C
from taeda._ops import ops
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_map
from taeda.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

# packet -> formula(*shapes and other arguments, out_shape=...)
flop_registry = {}


def _shape(value):
    return value.shape if isinstance(value, _C.Tensor) else value


def _on_shapes(formula):
    """A formula of shapes as one of tensors."""

    def count(*args, out_val=None, **kwargs):
        args, kwargs, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return count


def register_flop_formula(targets, get_raw=False):
    """Decorates the formula of one or more packets.

    It gets the call's arguments with shapes in place of tensors and `out_shape`; with `get_raw` the
    tensors themselves and `out_val`.
    """

    def register(formula):
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _on_shapes(formula)
        return formula

    return register


@register_flop_formula(ops.aten.mm)
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Multiplications and additions of a matrix product."""
    m, k = a_shape
    return 2 * m * k * b_shape[1]


@register_flop_formula(ops.aten.bmm)
def bmm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Those of a batch of matrix products."""
    batch, m, k = a_shape
    return 2 * batch * m * k * b_shape[2]


@register_flop_formula(ops.aten.addmm)
def addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Those of the product; the sum is not counted."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(ops.aten.baddbmm)
def baddbmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Those of the products; the sum is not counted."""
    return bmm_flop(a_shape, b_shape)


def _conv_flop_count(x_shape, weight_shape, out_shape, transposed):
    """Every place of a plain convolution's result meets the whole weight of a channel."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * prod(places) * prod(weight_shape)


@register_flop_formula([ops.aten.convolution, ops.aten._convolution])
def conv_flop(
    x_shape,
    weight_shape,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    *args,
    out_shape=None,
    **kwargs,
):
    """Multiplications and additions of a convolution; the bias is not counted."""
    return _conv_flop_count(x_shape, weight_shape, out_shape, transposed)


@register_flop_formula(ops.aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape,
    x_shape,
    weight_shape,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
    out_shape=None,
):
    """Those of the gradients for input and weight, the latter as if there were one group."""
    total = 0
    if output_mask[0]:
        total += _conv_flop_count(grad_out_shape, weight_shape, x_shape, not transposed)
    if output_mask[1]:
        places = prod((x_shape if transposed else grad_out_shape)[2:])
        channels = x_shape[1] * grad_out_shape[1]
        total += 2 * x_shape[0] * channels * prod(weight_shape[2:]) * places
    return total


@register_flop_formula(ops.aten._scaled_dot_product_flash_attention_for_cpu)
def sdpa_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Those of scores and of their products with the values; softmax is not counted."""
    batch, heads, queries, width = query_shape
    return 2 * batch * heads * queries * key_shape[2] * (width + value_shape[3])


@register_flop_formula(ops.aten._scaled_dot_product_flash_attention_for_cpu_backward)
def sdpa_backward_flop(
    grad_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs
):
    """Scores once more, gradients of scores and values, gradients of queries and keys."""
    batch, heads, queries, width = query_shape
    return 2 * batch * heads * queries * key_shape[2] * (3 * width + 2 * value_shape[3])


class _Counting(TorchDispatchMode):
    """The mode behind a counter."""

    def __init__(self, counter):
        self.counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.counter._count(func.overloadpacket, result, args, kwargs)
        return result


class FlopCounterMode:
    """Counts while it is entered; each `with` starts at zero.

    Modules that run inside are counted each, in forward and backward, down to `depth` in the table.
    `custom_mapping` gives further formulas, packet -> function. With `display` the table is printed
    at the end.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        if mods is not None:
            import warnings

            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.depth = depth
        self.display = display
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        own = {packet: _on_shapes(formula) for packet, formula in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()
        self.mode = None

    def __enter__(self):
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exception):
        self.mode.__exit__(*exception)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self):
        """The sum over all operators."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{"Global": {packet: count}, module: {packet: count}, ...}."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as text: a line per module and a line per operator in it."""
        total = self.get_total_flops()
        if not total:
            return _table([("Global", "0", "0%")])
        depth = self.depth if depth is None else depth
        unit = _unit(total)

        def lines(name, padding):
            counts = self.flop_counts[name]
            entries = [(name, sum(counts.values())), *((f" - {p}", n) for p, n in counts.items())]
            return [(padding + text, _scaled(n, unit), f"{n / total:.2%}") for text, n in entries]

        names = sorted(name for name in self.flop_counts if name != "Global")
        shown = [name for name in names if depth is None or name.count(".") < depth]
        # A module that does it all stands for the whole.
        is_global_shown = all(sum(self.flop_counts[name].values()) < total for name in shown)
        rows = lines("Global", "") if is_global_shown else []
        for name in shown:
            rows += lines(name, " " * (name.count(".") + is_global_shown))
        return _table(rows)

    def _count(self, packet, result, args, kwargs):
        formula = self.flop_registry.get(packet)
        if not formula:
            return
        count = formula(*args, **kwargs, out_val=result)
        for name in self.mod_tracker.parents:
            self.flop_counts[name][packet] += count


# ---- text ----
_UNITS = ("", "K", "M", "B", "T")


def _unit(number):
    """The power of a thousand that leaves a number from 10 on before the point."""
    power = 0
    while power + 1 < len(_UNITS) and number >= 10 * 1000 ** (power + 1):
        power += 1
    return power


def _scaled(number, unit):
    return f"{number / 1000**unit:.3f}{_UNITS[unit]}"


def _table(rows):
    rows = [("Module", "FLOP", "% Total"), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        f"{name:<{widths[0]}}  {flops:>{widths[1]}}  {share:>{widths[2]}}".rstrip()
        for name, flops, share in rows
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
