"""The compiler of graphs: a GraphModule becomes kernels and library calls that run from C++.

    gm = taeda.fx.experimental.proxy_tensor.make_fx(f, tracing_mode="symbolic")(x)
    compiled = taeda._inductor.compile(gm, [x])
    compiled(x)

Kernels are interpreted at once, while the system's compiler builds native ones; each is swapped in
when it is there, and no bit changes. `native` is "background", "wait" or "never".
"""

from operator import attrgetter

from taeda import _C
from taeda.utils import _pytree as pytree

__all__ = ["CompiledModule", "compile", "compile_fx"]


def _attributes(gm):
    """What the graph of a GraphModule reads by name."""
    names = [node.target for node in gm.graph.find_nodes(op="get_attr")]
    return {name: attrgetter(name)(gm) for name in names}


def _placeholder_inputs(gm, example_inputs):
    """The graph's own examples, symbolic sizes and all, where it has them."""
    nodes = list(gm.graph.find_nodes(op="placeholder"))
    if len(nodes) != len(example_inputs):
        raise TypeError(f"the graph has {len(nodes)} inputs, but {len(example_inputs)} were given")
    inputs = []
    for node, given in zip(nodes, example_inputs, strict=True):
        val = node.meta.get("val", given)
        if isinstance(val, _C.Tensor) and isinstance(given, _C.Tensor) and val is not given:
            val = val.detach().requires_grad_(given.requires_grad)
        inputs.append(val)
    return inputs


class CompiledModule:
    """A compiled graph: called with the graph's inputs, it gives the graph's results."""

    def __init__(self, gm, example_inputs):
        result = gm.graph.output_node().args[0]
        _, self._structure = pytree.tree_flatten(result, is_leaf=lambda x: x is None)
        self._plan = _C._inductor.compile(
            gm.graph, _placeholder_inputs(gm, example_inputs), _attributes(gm)
        )

    def __call__(self, *args):
        return pytree.tree_unflatten(self._plan(args), self._structure)

    def compile_native(self):
        """Compiles every kernel with the system's compiler and waits for it."""
        self._plan.compile_native()

    def text(self):
        """The kernels and calls in the order in which they run, and what the backward gets."""
        return self._plan.text()

    def report(self):
        """A dict per plan (inference; or forward and backward): kernels, calls, arena."""
        return self._plan.report()


def compile(gm, example_inputs, *, native="background"):
    """Compiles a GraphModule of operators for inputs like these.

    Sizes that are symbolic in the graph stay so. Inputs that require gradients have them: the
    joint graph is cut, and both parts are compiled.
    """
    if native not in ("background", "wait", "never"):
        raise ValueError(f'native is "background", "wait" or "never", not {native!r}')
    compiled = CompiledModule(gm, list(example_inputs))
    if native == "background":
        compiled._plan.start_native()
    elif native == "wait":
        compiled.compile_native()
    return compiled


compile_fx = compile
