"""State dicts of optimizers: parameters become their positions, and back."""

from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain

from taeda import _C


def packed(param_groups, state):
    """The state dict of these groups and states, with a position in place of each parameter.

    A parameter has the position of its last place in the first group with it.
    """
    positions = {}
    groups = []
    start = 0
    for group in param_groups:
        params = group["params"]
        own = {id(param): position for position, param in enumerate(params, start)}
        positions = own | positions
        start += len(params)
        kept = {key: value for key, value in group.items() if key != "params"}
        groups.append({**kept, "params": [positions[id(param)] for param in params]})
    by_position = {
        positions[id(key)] if isinstance(key, _C.Tensor) else key: value
        for key, value in state.items()
    }
    return {"state": by_position, "param_groups": groups}


def unpacked(groups, state_dict):
    """The groups and states that a state dict gives to an optimizer with these groups."""
    saved = deepcopy(state_dict["param_groups"])
    if len(groups) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(mine["params"]) != len(its["params"]) for mine, its in zip(groups, saved)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of "
            "optimizer's group"
        )
    params = dict(
        zip(
            chain.from_iterable(group["params"] for group in saved),
            chain.from_iterable(group["params"] for group in groups),
        )
    )
    state = defaultdict(dict)
    for key, value in state_dict["state"].items():
        if key in params:
            param = params[key]
            state[param] = _fitted(value, param, key, state_dict["param_groups"])
        else:
            state[key] = value
    return [_with_params(mine, its) for mine, its in zip(groups, saved)], state


def _with_params(group, saved):
    saved["params"] = group["params"]
    if "param_names" in group:
        saved.setdefault("param_names", group["param_names"])
    return saved


def _fitted(value, param, position, saved_groups, key=None):
    """A value of a saved state, its tensors on the parameter's device and in its dtype."""
    if isinstance(value, _C.Tensor):
        return fitted_tensor(param, value, position, saved_groups, key)
    if isinstance(value, dict):
        return {k: _fitted(v, param, position, saved_groups, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_fitted(v, param, position, saved_groups) for v in value)
    return value


def fitted_tensor(param, value, param_id, param_groups, key=None):
    """A saved tensor as the parameter's state keeps it. Step counts stay as they are saved,

    unless the step runs where the parameter is: then they are float32 there.
    """
    if param_groups is None:
        raise AssertionError("Expected param_groups to be set")
    if key == "step":
        group = next((g for g in param_groups if param_id in g["params"]), {})
        if group.get("capturable", False) or group.get("fused", False):
            return value.to(dtype=_C.float32, device=param.device)
        return value
    if param.is_floating_point():
        return value.to(dtype=param.dtype, device=param.device)
    return value.to(device=param.device)
