"""Arguments that PyTorch's Python functions refuse, or warn of, before they call an operator."""

from math import prod

from taeda._C import is_grad_enabled


def probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def margin(margin):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def broadcast_target(input, target):
    if input.size() == target.size():
        return
    from warnings import warn

    warn(
        f"Using a target size ({target.size()}) that is different to the input size "
        f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )


def weight_size(input, weight):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def probability_target(input, target):
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )


def logit_target(input, target):
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )


def batch_norm(input, running_mean, running_var, training, eps):
    if training and prod((*input.shape[:1], *input.shape[2:])) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    constant(running_mean, "native_batch_norm", "running_mean")
    constant(running_var, "native_batch_norm", "running_var")


def constant(t, function, name):
    """Refuses an argument that asks for a gradient nothing computes."""
    if t is not None and t.requires_grad and is_grad_enabled():
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{name}'. "
            "This input cannot have requires_grad True."
        )
