"""Results of programs for tests that compare a compiled one with the plain one."""

import contextlib
import random
import re

import taeda
from taeda.compiler._compile import compile
from taeda.compiler._module import OptimizedModule
from taeda.compiler._testing import AotEagerAndRecordGraphs
from taeda.utils._config_module import dynamo_config as config

__all__ = [
    "InductorAndRecordGraphs",
    "check_dynamic_shape_capture",
    "clone_input",
    "clone_inputs",
    "clone_me",
    "clone_tensor",
    "collect_results",
    "count_calls",
    "disable_cache_limit",
    "empty_line_normalizer",
    "extract_graph",
    "preserve_rng_state",
    "remove_optimized_module_prefix",
    "remove_trailing_space",
    "requires_bwd_pass",
    "reset_rng_state",
    "rmse",
    "strip_comment",
]

_Tensor = taeda.Tensor


class InductorAndRecordGraphs:
    """Compiles graphs and keeps them, as they were captured."""

    def __init__(self):
        self.graphs = []
        self.inductor_graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        compiled = taeda._inductor.compile_open(gm, example_inputs)
        self.inductor_graphs.append(gm)
        return compiled


# ---- copies ----


def clone_me(x):
    """A copy that is a leaf, with the same requires_grad; None stays None."""
    return None if x is None else x.detach().clone().requires_grad_(x.requires_grad)


def clone_tensor(x):
    """A copy with its own gradient, where the tensor has one."""
    copied = x.detach().clone().requires_grad_(x.requires_grad)
    if x.is_leaf and x.grad is not None:
        copied.grad = x.grad.clone()
    return copied


def clone_input(x, *, dtype=None):
    """The same with the strides of the tensor, overlapping ones made plain."""
    copied = clone_tensor(x)
    return copied if dtype is None else copied.to(dtype)


def clone_inputs(example_inputs):
    """Copies of the tensors in a list, a tuple or a dict, and of those in its lists."""
    if isinstance(example_inputs, dict):
        return {name: clone_inputs([value])[0] for name, value in example_inputs.items()}
    return [
        clone_input(value)
        if isinstance(value, _Tensor)
        else type(value)(clone_inputs(value))
        if isinstance(value, (list, tuple))
        else value
        for value in example_inputs
    ]


# ---- results ----


def remove_optimized_module_prefix(name):
    """The name of a parameter in the module that was compiled."""
    return re.sub(r"^_orig_mod[.]", "", name)


def collect_results(model, prediction, loss, example_inputs):
    """Everything that a step of training gives: gradients, parameters, buffers, inputs' gradients.

    A gradient that is missing counts as zero.
    """

    def named(pairs):
        is_compiled = isinstance(model, OptimizedModule)
        return {remove_optimized_module_prefix(n) if is_compiled else n: v for n, v in pairs}

    parameters = named(model.named_parameters())
    grads = {
        f"{name}.grad": taeda.zeros_like(p) if p.grad is None else p.grad
        for name, p in parameters.items()
    }
    results = [prediction, loss, grads, parameters, named(model.named_buffers())]
    for example in example_inputs:
        parts = example if isinstance(example, (tuple, list)) else [example]
        results += [part.grad for part in parts if isinstance(part, _Tensor)]
    return results


def requires_bwd_pass(out):
    """Whether a result has a tensor with gradients."""
    if isinstance(out, _Tensor):
        return out.requires_grad
    if isinstance(out, (list, tuple)):
        return any(map(requires_bwd_pass, out))
    if out is None or isinstance(out, int):
        return False
    raise NotImplementedError("Don't know how to reduce", type(out))


def rmse(ref, res):
    """The root of the mean square of the difference."""
    return (ref - res).square().mean().sqrt()


# ---- graphs ----


def count_calls(g):
    """The calls of a graph."""
    return sum("call" in node.op for node in g.nodes)


def extract_graph(fn, *args, **kwargs):
    """The result of a call, its captured graphs, and the graphs of its forward and backward."""
    backend = AotEagerAndRecordGraphs()
    result = compile(fn, backend=backend)(*args, **kwargs)
    return result, backend.graphs, backend.fw_graphs, backend.bw_graphs


def strip_comment(code):
    """Code without its comments."""
    return re.sub(r"(?m)^ *#.*\n?", "", code)


def remove_trailing_space(code):
    """Code without blanks at the ends of its lines."""
    return "\n".join(line.rstrip() for line in code.split("\n"))


def empty_line_normalizer(code):
    """Code without empty lines."""
    return re.sub(r"[\r\n]+", "\n", code)


# ---- settings ----


def check_dynamic_shape_capture():
    """Whether sizes are symbols from the first call on."""
    return not config.assume_static_by_default


def reset_rng_state(use_xla=False):
    """Seeds the random numbers of tensors and of Python with one number."""
    taeda.manual_seed(1337)
    random.seed(1337)


@contextlib.contextmanager
def preserve_rng_state():
    """A scope that leaves the random numbers of tensors as they were."""
    state = taeda.get_rng_state()
    try:
        yield
    finally:
        taeda.set_rng_state(state)


def disable_cache_limit():
    """A scope in which functions are compiled as often as they need it."""
    return config.patch(recompile_limit=2**31 - 1, accumulated_recompile_limit=2**31 - 1)
