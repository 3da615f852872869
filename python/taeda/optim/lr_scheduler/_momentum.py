"""Momentum that a schedule moves against the learning rate: an option, or the first beta."""


def has_betas(optimizer):
    """Whether momentum is the first beta. Refuses optimizers without either."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    return "betas" in optimizer.defaults


def set_momentum(group, momentum, use_beta1):
    """Sets the momentum of a group."""
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def start_momentum(optimizer, base_momentums, max_momentums, use_beta1):
    """Starts at the highest momentum, and notes the limits in the groups."""
    for group, least, most in zip(optimizer.param_groups, base_momentums, max_momentums):
        set_momentum(group, most, use_beta1)
        group["max_momentum"] = most
        group["base_momentum"] = least
