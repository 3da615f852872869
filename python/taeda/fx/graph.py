"""Graph: a program as a list of nodes. Edits are C++; here is what makes code and text."""

import contextlib

from taeda._C import _fx
from taeda.fx._code import PythonCode
from taeda.fx._code_gen import (
    CodeGen,
    _BoxedCodeGen,  # noqa: F401
    _PyTreeCodeGen,  # noqa: F401
    _PyTreeInfo,  # noqa: F401
)
from taeda.fx._graph_records import rebuild, records
from taeda.fx._naming import _Namespace
from taeda.fx.immutable_collections import immutable_dict, immutable_list
from taeda.fx.node import Node, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _NodeList:
    """The nodes of a graph; edits during a walk are fine."""

    __slots__ = ("graph",)

    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return self.graph._size()

    def __iter__(self):
        return self.graph._iterator(False)

    def __reversed__(self):
        return self.graph._iterator(True)


class _InsertPoint:
    """Where new nodes go, from now on; at the end of the context where they went before."""

    def __init__(self, graph, node):
        self._graph = graph
        self._before = graph._set_insertion_point(node)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._graph._set_insertion_point(self._before)


class Graph(_fx.Graph):
    """A program: nodes in the order in which they run, the last one the output."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        super().__init__()
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._traced_at = ""  # where the traced function stands: "file:line in name"

    # ---- nodes ----
    @property
    def nodes(self):
        """The nodes in order."""
        return _NodeList(self)

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of one kind, with that target if one is given, in order."""
        return self._find_nodes(op, target)

    def output_node(self):
        """The node that says what the graph returns."""
        node = self._output_node()
        if node is None:
            raise AssertionError("the graph has no output node")
        return node

    def inserting_before(self, n=None):
        """New nodes go before `n`, or to the begin of the graph."""
        return _InsertPoint(self, self._root.next if n is None else self._inside(n, "before"))

    def inserting_after(self, n=None):
        """New nodes go behind `n`, or to the end of the graph."""
        node = None if n is None else self._inside(n, "after").next
        return _InsertPoint(self, None if node is self._root else node)

    def _inside(self, node, where):
        if node.graph is not self or node._erased:
            raise AssertionError(f"Node to insert {where} is not in graph.")
        return node

    def placeholder(self, name, type_expr=None, default_value=...):
        """A parameter; `*args` and `**kwargs` are names too."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """The attribute of the owning module at a dotted path."""
        if self.owning_module is not None:
            self._warn_if_missing(
                "get_attr",
                qualified_name,
                ", GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of the submodule of the owning module at a dotted path."""
        if self.owning_module is not None:
            self._warn_if_missing("call_module", module_name, "")
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None):
        """What the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def _target_to_str(self, target):
        return target if isinstance(target, str) else target.__name__

    def _hooks_changed(self):
        """Takes the owning module's hooks on new and erased nodes into account."""
        for name in ("create_node", "erase_node"):
            self.__dict__.pop(name, None)
        module = self.owning_module
        if getattr(module, "_create_node_hooks", None):
            self.create_node = self._create_and_tell
        if getattr(module, "_erase_node_hooks", None):
            self.erase_node = self._tell_and_erase

    def _create_and_tell(self, *args, **kwargs):
        node = super().create_node(*args, **kwargs)
        for hook in self.owning_module._create_node_hooks:
            hook(node)
        return node

    def _tell_and_erase(self, node):
        for hook in self.owning_module._erase_node_hooks:
            hook(node)
        super().erase_node(node)

    def _warn_if_missing(self, op, path, remedy):
        holder = self.owning_module
        # A path that is none is create_node's to refuse.
        for part in path.split(".") if isinstance(path, str) else ():
            if not hasattr(holder, part):
                from warnings import warn

                warn(
                    f"Attempted to insert a {op} Node with no underlying reference in the owning "
                    "GraphModule! Call GraphModule.add_submodule to add the necessary submodule"
                    + remedy,
                    stacklevel=3,
                )
                return
            holder = getattr(holder, part)

    # ---- code ----
    def set_codegen(self, codegen):
        """How the graph is written as a function."""
        self._codegen = codegen

    def process_inputs(self, *args):
        """The values of the placeholders for these arguments of the generated function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The result of the generated function for this value of the output node."""
        return self._codegen.process_outputs(out)

    def python_code(
        self,
        root_module,
        *,
        verbose=False,
        include_stride=False,
        include_device=False,
        colored=False,
        expanded_def=False,
        additional_meta=None,
    ):
        """The graph as Python: `src`, and the `globals` that it needs."""
        return self._codegen._gen_python_code(
            self.nodes,
            root_module,
            _Namespace(),
            verbose=verbose,
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
            expanded_def=expanded_def,
            additional_meta=additional_meta,
        )

    def on_generate_code(self, make_transformer):
        """Sets a function from lines of the body to lines of the body.

        `make_transformer` gets the one that is set now, or None. The result is a context manager
        at whose end that one is set again.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restoring():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return restoring()

    # ---- text ----
    def __str__(self):
        names, returned = [], [""]
        lines = [n.format_node(names, returned) for n in self.nodes]
        text = f"graph({', '.join(names)}){returned[0]}:"
        return text + "".join(f"\n    {line}" for line in lines if line)

    __repr__ = __str__

    def print_tabular(self):
        """Prints a row for each node."""
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [[str(v) for v in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        for row in [head, ["-" * width for width in widths], *rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    # ---- checks ----
    def lint(self):
        """Raises RuntimeError where the graph is not well-formed, saying where."""
        try:
            self._lint()
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self}") from None
        if self.owning_module is not None:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    self._check_path(node)

    def _check_path(self, node):
        holder, seen = self.owning_module, "GraphModule"
        for part in node.target.split("."):
            if not hasattr(holder, part):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of "
                    f"{seen}"
                )
            holder, seen = getattr(holder, part), part
        if node.op == "call_module" and not callable(holder):
            raise RuntimeError(
                f"Node {node} target {node.target} {seen} of {type(holder)} does not reference an "
                "nn.Module"
            )

    def eliminate_dead_code(self, is_impure_node=None):
        """Removes nodes that nobody uses and that have no effect; whether there were any."""
        self.lint()
        return self._eliminate_dead_code(is_impure_node) > 0

    # ---- copies ----
    def node_copy(self, node, arg_transform=None):
        """A copy at the insertion point; `arg_transform` gives the node here for a node there."""
        return self._copy_node(node, arg_transform)

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies all nodes but the output, for which the copied result is returned.

        `val_map` says which nodes have a counterpart already; the new ones are added.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            try:
                if node.op == "output":
                    result = map_arg(node.args[0], val_map.__getitem__)
                    return (result, node) if return_output_node else result
                val_map[node] = self._copy_node(node, val_map.__getitem__)
            except KeyError as error:
                raise RuntimeError(
                    f"Argument '{error.args[0]}' of Node '{node}' was used before it has been "
                    "defined: it is neither copied yet nor in val_map; Graph.lint() tells more"
                ) from None
        return None

    def __deepcopy__(self, memo=None):
        """A copy whose nodes are new, which keeps names and meta."""
        memo = {} if memo is None else memo
        copied = type(self)(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        memo[id(self)] = copied
        nodes = {}
        result = copied.graph_copy(self, nodes, return_output_node=True)
        copied._codegen = self._codegen
        copied._traced_at = self._traced_at
        if isinstance(result, tuple):
            value, old = result
            output = copied.output(value, type_expr=old.type)
            output.meta = dict(old.meta)
            nodes[old] = output
        for old, new in nodes.items():
            memo[id(old)] = new
        return copied

    def __reduce__(self):
        return rebuild, (type(self), records(self), self._codegen, self._tracer_cls)


_fx.set_classes(Node, Graph, immutable_list, immutable_dict)
