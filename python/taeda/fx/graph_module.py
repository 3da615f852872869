"""GraphModule: a module whose forward is a graph."""

import copy
import weakref

from taeda.fx._generated_code import function_from_source, note_line
from taeda.fx._module_files import import_block, write_folder
from taeda.fx._module_paths import (
    _assign_attr,  # noqa: F401
    _copy_attr,  # noqa: F401
    _get_attr,  # noqa: F401
    take_from_dict,
    take_from_module,
)
from taeda.fx.graph import Graph, _PyTreeCodeGen
from taeda.nn import Module

__all__ = ["GraphModule"]


class _PendingCode:
    """What `recompile` returns: the code, written when somebody looks at it."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module._python_code, name)


class _PendingForward:
    """Stands for `forward` until somebody reads it: compiles, and gives way to the function."""

    def __get__(self, module, cls):
        if module is None:
            module = cls._the_module()
            module.real_recompile()
            return cls.forward
        module.real_recompile()
        return module.forward


class GraphModule(Module):
    """A module made from a graph and the modules, parameters and buffers that its nodes name.

    `root` is the module they come from, or a dict from paths to them. The code is written and
    compiled at the first call; after a change of the graph call `recompile()`.
    """

    def __new__(cls, *args, **kwargs):
        # Every instance has a class of its own, which holds its forward.
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_is_of_one_graph"))
        members = {"_is_of_one_graph": True, "_class_asked_for": base, "__call__": _call}
        own = type(base.__name__, (base,), members)
        own.__module__ = base.__module__
        own.__qualname__ = base.__qualname__
        module = super().__new__(own)
        own._the_module = weakref.ref(module)
        own.forward = _PendingForward()
        return module

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
            take_from_module(self, root, graph)
        elif isinstance(root, dict):
            take_from_dict(self, root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._replace_hooks = []
        self._create_node_hooks = []
        self._erase_node_hooks = []
        self._deepcopy_hooks = []
        meta = getattr(root, "meta", None)
        self.meta = dict(meta) if isinstance(meta, dict) else {}
        self.graph = graph

    # ---- the graph and its code ----
    @property
    def graph(self):
        """The graph; assigning another one recompiles."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source of forward."""
        return self._python_code.src

    @property
    def _python_code(self):
        code = self.__dict__.get("_written")
        if code is None:
            code = self._graph.python_code(root_module="self")
            self.__dict__["_written"] = code
        return code

    @property
    def _code(self):
        return self.code

    @property
    def _lineno_map(self):
        return self._python_code._lineno_map

    @property
    def _prologue_start(self):
        return self._python_code._prologue_start

    def recompile(self):
        """Forgets the code; the graph as it is at the next call or look at `code` counts."""
        type(self).forward = _PendingForward()
        self.__dict__["_written"] = None
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        if codegen._body_transformer is not None:
            self.real_recompile()  # the transformer may be gone at the next call
        return _PendingCode(self)

    def real_recompile(self):
        """Compiles now."""
        code = self._python_code
        name = self._graph._codegen._func_name
        origin = self._graph._traced_at
        type(self).forward = function_from_source(
            code.src, code.globals, name, f" from {origin}" if origin else ""
        )

    # ---- parts ----
    def add_submodule(self, target, m):
        """Puts a module at a path, with empty modules on the way; False where something else is."""
        *parts, field = target.split(".")
        holder = self
        for part in parts:
            inner = getattr(holder, part, None)
            if inner is None:
                inner = Module()
                setattr(holder, part, inner)
            if not isinstance(inner, Module):
                return False
            holder = inner
        holder.add_module(field, m)
        return True

    def delete_submodule(self, target):
        """Removes the module at a path; False where there is none."""
        path, _, field = target.rpartition(".")
        holder = self
        for part in path.split(".") if path else ():
            holder = getattr(holder, part, None)
            if not isinstance(holder, Module):
                return False
        if not isinstance(getattr(holder, field, None), Module):
            return False
        delattr(holder, field)
        return True

    def delete_all_unused_submodules(self):
        """Removes the modules that no node calls or reads from."""
        nodes = [n for n in self.graph.nodes if n.op in ("call_module", "get_attr")]
        called = {n.target for n in nodes if n.op == "call_module"}
        # What lies on the way to something that is used.
        holding = {n.target[:i] for n in nodes for i, c in enumerate(n.target) if c == "."}
        holding.update(n.target for n in nodes)
        for name in [name for name, _ in self.named_modules() if name]:
            is_inside = any(name.startswith(f"{target}.") for target in called)
            if name not in holding and not is_inside:
                self.delete_submodule(name)

    # ---- hooks on edits of the graph ----
    def _set_hook(self, table, f, is_added):
        if not callable(f):
            raise AssertionError(f"hook must be a callable, got {type(f)}")
        (table.append if is_added else table.remove)(f)
        self.graph._hooks_changed()

    def _register_create_node_hook(self, f):
        """`f(node)` after each new node."""
        self._set_hook(self._create_node_hooks, f, True)

    def _unregister_create_node_hook(self, f):
        self._set_hook(self._create_node_hooks, f, False)

    def _register_erase_node_hook(self, f):
        """`f(node)` before a node is erased."""
        self._set_hook(self._erase_node_hooks, f, True)

    def _unregister_erase_node_hook(self, f):
        self._set_hook(self._erase_node_hooks, f, False)

    def _register_replace_node_hook(self, f):
        """`f(old, new_name, user)` where a user gets another input."""
        self._set_hook(self._replace_hooks, f, True)

    def _unregister_replace_node_hook(self, f):
        self._set_hook(self._replace_hooks, f, False)

    def _register_deepcopy_hook(self, f):
        """`f(copy)` after each deep copy."""
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f):
        self._deepcopy_hooks.remove(f)

    # ---- copies, text, files ----
    def __deepcopy__(self, memo):
        copied = memo[id(self)] = _unfilled(self._class_asked_for)
        members = copy.deepcopy(
            {k: v for k, v in self.__dict__.items() if k not in ("_written", "_deepcopy_hooks")},
            memo,
        )
        _fill(copied, type(self).__name__, members)
        copied._deepcopy_hooks = list(self._deepcopy_hooks)
        for hook in self._deepcopy_hooks:
            hook(copied)
        return copied

    def __copy__(self):
        return _make_graph_module(self, self.graph, type(self).__name__)

    def __reduce__(self):
        dropped = ("_written", *_EDIT_HOOKS)
        members = {k: v for k, v in self.__dict__.items() if k not in dropped}
        return _restored, (self._class_asked_for, type(self).__name__, members)

    def __str__(self):
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__repr__()}\n{self.code}\n{hint}"

    def print_readable(
        self,
        print_output=True,
        include_stride=False,
        include_device=False,
        colored=False,
        *,
        fast_sympy_print=False,
        expanded_def=False,
        additional_meta=None,
    ):
        """The code as a class, with shapes where a pass found them and graph modules inside."""
        text = self._readable(
            type(self).__name__,
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
            expanded_def=expanded_def,
            additional_meta=additional_meta,
        )
        if print_output:
            print(text)
        return text

    def _readable(self, name, **options):
        code = self.graph.python_code("self", verbose=True, **options).src.lstrip("\n")
        parts = [f"class {name}(taeda.nn.Module):", _indented(code)]
        for child_name, child in self.named_children():
            if isinstance(child, GraphModule):
                parts.append(_indented(child._readable(child_name, **options)))
        return "\n".join(parts)

    def to_folder(self, folder, module_name="FxModule"):
        """Writes the module as a Python package: its code, its state, and a `module_name` class."""
        write_folder(self, folder, module_name)


_EDIT_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")


def _indented(text):
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))


def _call(self, *args, **kwargs):
    try:
        return type(self)._class_asked_for.__call__(self, *args, **kwargs)
    except Exception as error:
        note_line(error, type(self).__dict__["forward"])
        raise


def _unfilled(cls):
    """A module without attributes of its own."""
    module = cls.__new__(cls)
    Module.__init__(module)
    module.__dict__.update({key: [] for key in _EDIT_HOOKS})
    return module


def _fill(module, name, members):
    """Gives the module these attributes, its graph among them."""
    module.__dict__.update(members)
    type(module).__name__ = name
    module._graph.owning_module = module
    module.recompile()


def _restored(cls, name, members):
    """A module with these attributes."""
    module = _unfilled(cls)
    _fill(module, name, members)
    return module


def _make_graph_module(root, graph, class_name="GraphModule", graph_module_cls=None):
    return (graph_module_cls or GraphModule)(root, graph, class_name)


def _format_import_block(globals, importer=None):
    return import_block(globals)
