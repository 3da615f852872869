"""The part of Module that stores and loads its state: state_dict and load_state_dict."""

import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from warnings import warn

from taeda.__future__ import get_swap_module_params_on_conversion
from taeda.autograd.grad_mode import no_grad
from taeda.nn.modules._hooks import _add
from taeda.nn.parameter import Parameter, is_lazy
from taeda.overrides import is_tensor_like
from taeda.utils._swap_tensors import swap_tensors

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of load_state_dict: the names that did not match."""

    __slots__ = ()

    def __repr__(self):
        if self.missing_keys or self.unexpected_keys:
            return super().__repr__()
        return "<All keys matched successfully>"

    __str__ = __repr__


class _WrappedHook:
    """A hook that gets its module first where it asks for that, without keeping it alive."""

    def __init__(self, hook, module=None):
        self.hook = hook
        self.with_module = module is not None
        self.module = weakref.ref(module) if self.with_module else None

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state):
        module = state["module"] if state["with_module"] else None
        if state["with_module"] and module is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(state["hook"], module)


class StateDict:
    """Parameters and persistent buffers by path, with hooks before and after."""

    # The version of the format of _save_to_state_dict; stored beside the tensors.
    _version = 1

    def get_extra_state(self):
        """State beside parameters and buffers; a class that has such state overrides it."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state):
        """Sets the state that get_extra_state returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    # ---- hooks ----
    def _register_state_dict_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata)`, which may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata)` runs at the end of state_dict."""
        hook._from_public_api = True
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """`hook(module, prefix, keep_vars)` runs at the start of state_dict."""
        return _add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        wrapped = _WrappedHook(hook, self if with_module else None)
        return _add(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_pre_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` runs before the module's own part is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """`hook(module, incompatible_keys)` runs after loading, and may change the lists."""
        return _add(self._load_state_dict_post_hooks, hook)

    # ---- saving ----
    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by path; detached unless `keep_vars`."""
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given["destination"] if destination is None else destination
            prefix = given.get("prefix", prefix) if prefix == "" else prefix
            keep_vars = given.get("keep_vars", keep_vars) if keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}{name}."
                module.state_dict(destination=destination, prefix=path, keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if replaced is None else replaced
            elif replaced is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _own_state(self):
        """(name, tensor) of the parameters and persistent buffers of this module alone."""
        members = dict(self._parameters)
        for name, buffer in self._buffers.items():
            if name not in self._non_persistent_buffers_set:
                members[name] = buffer
        return {name: tensor for name, tensor in members.items() if tensor is not None}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    # ---- loading ----
    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies values from a state dict, or with `assign` takes over its tensors.

        Returns the missing and the unexpected names; with `strict` there may be none.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = _Loading(getattr(state_dict, "_metadata", None), assign)
        loading.load(self, OrderedDict(state_dict), "")
        errors = loading.errors
        if strict:
            errors = [
                *_complaint("Missing", loading.keys.missing_keys),
                *_complaint("Unexpected", loading.keys.unexpected_keys),
                *errors,
            ]
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return loading.keys

    def _load_from_state_dict(
        self,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ):
        """Loads this module's own part; a class whose format changed overrides it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own = self._own_state()
        is_assigned = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, key, tensor, state_dict[key], is_assigned)
                error_msgs.extend(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys.extend(self._unexpected(state_dict, prefix, own, extra))

    def _load_tensor(self, name, key, tensor, value, is_assigned):
        """Loads one value; returns a list of at most one error message."""
        if not is_tensor_like(value):
            return [
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            ]
        if not is_lazy(tensor):
            if len(tensor.shape) == 0 and value.shape == (1,):
                value = value[0]
            if value.shape != tensor.shape:
                return [
                    f"size mismatch for {key}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {tensor.shape}."
                ]
        if tensor.is_meta and not value.is_meta and not is_assigned:
            warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to pass "
                "`assign=True` to assign items in the state dictionary to their corresponding key "
                "in the module instead of copying them in place?)",
                stacklevel=4,
            )
        is_swapped = get_swap_module_params_on_conversion()
        try:
            with no_grad():
                if is_swapped:
                    _swap(tensor, value, is_assigned)
                elif is_assigned:
                    setattr(self, name, _as_kind_of(tensor, value))
                else:
                    tensor.copy_(value)
        except Exception as error:
            action = "swapping" if is_swapped else "copying"
            return [
                f'While {action} the parameter named "{key}", whose dimensions in the model are '
                f"{tensor.size()} and whose dimensions in the checkpoint are {value.size()}, an "
                f"exception occurred : {error.args}."
            ]
        return []

    def _unexpected(self, state_dict, prefix, own, extra):
        for key in state_dict:
            if key.startswith(prefix) and key != extra:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else own):
                    yield key


class _Loading:
    """One load_state_dict: what was missing, left over or wrong, over all modules."""

    def __init__(self, metadata, is_assigned):
        self.metadata = {} if metadata is None else metadata
        self.is_assigned = is_assigned
        self.keys = _IncompatibleKeys([], [])
        self.errors = []

    def load(self, module, state_dict, prefix):
        """Loads a module and those below it from the part of the state under its prefix."""
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.is_assigned:
            local_metadata["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state_dict, prefix, local_metadata, True, *self.keys, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                path = f"{prefix}{name}."
                below = {key: v for key, v in state_dict.items() if key.startswith(path)}
                self.load(child, below, path)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                    "to return new values, if incompatible_keys need to be modified, it should be "
                    "done inplace."
                )


def _complaint(what, names):
    if names:
        yield f"{what} key(s) in state_dict: " + ", ".join(f'"{name}"' for name in names) + ". "


def _as_kind_of(tensor, value):
    """The value in the present member's form: a parameter with the same switch, or a buffer."""
    if not isinstance(tensor, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(tensor.requires_grad)
    return Parameter(value, tensor.requires_grad)


def _swap(tensor, value, is_assigned):
    """Exchanges a member with what its module_load makes of the value."""
    loaded = tensor.module_load(value, assign=is_assigned)
    if loaded is value or loaded is tensor:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning "
            "one of the inputs in module_load"
        )
    swap_tensors(tensor, _as_kind_of(tensor, loaded))
