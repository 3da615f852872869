"""Module: the base of everything with parameters, and the rules for its attributes and calls."""

import sys
from collections import OrderedDict
from types import FunctionType, ModuleType

from taeda import _C
from taeda._own_names import adopt_private_classes
from taeda._type_info import typename
from taeda.nn.modules import _hooks
from taeda.nn.modules._conversion import Conversion
from taeda.nn.modules._hooks import (  # noqa: F401
    HookRegistration,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from taeda.nn.modules._state import (  # noqa: F401
    _EXTRA_STATE_KEY_SUFFIX,
    StateDict,
    _IncompatibleKeys,
    _WrappedHook,
)
from taeda.nn.modules._traversal import Traversal
from taeda.nn.parameter import Buffer, Parameter
from taeda.overrides import is_tensor_like


def _forward_unimplemented(self, *input):
    """The computation of the module; every subclass defines it."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


def _addindent(s_, numSpaces):
    """The text with every line but the first moved right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _new_tables():
    """What a module holds beside its members: hooks, and which buffers are not stored."""
    return {
        "_non_persistent_buffers_set": set(),
        "_backward_pre_hooks": OrderedDict(),
        "_backward_hooks": OrderedDict(),
        "_is_full_backward_hook": None,
        "_forward_hooks": OrderedDict(),
        "_forward_hooks_with_kwargs": OrderedDict(),
        "_forward_hooks_always_called": OrderedDict(),
        "_forward_pre_hooks": OrderedDict(),
        "_forward_pre_hooks_with_kwargs": OrderedDict(),
        "_state_dict_hooks": OrderedDict(),
        "_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_pre_hooks": OrderedDict(),
        "_load_state_dict_post_hooks": OrderedDict(),
    }


class Module(HookRegistration, Traversal, Conversion, StateDict):
    """Base of neural network modules.

    Assigning a Parameter, a Buffer or a Module as an attribute registers it: parameters are in
    `_parameters`, buffers in `_buffers`, modules in `_modules`, each by name and in the order of
    assignment. A call runs `forward` between the hooks.
    """

    training: bool
    dump_patches = False
    # Whether __init__ goes on to the next class of the method resolution order.
    call_super_init = False
    # What `compile` made of the calls.
    _compiled_call_impl = None
    forward = _forward_unimplemented

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            name = type(self).__name__
            if kwargs:
                unknown = next(iter(kwargs))
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{unknown}'")
            if args:
                raise TypeError(
                    f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(
            training=True, _parameters={}, _buffers={}, **_new_tables(), _modules={}
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- calling ----
    def _call_impl(self, *args, **kwargs):
        if self._has_hooks():
            from taeda.nn.modules._hooked_call import HookedCall

            return HookedCall(self, args, kwargs).run()
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    # ---- registration ----
    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is state but no parameter; `persistent` puts it into state_dict."""
        self._check_name("_buffers", "buffer", "buffer", name)
        if tensor is not None and not is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        tensor = self._after_hooks(_hooks._global_buffer_registration_hooks, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Adds a parameter, or the name of one that is None."""
        self._check_name("_parameters", "parameter", "parameter", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            param = self._after_hooks(_hooks._global_parameter_registration_hooks, name, param)
        self._parameters[name] = param

    def add_module(self, name, module):
        """Adds a child module, or the name of one that is None."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("_modules", "module", "module", name, f", got: {name}")
        self._modules[name] = self._after_hooks(
            _hooks._global_module_registration_hooks, name, module
        )

    def register_module(self, name, module):
        """Another name of add_module."""
        self.add_module(name, module)

    def _check_name(self, table, kind, noun, name, detail=""):
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {noun} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."{detail}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def _after_hooks(self, hooks, name, value):
        for hook in hooks.values():
            replaced = hook(self, name, value)
            if replaced is not None:
                value = replaced
        return value

    # ---- attributes ----
    # Whether a weight is what the table of parameters says; see nn/modules/_weights.py.
    _has_plain_weights = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        own = ("weight", "bias", "__getattr__", "__getattribute__")
        above = cls.__mro__[: cls.__mro__.index(Module)]
        cls._has_plain_weights = not any(name in c.__dict__ for c in above for name in own)

    def __getattr__(self, name):
        # Reached where neither the instance nor the class has the name.
        members = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if table in members and name in members[table]:
                return members[table][name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
        )

    def __setattr__(self, name, value):
        members = self.__dict__
        if isinstance(value, Parameter):
            self._make_room(name, "_parameters", "parameters")
            self.register_parameter(name, value)
        elif name in members.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._make_room(name, "_modules", "module")
            self._set_child(name, value)
        elif name in members.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._set_child(name, None)
        elif name in members.get("_buffers", ()) or isinstance(value, Buffer):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _make_room(self, name, table, noun):
        """Removes other members and attributes of the name."""
        members = self.__dict__
        if table not in members:
            raise AttributeError(f"cannot assign {noun} before Module.__init__() call")
        members.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != table:
                members[other].pop(name, None)
        members["_non_persistent_buffers_set"].discard(name)

    def _set_child(self, name, module):
        self._modules[name] = self._after_hooks(
            _hooks._global_module_registration_hooks, name, module
        )

    def _set_buffer(self, name, value):
        if value is not None and not is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        if persistent:
            # A subclass may override register_buffer without the argument.
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, False)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__]
        names += [*self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state):
        # A state from before a kind of hook existed has no table of it.
        self.__dict__.update({**_new_tables(), **state})

    def _replicate_for_data_parallel(self):
        """A module that refers to the same members, without parameters of its own."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica

    def compile(self, *args, **kwargs):
        """Compiles the calls of this module, with the arguments of taeda.compile."""
        import taeda

        self._compiled_call_impl = taeda.compile(self._call_impl, *args, **kwargs)

    def __getstate__(self):
        # A compiled call belongs to this object.
        return {k: v for k, v in self.__dict__.items() if k != "_compiled_call_impl"}

    # ---- modes and printing ----
    def train(self, mode=True):
        """Sets `training` here and in all modules below; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """train(False)"""
        return self.train(False)

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """The text between the parentheses of the printed form; subclasses override it."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        children = [
            f"({name}): " + _addindent(repr(module), 2) for name, module in self._modules.items()
        ]
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = [*(extra.split("\n") if extra else ()), *children]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


# In C++: forward at once where nothing else is part of the call, else _wrapped_call_impl.
Module.__call__ = _C._module_call(Module, vars(_hooks))


class _WithGlobalHooks(ModuleType):
    """This file as PyTorch has it: the tables of hooks for all modules are read and set here."""

    def __getattr__(self, name):
        if name.startswith("_global_"):
            return getattr(_hooks, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name, value):
        if name.startswith("_global_"):
            setattr(_hooks, name, value)
            _C._module_hooks_replaced()
        else:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _WithGlobalHooks

adopt_private_classes(globals())

# Errors of calls name methods as those of Module, not of the classes that share the work.
for _base in Module.__bases__:
    for _name, _member in vars(_base).items():
        if isinstance(_member, FunctionType):
            _member.__module__, _member.__qualname__ = __name__, f"Module.{_name}"
