"""A call of a module with other tensors in the place of its parameters and buffers."""

import contextlib

from taeda import _C
from taeda.nn.modules.module import Module

_MISSING = object()


def _tied_values(module, values):
    """The values, with one given for a tied tensor standing for all of its names."""
    names = {}
    for named in (module.named_parameters, module.named_buffers):
        for name, tensor in named(remove_duplicate=False):
            names.setdefault(tensor, set()).add(name)
    extended = dict(values)
    for tied in names.values():
        given = sorted(tied.intersection(values))
        if len(tied) == 1 or not given:
            continue
        if any(values[name] is not values[given[0]] for name in given):
            raise ValueError(
                f"functional_call got multiple values for keys {given}, which are tied. Consider "
                "using tie_weights=False"
            )
        extended.update(dict.fromkeys(tied, values[given[0]]))
    return extended


def _check_keys(module, names):
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own.update(name for name, _ in module.named_buffers(remove_duplicate=False))
    errors = []
    for what, keys in (("Unexpected", names - own), ("Missing", own - names)):
        if keys:
            errors.append(f"{what} key(s): {', '.join(map(repr, sorted(keys)))}.")
    if errors:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(errors)
        )


def _swap(module, name, value):
    """Puts a tensor, or `_MISSING`, in the place of a member; returns what was there."""
    if value is not _MISSING and value is not None and not isinstance(value, _C.Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for table in (module._parameters, module._buffers):
        if name in table:
            old = table[name]
            if value is _MISSING:
                del table[name]
            else:
                table[name] = value
            return old
    # A name that is not registered is an attribute for the time of the call.
    old = getattr(module, name, _MISSING)
    if old is not _MISSING and old is not None and not isinstance(old, _C.Tensor):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if value is _MISSING:
        delattr(module, name)
    else:
        setattr(module, name, value)
    return old


@contextlib.contextmanager
def _reparametrize_module(
    module, parameters_and_buffers, *, tie_weights=False, strict=False, stack_weights=False
):
    """The module has the given tensors inside and its own ones after, whatever happens."""
    values = dict(parameters_and_buffers)
    if tie_weights:
        values = _tied_values(module, values)
    if strict:
        _check_keys(module, set(values))
    swapped = []
    try:
        for path, value in values.items():
            prefix, _, name = path.rpartition(".")
            owner = module.get_submodule(prefix)
            old = _swap(owner, name, value)
            swapped.append((path, owner, name, old))
        yield
    finally:
        _restore(swapped, parameters_and_buffers)


def _restore(swapped, given):
    """Puts the module's tensors back, and what forward put in their place into the dictionary."""
    for path, owner, name, old in reversed(swapped):
        new = _swap(owner, name, old)
        if path in given:
            given[path] = new


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """taeda.func.functional_call, at the path where it was before."""
    from warnings import warn

    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(
        module, parameters_and_buffers, tie_weights=tie_weights, strict=strict
    ):
        return module(*args, **({} if kwargs is None else kwargs))
