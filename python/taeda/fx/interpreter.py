"""Interpreter: runs a graph node by node. Transformer: rewrites it the same way."""

from taeda.fx import traceback as fx_traceback
from taeda.fx._code import last_uses
from taeda.fx._symbolic_trace import Tracer
from taeda.fx.graph import Graph
from taeda.fx.graph_module import GraphModule
from taeda.fx.node import map_aggregate, map_arg
from taeda.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph; a method for each kind of node, for subclasses to override.

    `garbage_collect_values` frees a value after its last use. `graph` runs in place of the
    module's own.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = last_uses(list(self.graph.nodes)) if garbage_collect_values else {}

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The result for these arguments; nodes in `initial_env` have their values already."""
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _say_where(error, node)
                raise
            for unneeded in self.user_to_last_uses.get(node, ()):
                del self.env[unneeded]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """run with arguments in a list, which is emptied so that they may be freed."""
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(placeholders):
            kind = "extra" if len(args_list) > len(placeholders) else "missing"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(placeholders)} arguments for placeholders "
                f"but received {len(args_list)} ({kind} arguments)"
            )
        values = dict(zip(placeholders, args_list))
        args_list.clear()
        return self.run(initial_env=values)

    def run_node(self, n):
        """The value of a node."""
        with fx_traceback.set_current_meta(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # ---- kinds of nodes ----
    def placeholder(self, target, args, kwargs):
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
        )

    def get_attr(self, target, args, kwargs):
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        return args[0]

    # ---- values ----
    def fetch_attr(self, target):
        """What stands at a dotted path of the module."""
        found, parts = self.module, target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node, with values for nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        def load(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return map_arg(args, load)


def _say_where(error, node):
    """Adds the node, and the line it was traced at, to the message."""
    text = f"While executing {node.format_node()}"
    if node.stack_trace:
        text += f"\nOriginal traceback:\n{node.stack_trace}"
    first = error.args[0] if error.args else ""
    message = f"{first}\n\n{text}" if first else text
    if isinstance(error, KeyError):
        error.add_note(text)
    else:
        error.args = (message, *error.args[1:])


class TransformerTracer(Tracer):
    """Records into the new graph; calls of modules stay calls."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.tensor_attrs = {}

    def is_leaf_module(self, m, module_qualified_name):
        return True


class Transformer(Interpreter):
    """Runs a graph on proxies: `transform()` gives the module of the graph that this makes.

    Override the method of a kind of node to rewrite nodes of that kind.
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module
        self.tracer.submodule_paths = {m: name for name, m in module.named_modules()}

    def placeholder(self, target, args, kwargs):
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        if not callable(target):
            raise AssertionError(f"Expected callable target, got {type(target)}")
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target, args, kwargs):
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        submodule = self.fetch_attr(target)
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def transform(self):
        """The rewritten module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            new_output = self.new_graph.output(
                map_aggregate(result, lambda v: v.node if isinstance(v, Proxy) else v)
            )
            for node in self.graph.nodes:
                if node.op == "output":
                    new_output.meta.update(node.meta)
        return GraphModule(self.module, self.new_graph)
