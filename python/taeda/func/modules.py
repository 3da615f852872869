"""Modules as functions of their parameters: functional_call, and state stacked for vmap."""

from collections.abc import Sequence

from taeda import _C


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Calls the module with the given tensors in the place of its parameters and buffers.

    Names are those of named_parameters and named_buffers; what is not named keeps its value. With
    `tie_weights` a tensor given for one name of a tied tensor stands for all of them; with
    `strict` the names must be exactly the module's.
    """
    # The other transforms need no modules.
    from taeda.nn.utils import stateless

    values = _joined(parameter_and_buffer_dicts)
    return stateless._functional_call(
        module, values, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _joined(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    joined, repeated = {}, {}
    for d in dicts:
        repeated.update(dict.fromkeys(joined.keys() & d.keys()))
        joined.update(d)
    if repeated:
        raise ValueError(
            f"{list(repeated)} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return joined


def replace_all_batch_norm_modules_(root):
    """Takes the running statistics from every batch norm of `root`, in place, and returns it.

    vmap over a module cannot change statistics that all examples share.
    """
    from taeda.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(models):
    """(parameters, buffers) of modules of one class, each stacked along a new first dimension.

    The stacked parameters are new leaves; vmap over functional_call runs the models as one.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(model.named_parameters()) for model in models])
    buffers = _stacked([dict(model.named_buffers()) for model in models])
    return parameters, buffers


def _stacked(states):
    return {name: _stacked_leaf([state[name] for state in states], name) for name in states[0]}


def _stacked_leaf(tensors, name):
    requires_grad = {tensor.requires_grad for tensor in tensors}
    if len(requires_grad) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    stacked = _C.stack(tensors)
    return stacked.detach().requires_grad_() if requires_grad.pop() else stacked
