"""An optimizer with the parameters and states of another run, for the length of a `with`."""

import contextlib
from collections import defaultdict

from taeda import _C

_NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """Inside, the optimizer steps these parameters with this state dict; after it, its own.

    `swapin_parameters` is a dict of tensors in the order of the groups.
    """
    groups, states = _checked(optimizer, swapin_optim_state)
    params = list(swapin_parameters.values())
    if sum(len(group["params"]) for group in groups) > len(params):
        raise RuntimeError(
            f"{_NAME} requires the explicit parameter state to match optimizer.param_groups "
            "ordering."
        )
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        optimizer.state = defaultdict(dict)
        for group, new in zip(optimizer.param_groups, groups):
            ids = new["params"]
            chosen, params = params[: len(ids)], params[len(ids) :]
            group.update(new, params=chosen)
            for param, position in zip(chosen, ids):
                optimizer.state[param] = dict(states.get(position, {}))
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _checked(optimizer, state_dict):
    """Groups and states of a state dict that fits the optimizer."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(state_dict, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    states = _checked_states(state_dict.get("state"))
    groups = state_dict.get("param_groups")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group "
            f"dicts, got {type(groups).__name__}."
        )
    if len(optimizer.param_groups) != len(groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    for i, (own, new) in enumerate(zip(optimizer.param_groups, groups)):
        _check_group(i, own, new)
    known = {position for group in groups for position in group["params"]}
    extra = [key for key in states if key not in known]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter "
            f"ids from param_groups[*]['params']; got extra keys {extra!r}."
        )
    return groups, states


def _checked_states(states):
    if not isinstance(states, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter "
            f"ids to per-param state dicts, got {type(states).__name__}."
        )
    if any(isinstance(key, _C.Tensor) for key in states):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids."
        )
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in states.items()):
        raise RuntimeError(
            f"{_NAME} requires per-parameter optimizer state entries to be dictionaries."
        )
    return states


def _check_group(i, own, new):
    if not isinstance(new, dict):
        raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
    ids = new.get("params")
    if not isinstance(ids, list) or not all(isinstance(position, int) for position in ids):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries "
            "keyed by packed parameter ids."
        )
    if len(own["params"]) != len(ids):
        raise RuntimeError(
            f"swapin_optim_state param group {i} has a different number of params than the live "
            "optimizer param group."
        )
    only_new = [key for key in new if key not in own]
    only_own = [key for key in own if key not in new]
    if only_new or only_own:
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the "
            f"live optimizer group keys for group {i}. Keys only in swap-in: {only_new}. Keys only "
            f"in live: {only_own}."
        )
