"""Functions and modules that are traced at their first call and compiled, with their gradients."""

import contextlib
import functools
import itertools
import threading

import taeda
from taeda import _C
from taeda.amp._backward_scope import backward_scope
from taeda.compiler._counters import counters
from taeda.func.modules import functional_call
from taeda.fx._lazy_graph_module import _use_lazy_graph_module
from taeda.fx.aot._callbacks import Functions
from taeda.fx.aot.partitioners import default_partition, min_cut_rematerialization_partition
from taeda.fx.control_flow._regions import with_regions, with_submodules
from taeda.fx.fake.tensors import FakeTensor, FakeTensorMode
from taeda.fx.graph_module import GraphModule
from taeda.fx.interpreter import Interpreter
from taeda.utils import _pytree as pytree
from taeda.utils._compile_logs import is_wanted, print_log
from taeda.utils._config_module import functorch_config
from taeda.utils._wrapper_subclass import is_traceable_wrapper_subclass

__all__ = [
    "AOT_COUNTER",
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "get_aot_compilation_context",
    "get_aot_graph_name",
    "get_graph_being_compiled",
    "make_boxed_compiler",
    "make_boxed_func",
]


# Numbers of compiled programs, in their order.
AOT_COUNTER = itertools.count()

# ---- functions that take the list of their arguments ----


def make_boxed_func(f):
    """The function with one argument, the list of its arguments, which it may empty."""

    def boxed(args):
        return f(*args)

    boxed._boxed_call = True
    return boxed


def make_boxed_compiler(compiler):
    """A compiler whose functions take one list."""

    def boxed_compiler(gm, example_inputs):
        return make_boxed_func(compiler(gm, example_inputs))

    return boxed_compiler


def as_boxed(f):
    """The function as one of a list, whatever it is."""
    return f if getattr(f, "_boxed_call", False) else make_boxed_func(f)


# ---- what is going on ----


class _Now(threading.local):
    names = ()


_now = _Now()


def get_aot_compilation_context():
    """Names of the graph that is being compiled on this thread, its module and its number."""
    return list(_now.names), "model", 0


def get_graph_being_compiled():
    """The name of that graph; empty where none is."""
    return "_".join(_now.names)


def get_aot_graph_name():
    """The same with its module and its number."""
    names, model, number = get_aot_compilation_context()
    return f"{model}__{'_'.join(names)}_{number}"


@contextlib.contextmanager
def _compiling(name):
    before, _now.names = _now.names, (name,)
    try:
        yield
    finally:
        _now.names = before


# ---- compilation ----


def _graph_module(graph, attributes):
    root = with_submodules(graph)
    for name, value in attributes.items():
        setattr(root, name, value)
    return GraphModule(root, graph)


def _examples(gm):
    return [node.meta.get("val") for node in gm.graph.find_nodes(op="placeholder")]


def _mark_backward(graph):
    for node in graph.nodes:
        if node.op in ("call_function", "get_attr"):
            node.meta["autograd_backward"] = True


def _graph_compiler(compiler, name):
    """Takes a graph as C++ has it."""

    def compile_graph(graph, attributes):
        gm = _graph_module(graph, attributes)
        if name == "backward":
            _mark_backward(gm.graph)
        with _compiling(name), _use_lazy_graph_module(False):
            made = as_boxed(compiler(gm, _examples(gm)))

        def run(inputs):
            results = made(inputs)
            return results if isinstance(results, (list, tuple)) else [results]

        return run

    return compile_graph


def _cutter(partition_fn):
    """A partition function as C++ calls it; None where C++ cuts."""
    if partition_fn in (default_partition, min_cut_rematerialization_partition):
        return None

    def cut(graph, attributes, num_values):
        gm = _graph_module(graph, attributes)
        forward, backward = partition_fn(gm, _examples(gm), num_fwd_outputs=num_values)
        return with_regions(forward), with_regions(backward)

    return cut


def _fake_mode_for(leaves, dynamic):
    for leaf in leaves:
        if isinstance(leaf, FakeTensor):
            return leaf.fake_mode
    from taeda.fx.symbolic.shape_env import ShapeEnv

    return FakeTensorMode(
        allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=not dynamic
    )


class Compiled:
    """A function of leaves, traced and compiled for leaves like those given.

    Tensors are inputs of the graphs; what is no tensor is part of the program and must be the same
    at every call.
    """

    def __init__(self, function, leaves, compilers, dynamic=False):
        counters["aot_autograd"]["total"] += 1
        functions = Functions()
        kept = {name: functions.kept_by(compilers[name]) for name in _COMPILERS}
        while True:
            program, inputs, settings = self._prepared(
                function, leaves, dynamic, has_values=bool(functions.called_back)
            )
            try:
                with functions.watched():
                    self.compiled = _C._aot.compile(
                        program, inputs, {**settings, **compilers, **kept}
                    )
                break
            except Exception as error:
                has_values = not any(isinstance(leaf, FakeTensor) for leaf in leaves)
                if not has_values or not functions.failed(error):
                    raise
        counters["aot_autograd"]["ok"] += 1
        if is_wanted("aot"):
            cut = self.compiled.partition_report or "no input needs a gradient: one graph\n"
            print_log("aot", f"\n{cut.rstrip()}")

    def _prepared(self, function, leaves, dynamic, has_values=False):
        """The program as C++ calls it, its inputs and the settings of the trace.

        has_values: values of tensors are computed along.
        """
        from taeda._functorch import aot_autograd

        self._is_tensor = [isinstance(leaf, taeda.Tensor) for leaf in leaves]
        # Numbers that change are symbols here.
        self._is_input = [
            is_tensor or isinstance(leaf, (taeda.SymInt, taeda.SymFloat, taeda.SymBool))
            for leaf, is_tensor in zip(leaves, self._is_tensor)
        ]
        self._constants = [leaf for leaf, is_input in zip(leaves, self._is_input) if not is_input]
        mode = _fake_mode_for(leaves, dynamic)
        if has_values:
            mode.compute_values()
        inputs = self._given(leaves)
        fakes = [_fake(leaf, f"L['arg{i}']", mode) for i, leaf in enumerate(inputs)]

        # Kept by what is compiled, which therefore does not hold itself.
        kept, are_inputs = self._constants, self._is_input

        def program(values):
            values, constants = iter(values), iter(kept)
            return function([next(values if is_input else constants) for is_input in are_inputs])

        number = next(aot_autograd.AOT_COUNTER)
        # Who traces fake tensors compares later inputs.
        checks_inputs = not any(isinstance(leaf, FakeTensor) for leaf in inputs)
        return (
            program,
            inputs,
            {
                "fake_mode": mode,
                "fakes": fakes,
                "number": number,
                "checks_inputs": checks_inputs,
            },
        )

    def _given(self, leaves):
        return [leaf for leaf, is_input in zip(leaves, self._is_input) if is_input]

    def __call__(self, leaves):
        """The leaves of the results."""
        if [isinstance(leaf, taeda.Tensor) for leaf in leaves] != self._is_tensor:
            raise RuntimeError("the program was compiled for tensors at other places")
        others = [leaf for leaf, is_input in zip(leaves, self._is_input) if not is_input]
        for was, now in zip(self._constants, others):
            if not _is_same(was, now):
                raise RuntimeError(f"the program was compiled for {was!r} and is given {now!r}")
        return self.compiled(self._given(leaves))


def _is_same(was, now):
    """Whether a program that was traced with one constant is right for the other."""
    if was is now:
        return True
    if type(was) is not type(now):
        return False
    if isinstance(was, (float, complex)):
        return repr(was) == repr(now)  # 0.0 is not -0.0, and nan is nan
    return was == now


def _fake(leaf, source, mode):
    """The tensor with symbols for sizes; None where its own are constants."""
    if isinstance(leaf, FakeTensor) or mode.static_shapes or not isinstance(leaf, taeda.Tensor):
        return None
    return mode.from_tensor(leaf, source=source)


_COMPILERS = ("forward", "backward", "inference")


def compiler_options(
    fw_compiler,
    bw_compiler=None,
    inference_compiler=None,
    partition_fn=default_partition,
    decompositions=None,
    keeps_writes=False,
):
    """The options of `_C._aot.compile`."""
    return {
        "forward": _graph_compiler(fw_compiler, "forward"),
        "backward": _graph_compiler(bw_compiler or fw_compiler, "backward"),
        "inference": _graph_compiler(inference_compiler or fw_compiler, "inference"),
        "cut": _cutter(partition_fn),
        "keeps_writes": keeps_writes,
        "recomputes": partition_fn is min_cut_rematerialization_partition,
        "memory_budget": functorch_config.activation_memory_budget,
        **trace_options(decompositions),
    }


def trace_options(decompositions=None):
    """Those that the trace reads."""
    scope = backward_scope(functorch_config.backward_pass_autocast)
    return {"backward_scope": scope, "decompositions": decompositions}


class _Parts:
    """A result of the traced program: itself, or what is in a wrapper that was made inside: its
    tensors, then its sizes and strides that are symbols.

    The trace does not see such a wrapper made, but what it holds. One that requires gradients has
    a history of its own and stays whole.
    """

    def __init__(self, result, may_open):
        self.kind = None
        self.leaves = [result]
        if not may_open or not is_traceable_wrapper_subclass(result) or result.requires_grad:
            return
        self.kind = type(result)
        self.names, self.context = result.__tensor_flatten__()
        self.inner = [_Parts(getattr(result, name), True) for name in self.names]
        self.leaves = [leaf for part in self.inner for leaf in part.leaves]
        numbers = (*result.size(), *result.stride())
        self.leaves += [number for number in numbers if isinstance(number, taeda.SymInt)]
        # None where a run gives the number.
        self.numbers = [None if isinstance(n, taeda.SymInt) else n for n in numbers]
        # Lives as long as the compiled function, which the tensors of a trace must not.
        for part in self.inner:
            part.leaves = None

    def joined(self, leaves):
        """The result of a run, of the next of these leaves."""
        if self.kind is None:
            return next(leaves)
        inner = {name: part.joined(leaves) for name, part in zip(self.names, self.inner)}
        numbers = [next(leaves) if n is None else n for n in self.numbers]
        size, stride = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        return self.kind.__tensor_unflatten__(inner, self.context, taeda.Size(size), tuple(stride))


def _small_sizes(leaves):
    """The sizes 0 and 1, which are constants of a trace; None in place of others."""
    return tuple(
        tuple(size if isinstance(size, int) and size < 2 else None for size in leaf.shape)
        for leaf in leaves
        if isinstance(leaf, taeda.Tensor)
    )


def _version(function, leaves, in_spec, compilers, dynamic):
    """The function of leaves, traced and compiled for leaves like these."""
    out_spec, parts = None, ()

    def program(values):
        nonlocal out_spec, parts
        args, kwargs = pytree.tree_unflatten(values, in_spec)
        results, out_spec = pytree.tree_flatten(function(*args, **kwargs))
        made_inside = not any(map(is_traceable_wrapper_subclass, values))
        parts = [_Parts(result, made_inside) for result in results]
        made = [leaf for part in parts for leaf in part.leaves]
        for part in parts:
            part.leaves = None
        return made

    compiled = Compiled(program, leaves, compilers, dynamic)

    def run(leaves):
        given = iter(compiled(leaves))
        return pytree.tree_unflatten([part.joined(given) for part in parts], out_spec)

    return run


def aot_function(
    fn,
    fw_compiler,
    bw_compiler=None,
    partition_fn=default_partition,
    decompositions=None,
    num_params_buffers=0,
    keep_inference_input_mutations=False,
    inference_compiler=None,
    *,
    dynamic=False,
    enable_log=True,
    disable_functionalization=False,
):
    """`fn`, traced with its gradients at the first call, as functions that compilers make.

    fw_compiler, bw_compiler: take the forward and backward graph and example inputs.
    partition_fn: cuts the joint graph.
    decompositions: {operator: function} run instead of the operator while tracing.
    keep_inference_input_mutations: graphs write to inputs where autograd does not see it (copy_);
        otherwise they give the new values, and the function writes them.
    dynamic: sizes are symbols, but for 0 and 1: inputs with these are traced again, once for each
        set of places that have them.
    """
    compilers = compiler_options(
        fw_compiler,
        bw_compiler,
        inference_compiler,
        partition_fn,
        decompositions,
        keep_inference_input_mutations,
    )
    versions = {}
    first_spec = None
    has_versions = False

    def returned_function(*args, **kwargs):
        nonlocal first_spec, has_versions
        leaves, in_spec = pytree.tree_flatten((args, kwargs))
        if first_spec is None:
            first_spec = in_spec
            # Who traces fake tensors compares later inputs.
            has_versions = dynamic and not any(isinstance(leaf, FakeTensor) for leaf in leaves)
        elif in_spec != first_spec:
            raise RuntimeError("the function was compiled for arguments nested in another way")
        sizes = _small_sizes(leaves) if has_versions else None
        run = versions.get(sizes)
        if run is None:
            run = versions[sizes] = _version(fn, leaves, in_spec, compilers, dynamic)
        return run(leaves)

    return returned_function


def _state(mod):
    """Parameters and buffers by name."""
    return {**dict(mod.named_parameters()), **dict(mod.named_buffers())}


def aot_module(mod, *args, **kwargs):
    """The module with its forward compiled as `aot_function` does; parameters are inputs."""
    if not isinstance(mod, taeda.nn.Module):
        raise AssertionError("mod must be a torch.nn.Module")

    def call(state, args, kwargs):
        return functional_call(mod, state, args, kwargs)

    compiled = aot_function(call, *args, **kwargs)

    class AOTModule(taeda.nn.Module):
        def __init__(self):
            super().__init__()
            self.orig_module = mod

        def forward(self, *args, **kwargs):
            return compiled(_state(mod), args, kwargs)

    return AOTModule()


class _NotedRun(Interpreter):
    """Tells the trace which node it runs: what that node knows of the program goes on."""

    def __init__(self, gm):
        super().__init__(gm)
        self.extra_traceback = False  # errors are those of the program

    def run_node(self, n):
        _C._aot.note_origin(n)
        return super().run_node(n)


def _by_node(gm):
    """A function of the state of a GraphModule and its arguments."""

    class Run(taeda.nn.Module):
        def __init__(self):
            super().__init__()
            self.gm = gm

        def forward(self, *args):
            return _NotedRun(self.gm).run(*args)

        __call__ = forward  # hooks of all modules are not meant for this one

    run = Run()

    def call(state, args):
        return functional_call(run, {f"gm.{name}": value for name, value in state.items()}, args)

    return call


def aot_module_simplified(
    mod,
    args,
    fw_compiler,
    bw_compiler=None,
    partition_fn=default_partition,
    decompositions=None,
    keep_inference_input_mutations=False,
    inference_compiler=None,
    **_,
):
    """The forward of a module compiled at once for these arguments, which must be a flat list."""
    if getattr(mod, "meta", {}).get("needs_objects"):
        # It reads attributes of tensors whose classes have handlers, which no trace shows.
        return mod.forward
    compilers = compiler_options(
        fw_compiler,
        bw_compiler,
        inference_compiler,
        partition_fn,
        decompositions,
        keep_inference_input_mutations,
    )
    state = _state(mod)
    names = list(state)
    call = (
        _by_node(mod) if isinstance(mod, GraphModule) else functools.partial(functional_call, mod)
    )
    out_spec = None

    def program(values):
        nonlocal out_spec
        own = dict(zip(names, values))
        results, out_spec = pytree.tree_flatten(call(own, tuple(values[len(names) :])))
        return results

    compiled = Compiled(program, [*state.values(), *args], compilers)

    def forward(*runtime_args):
        leaves = [*_state(mod).values(), *runtime_args]
        return pytree.tree_unflatten(compiled(leaves), out_spec)

    # A capture may have the program itself run again what failed.
    forward._writes_last = True
    forward.zero_grad = mod.zero_grad
    forward.named_parameters = mod.named_parameters
    forward.named_buffers = mod.named_buffers
    return forward
