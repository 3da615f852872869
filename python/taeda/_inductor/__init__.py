"""The compiler of graphs: a GraphModule becomes kernels and library calls that run from C++.

    gm = taeda.fx.experimental.proxy_tensor.make_fx(f, tracing_mode="symbolic")(x)
    compiled = taeda._inductor.compile(gm, [x])
    compiled(x)

Kernels are interpreted at once, while the system's compiler builds native ones; each is swapped in
when it is there, and no bit changes.
"""

import itertools
import sys
import weakref
from operator import attrgetter

from taeda import _C
from taeda.compiler._capture import make_fake_mode
from taeda.compiler._options import is_strict, list_mode_options, list_options
from taeda.utils._compile_logs import wanted
from taeda.utils._config_module import functorch_config
from taeda.utils._config_module import inductor_config as config

__all__ = [
    "CompiledModule",
    "aot_compile",
    "aoti_compile_and_package",
    "aoti_load_package",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "list_mode_options",
    "list_options",
    "lite_mode_options",
    "standalone_compile",
]

lite_mode_options = list_mode_options("lite")

NATIVE_MODES = ("background", "wait", "never", "only")

# Imported where somebody asks for them.
_SUBMODULES = ("compile_fx", "custom_graph_pass", "decomposition", "exc", "metrics", "_logs")

# Compiled programs that are alive, for taeda.compiler.wait().
_alive = weakref.WeakSet()
_numbers = itertools.count()


def _attributes(gm, graph):
    """What the graph of a GraphModule reads by name."""
    names = [node.target for node in graph.find_nodes(op="get_attr")]
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


def _plain(result):
    """The result of a graph as its function gives it: nodes keep containers that cannot change."""
    if type(result) is tuple:
        return tuple(_plain(leaf) for leaf in result)
    if isinstance(result, list):
        return [_plain(leaf) for leaf in result]
    if isinstance(result, dict):
        return {key: _plain(leaf) for key, leaf in result.items()}
    return result


def _form(result):
    """How the plan hands out results: "one", "tuple", "list"; None where they are nested."""
    if not isinstance(result, (tuple, list, dict)):
        return "one"
    if type(result) not in (tuple, list) or any(
        isinstance(leaf, (tuple, list, dict)) for leaf in result
    ):
        return None
    return type(result).__name__


def before_gradients(gm, has_values):
    """The module as the pass of programs leaves it that sees a graph before it has gradients."""
    if not config.pre_grad_custom_pass:
        return gm
    import copy

    from taeda.compiler._capture import CapturedGraph
    from taeda.fx.graph_module import GraphModule

    from ._graph_passes import one_after_the_other

    if isinstance(gm, CapturedGraph):
        gm = gm.module
    gm = GraphModule(gm, copy.deepcopy(gm.graph))
    one_after_the_other(config.pre_grad_custom_pass, has_values=has_values)(gm.graph)
    return gm


def _passes():
    # Without their module a program has no lowerings of its own.
    module = sys.modules.get("taeda._inductor.lowering")
    lowerings = module.passes() if module else []
    on_joint = config.joint_custom_pre_pass, config.joint_custom_post_pass
    on_graph = config.post_grad_custom_pre_pass, config.post_grad_custom_post_pass
    if not any((*on_joint, *on_graph, *lowerings)):
        return {}
    from ._graph_passes import one_after_the_other

    return {
        "on_joint": one_after_the_other(*on_joint),
        "on_graph": one_after_the_other(*on_graph, lowerings=lowerings),
        "on_inference": one_after_the_other(*on_graph, lowerings=lowerings, is_inference=True),
    }


def _frozen(gm, example_inputs):
    """Which inputs are parameters or buffers, where config.freezing holds; None elsewhere."""
    if not config.freezing or _C.is_grad_enabled():
        return None
    from taeda.nn.parameter import Buffer, Parameter

    # A captured graph has fake tensors for them, and names inputs by where they come from.
    nodes = gm.graph.find_nodes(op="placeholder")
    return [
        isinstance(given, (Parameter, Buffer))
        or "_parameters_" in node.name
        or "_buffers_" in node.name
        for node, given in zip(nodes, example_inputs, strict=True)
    ]


def _backward_scope():
    is_as_forward = functorch_config.backward_pass_autocast == "same_as_forward"
    if is_as_forward and not config.exact:
        return None
    from taeda.amp._backward_scope import backward_scope

    # In eager `backward()` is called outside of autocast.
    return backward_scope("off" if is_as_forward else functorch_config.backward_pass_autocast)


def _plan_options(form, gm, example_inputs, is_native):
    return {
        "form": form,
        "frozen": _frozen(gm, example_inputs),
        "lays_out_filters": config.layout_optimization,
        "fuses_into_products": config.epilogue_fusion,
        "batches_products": config.batch_fusion and not config.exact,
        "has_post_ops": not config.exact,
        "lays_out_images": config.layout_optimization and not config.exact,
        "memory_budget": functorch_config.activation_memory_budget,
        "matches_patterns": config.pattern_matcher and not config.exact,
        "backward_scope": _backward_scope(),
        "starts_native": is_native,
        **_passes(),
    }


class CompiledModule:
    """A compiled graph: called with the graph's inputs, it gives the graph's results."""

    _is_own = True  # of the package, for captures

    def __init__(self, gm, plan, structure=None):
        self._captured = gm
        self._plan = plan
        self._structure = structure
        self._number = next(_numbers)
        _alive.add(self)
        if metrics := sys.modules.get("taeda._inductor.metrics"):
            metrics.note(self)

    @property
    def _graph(self):
        return self._captured.graph

    @classmethod
    def of_operators(cls, gm, example_inputs, is_native):
        """Of a graph that calls operators."""
        from taeda.fx.control_flow._regions import with_regions
        from taeda.utils import _pytree as pytree

        result = _plain(gm.graph.output_node().args[0])
        form = _form(result)
        structure = None
        if form is None:
            _, structure = pytree.tree_flatten(result, is_leaf=lambda x: x is None)
        graph = with_regions(gm)
        inputs = _placeholder_inputs(gm, example_inputs)
        options = _plan_options(form or "list", gm, example_inputs, is_native)
        # Who compiles for fake tensors compares later inputs.
        options["checks_inputs"] = not any(
            _C._fx.is_fake(t) for t in example_inputs if isinstance(t, _C.Tensor)
        )
        plan = _C._inductor.compile(graph, inputs, _attributes(gm, graph), options)
        return cls(gm, plan, structure)

    @classmethod
    def of_functions(cls, gm, example_inputs, is_native):
        """Of a graph that calls functions of Python on fake tensors."""
        fakes = [fake for fake in example_inputs if isinstance(fake, _C.Tensor)]
        mode = _C._fx.fake_mode_of(fakes[0]) if fakes else make_fake_mode()[0]
        options = _plan_options("tuple", gm, example_inputs, is_native)
        graph = getattr(gm, "_bare", None) or gm.graph
        plan = _C._inductor.compile_open(graph, example_inputs, mode, options, gm)
        return cls(gm, plan)

    def __call__(self, *args):
        if _C._fx.active_tracer() is not None:
            return self._captured(*args)  # a trace has the operators, not results for its inputs
        result = self._plan(*args)
        if self._structure is None:
            return result
        from taeda.utils import _pytree as pytree

        return pytree.tree_unflatten(result, self._structure)

    def start_native(self):
        """Has the system's compiler build every kernel in the background."""
        self._plan.start_native()

    def wait(self):
        """Waits for kernels that are being compiled; one that could not be stays interpreted."""
        self._plan.wait_native()
        if is_strict():
            self._plan.check_native()

    def compile_native(self):
        """Compiles every kernel with the system's compiler and waits for it."""
        self._plan.start_native()
        self._plan.wait_native()
        self._plan.check_native()

    def check(self, on=True):
        """Runs each kernel interpreted and native from now on; differing bits are an error."""
        self._plan.set_checked(bool(on))
        return self

    def time(self, on=True):
        """Times the steps of runs from now on; report() tells the mean."""
        self._plan.set_timed(bool(on))
        return self

    def text(self):
        """The kernels and calls in the order in which they run, and what the backward gets."""
        return self._plan.partition() + "".join(self._plan.texts())

    def source(self):
        """The kernels as C++, with the nodes and lines of the program that they come from."""
        return "".join(self._plan.sources())

    def report(self):
        """A dict per plan (inference; or forward and backward); see docs/compiler.md."""
        from ._report import complete

        return complete(self._plan)

    def html(self, path):
        """Writes everything about the program to one page."""
        from ._page import write_page

        write_page(self, path)


def _is_exported(gm):
    """Whether it is the module of an exported program, which takes arguments by keyword, too."""
    from taeda.fx._code_gen import _is_args_and_kwargs

    info = getattr(gm.graph._codegen, "pytree_info", None)
    return info is not None and _is_args_and_kwargs(info.in_spec)


def _start(make, gm, example_inputs, native, check):
    native = config.native if native is None else native
    check = config.check if check is None else check
    if native not in NATIVE_MODES:
        names = ", ".join(f'"{mode}"' for mode in NATIVE_MODES[:-1])
        raise ValueError(f'native is {names} or "{NATIVE_MODES[-1]}", not {native!r}')
    logs = wanted()
    compiled = make(gm, list(example_inputs), native != "never")
    if check:
        compiled.check()
    if native == "background":
        compiled.start_native()
    elif native in ("wait", "only"):
        compiled.compile_native()
    if native == "only":
        compiled._plan.set_native_only()
    if logs:
        from . import _logs

        _logs.show(compiled, logs)
    return compiled


def compile(gm, example_inputs, options=None, *, native=None, check=None):
    """Compiles a GraphModule of operators for inputs like these.

    Sizes that are symbolic in the graph stay so. Inputs that require gradients have them: the
    joint graph is cut, and both parts are compiled.

    options: settings of `config` for this compile, by name.
    native: "background" has kernels compiled while they are interpreted, "wait" waits for them,
    "never" compiles none, "only" waits and never interprets; None is what config.native says.
    check: each kernel runs interpreted and native, and differing bits are an error.
    """
    if options:
        with config.patch(options):
            return compile(gm, example_inputs, native=native, check=check)
    if _is_exported(gm):
        from . import _exported as exported

        inputs = exported.leaves_of(gm, example_inputs)
        inner = compile(exported.leaves_only(gm), inputs, native=native, check=check)
        return exported.CompiledExport(gm, inner)
    gm = before_gradients(gm, True)
    if config.custom_partitioner_fn and any(
        isinstance(x, _C.Tensor) and x.requires_grad for x in example_inputs
    ):
        from .compile_fx import compile_parts

        return compile_parts(gm, example_inputs)
    return _start(CompiledModule.of_operators, gm, example_inputs, native, check)


def compile_open(gm, example_inputs, *, native=None, check=None):
    """The same for a graph that calls functions of Python, with fake tensors as examples.

    Results are a tuple.
    """
    # What its functions give is found out when they are traced.
    gm = before_gradients(gm, False)
    if config.custom_partitioner_fn:
        from .compile_fx import compile_parts

        return compile_parts(getattr(gm, "module", gm), example_inputs)
    return _start(CompiledModule.of_functions, gm, example_inputs, native, check)


def aoti_compile_and_package(
    exported_program,
    _deprecated_unused_args=None,
    _deprecated_unused_kwargs=None,
    *,
    package_path=None,
    inductor_configs=None,
):
    """Compiles an exported program into one file, a package; returns its path.

    `aoti_load_package` runs it, and so does `taeda::load_package` of C++, with neither Python nor a
    compiler.

    package_path: a path that ends in .pt2, or a binary file; None makes a temporary one.
    inductor_configs: settings of `config` for this compile; `aot_inductor.metadata` is kept in the
    file.
    """
    from .package import compile_and_package

    return compile_and_package(exported_program, package_path, inductor_configs)


def aot_compile(gm, args, kwargs=None, *, options=None):
    """Compiles a module for arguments like these into one file, a package; returns its path.

    options: settings of `config` for this compile.
    """
    from taeda.export import export

    program = export(gm, tuple(args), kwargs, strict=False)
    return aoti_compile_and_package(program, inductor_configs=options)


def standalone_compile(gm, example_inputs, *, dynamic_shapes="from_graph", options=None):
    """Compiles a graph for inputs like these: a `CompiledArtifact`.

    dynamic_shapes: sizes are symbols where the graph has them ("from_graph"), where the inputs have
        them ("from_tracing_context"), or nowhere ("from_example_inputs").
    options: settings of `config` for this compile.
    """
    from . import _standalone

    return _standalone.standalone_compile(
        gm, example_inputs, dynamic_shapes=dynamic_shapes, options=options
    )


def cudagraph_mark_step_begin():
    """Does nothing: results have memory of their own, and no run takes it back."""


def aoti_load_package(path, run_single_threaded=False, device_index=-1):
    """The program of a package: called with the arguments of the exported module."""
    from .package import load_package

    return load_package(path, run_single_threaded=run_single_threaded, device_index=device_index)


def __getattr__(name):
    from importlib import import_module

    if name == "CompiledArtifact":
        return import_module("taeda._inductor._standalone").CompiledArtifact
    if name not in _SUBMODULES:
        raise AttributeError(f"module 'taeda._inductor' has no attribute '{name}'")
    return import_module(f"taeda._inductor.{name}")
