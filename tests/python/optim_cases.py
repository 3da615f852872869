"""Optimizers with their options, and the small problem that they are tried on."""

# (name, options): every option of every optimizer stands in one of them.
SETTINGS = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.5, "maximize": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "maximize": True, "betas": (0.5, 0.6)}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 6e-3}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adagrad", {"lr": 0.05}),
    ("Adagrad", {"lr": 0.05, "lr_decay": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.05, "initial_accumulator_value": 0.5, "eps": 1e-3}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.9}),
    ("RMSprop", {"lr": 0.01, "centered": True, "maximize": True, "eps": 1e-3}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.4, 1.3), "step_sizes": (1e-3, 0.05), "maximize": True}),
    ("ASGD", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "t0": 5, "weight_decay": 0.1, "lambd": 0.1, "alpha": 0.5}),
    ("ASGD", {"lr": 0.05, "maximize": True}),
    ("LBFGS", {"max_iter": 3}),
    ("LBFGS", {"max_iter": 3, "lr": 0.5, "history_size": 2}),
    ("LBFGS", {"max_iter": 4, "line_search_fn": "strong_wolfe"}),
    ("Adafactor", {"lr": 0.05}),
    ("Adafactor", {"lr": 0.05, "weight_decay": 0.1, "d": 1.5, "maximize": True}),
    ("Adafactor", {"lr": 0.05, "beta2_decay": -0.5, "eps": (1e-3, 1e-2)}),
    ("Muon", {"lr": 0.05}),
    ("Muon", {"lr": 0.05, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3}),
]
IDS = [f"{name}-{'-'.join(options) or 'plain'}" for name, options in SETTINGS]
# Optimizers whose step takes lists, and those with one kernel for all of it.
OVER_LISTS = {
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop",
    "ASGD",
}  # fmt: skip
FUSED = {"SGD", "Adam", "AdamW", "Adagrad"}


def parameters(t, dtype=None):
    """Three matrices, so that every optimizer takes them."""
    values = (
        [[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]],
        [[0.1, 0.2], [0.3, -0.4]],
        [[-0.7, 0.9]],
    )
    dtype = t.float32 if dtype is None else dtype
    return [t.tensor(value, dtype=dtype, requires_grad=True) for value in values]


def loss_of(params):
    """Curved, and not a quadratic: gradients differ from step to step."""
    a, b, c = params
    of_a, of_b, of_c = a * a * 0.5 + a.sin(), b * b + (b * 3).cos(), c * c * 0.3 + (c + 1).cos()
    return of_a.sum() + of_b.sum() + of_c.sum()


def run(params, optimizer, steps=20):
    """Steps of the optimizer on the loss; the parameters after each."""
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(params)
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
        seen.append([param.detach().flatten().tolist() for param in params])
    return seen
