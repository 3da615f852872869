"""Node: one step of a graph. What is hot is in C++; here is what prints and explains it."""

import functools
import operator
import pickle
import types
from typing import TypeVar

import taeda
from taeda._C._fx import Node as _NodeBase
from taeda.fx._naming import qualified_name as _get_qualified_name
from taeda.fx._naming import type_repr as _type_repr
from taeda.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

# What a graph may hold as it is.
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    taeda.dtype,
    taeda.Tensor,
    taeda.device,
    taeda.memory_format,
    taeda.layout,
)
# Numbers that are not known while tracing.
symbolic_types = tuple(
    getattr(taeda, name) for name in ("SymInt", "SymFloat", "SymBool") if hasattr(taeda, name)
)
Argument = object
ArgumentT = TypeVar("ArgumentT")
Target = object
_legal_ops = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)

# Functions whose calls stay even if nobody uses the result.
_side_effectful_functions = {
    operator.setitem,
    taeda._assert,
    taeda._C._set_grad_enabled,
    taeda.amp.autocast_mode._enter_autocast,
    taeda.amp.autocast_mode._exit_autocast,
}


def has_side_effect(fn):
    """Marks a function: dead code elimination keeps its calls. Also a decorator."""
    _side_effectful_functions.add(fn)
    if isinstance(fn, taeda._ops.OpOverload):
        taeda._C._fx.set_effectful(fn, True)
    return fn


def map_aggregate(a, fn):
    """`fn` of everything in nested tuples, lists, dicts and slices, in the same containers."""
    kind = type(a)
    if kind is tuple:
        return tuple([map_aggregate(e, fn) for e in a])
    if isinstance(a, tuple):
        items = [map_aggregate(e, fn) for e in a]
        return kind(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(e, fn) for e in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if kind is slice:
        parts = (a.start, a.stop, a.step)
        return slice(*[map_aggregate(part, fn) for part in parts])
    return fn(a)


def map_arg(a, fn):
    """`fn` of every Node in nested containers; other values stay."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, _NodeBase) else x)


def _format_arg(arg, max_list_len=float("inf")):
    """An argument as `Node.format_node` shows it: nodes with %, at most so many elements."""
    if isinstance(arg, Node):
        return f"%{arg.name}"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if not isinstance(arg, (list, tuple)):
        return str(arg)
    shown = ", ".join(_format_arg(a) for i, a in enumerate(arg) if i < max_list_len)
    rest = f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else ""
    if isinstance(arg, list):
        return f"[{shown}{rest}]"
    return f"({shown}{',' if len(arg) == 1 else ''}{rest})"


class Node(_NodeBase):
    """A step of a graph.

    | op | target | args, kwargs |
    | --- | --- | --- |
    | placeholder | the parameter's name | its default value, if any |
    | get_attr | dotted path from the module | |
    | call_function | the function | its arguments |
    | call_module | dotted path of the module | arguments of its forward |
    | call_method | the method's name | the object, then its arguments |
    | output | "output" | what the graph returns |

    `args` and `kwargs` may be assigned; `users` follows. Containers in them cannot be changed.
    """

    # ---- edits ----
    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Lets the users take another node, where `delete_user_cb(user)` agrees; returns them.

        `propagate_meta` gives the other node this one's meta; it must have none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = self._replace_uses(replace_with, delete_user_cb)
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            for user in users:
                hook(old=self, new=replace_with.name, user=user)
        return users

    def replace_input_with(self, old_input, new_input):
        """Takes another node wherever an argument is `old_input`."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        super().replace_input_with(old_input, new_input)

    # ---- copies ----
    def __reduce__(self):
        """A node is pickled with its graph."""
        if self._erased:
            raise pickle.PicklingError(f"node {self.name} is erased: it is in no graph")
        return _node_at, (self.graph, list(self.graph.nodes).index(self))

    # ---- text ----
    @property
    def stack_trace(self):
        """Where the node was traced, the innermost frame last; None if nobody noted it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    @staticmethod
    def _pretty_print_target(target):
        """The target as printed: `operator.add`, `builtins.getattr`, `taeda.relu`, a path."""
        if isinstance(target, str):
            return target
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
        if name is not None and module == "builtins":
            return f"builtins.{name}"
        if name is not None and module == "_operator":
            return f"operator.{name}"
        return _get_qualified_name(target)

    def format_node(
        self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False
    ):
        """The node as a line of text.

        With `placeholder_names` a placeholder is added there instead, and the result is None; the
        annotation of an output goes into `maybe_return_typename[0]`.
        """
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        if self.op == "placeholder" and placeholder_names:
            placeholder_names.append(
                f"{self.target}: {_type_repr(self.type)}" if self.type else self.target
            )
            return None
        annotation = f"{_type_repr(self.type)} " if self.type is not None else ""
        if include_tensor_metadata and self.op not in ("placeholder", "get_attr"):
            annotation = self._tensor_annotation() or annotation
        head = f"%{self.name} : {annotation}[num_users={len(self.users)}] = {self.op}"
        head += f"[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def _tensor_annotation(self):
        from taeda.fx._code import described_value, short_dtype

        value = described_value(self)
        if not isinstance(value, taeda.Tensor):
            return ""
        stride = ", ".join(map(str, value.stride()))
        shape = ", ".join(map(str, value.shape))
        return f'Tensor "{short_dtype(value.dtype)}[{shape}][{stride}]{value.device}"'

    # ---- meaning ----
    def is_impure(self, impure_random=True):
        """Whether the node must stay although nobody uses its value."""
        if self.op in ("placeholder", "output"):
            return True
        if impure_random:
            known = self._known_impurity()
            if known is not None:
                return known
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(module.get_submodule(self.target), "_is_impure", False)
        return self.op == "call_function" and _is_impure_function(
            self.target, self.kwargs, impure_random
        )

    def normalized_arguments(
        self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
    ):
        """Arguments by the signature of the target, with defaults; None where it is not known."""
        from taeda.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target,
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs=normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root,
                self.target,
                self.args,
                self.kwargs,
                normalize_to_only_use_kwargs=normalize_to_only_use_kwargs,
            )
        return None


def _node_at(graph, index):
    return list(graph.nodes)[index]


@functools.cache
def _is_random_function(target):
    """Whether a built-in function or an operator draws random numbers."""
    from taeda.fx.operator_schemas import overloads_of

    seeded = taeda.Tag.nondeterministic_seeded
    return any(seeded in overload.tags for overload in overloads_of(target))


def _is_impure_function(target, kwargs, impure_random):
    if target in _side_effectful_functions:
        return True
    schema = getattr(target, "_schema", None)
    if schema is not None:
        if schema.is_mutable:
            return True
        is_random = taeda.Tag.nondeterministic_seeded in target.tags
        return impure_random and is_random
    is_lasting = isinstance(target, types.BuiltinFunctionType) or hasattr(target, "overloads")
    if impure_random and is_lasting and _is_random_function(target):
        return True
    name = getattr(target, "__name__", "")
    module = getattr(target, "__module__", None) or ""
    # An operator that writes: relu_, or anything with out=.
    writes = name.endswith("_") and not name.startswith("_") and module.startswith("taeda")
    return writes or kwargs.get("out") is not None
