"""Distributions with a value to ask them about, and everything that they say, as plain data."""

import itertools
import math


def cases(t):
    """(class, arguments, a value in the support)"""

    def f(*values):
        return t.tensor(values, dtype=t.float64)

    rows = t.tensor([[0.5, 2, 3], [1, 4, 0.2]], dtype=t.float64)
    simplex = t.tensor([[0.5, 0.2, 0.3], [0.1, 0.4, 0.5]], dtype=t.float64)
    pairs = t.tensor([[0.5, 2], [1, 4]], dtype=t.float64)
    loc_scale = {"loc": f(0.5, -1.0), "scale": f(1.5, 0.3)}
    shape_rate = {"concentration": f(0.5, 3.0), "rate": f(1.5, 0.3)}
    two = {"concentration1": f(0.5, 3.0), "concentration0": f(1.5, 0.3)}
    value, counts = f(0.2, 0.7), f(0, 3)
    matrix = t.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=t.float64)
    matrices = t.stack([matrix, matrix * 3 + t.eye(2, dtype=t.float64)])
    thin = t.tensor([[0.5], [-1.2]], dtype=t.float64)
    correlated = t.tensor([[1.0, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8]], dtype=t.float64)
    return [
        *((name, loc_scale, value) for name in ("Normal", "Cauchy", "Laplace", "LogNormal")),
        ("Gumbel", loc_scale, value),
        ("Normal", {"loc": 0, "scale": 2.0}, f(0.1)),
        ("Uniform", {"low": f(0.5, -1.0), "high": f(1.5, 0.3)}, f(0.7, 0.1)),
        ("Uniform", {"low": f(0.1, 0.25), "high": f(0.5, 0.75)}, f(0.2, 0.5)),
        ("Exponential", {"rate": f(0.5, 2.0)}, value),
        ("Gamma", shape_rate, value),
        ("InverseGamma", shape_rate, value),
        ("Chi2", {"df": f(0.5, 3.0)}, value),
        ("Beta", two, value),
        ("Kumaraswamy", {"concentration1": f(1.5, 3.0), "concentration0": f(1.5, 1.3)}, value),
        ("Dirichlet", {"concentration": rows}, simplex),
        ("FisherSnedecor", {"df1": f(5.5, 3.0), "df2": f(6.5, 9.3)}, value),
        ("StudentT", {"df": f(1.5, 3.0), "loc": f(0.5, -1), "scale": f(2.0, 0.3)}, value),
        ("VonMises", {"loc": f(0.1, 0.2), "concentration": f(1.5, 0.3)}, value),
        ("Bernoulli", {"probs": f(0.1, 0.2)}, f(0, 1)),
        ("Bernoulli", {"logits": f(0.1, -0.2)}, f(0, 1)),
        ("Binomial", {"total_count": 4, "probs": f(0.1, 0.2)}, counts),
        ("Binomial", {"total_count": 4, "logits": f(0.1, -3)}, counts),
        ("Geometric", {"probs": f(0.1, 0.2)}, counts),
        ("Geometric", {"logits": f(0.1, 0.2)}, counts),
        ("NegativeBinomial", {"total_count": f(4, 2.5), "probs": f(0.1, 0.2)}, counts),
        ("ContinuousBernoulli", {"probs": f(0.1, 0.5)}, value),
        ("ContinuousBernoulli", {"logits": f(0.1, -2.0)}, value),
        ("Poisson", {"rate": f(0.1, 3.5)}, counts),
        ("Categorical", {"probs": rows}, t.tensor([2, 0])),
        ("Categorical", {"logits": rows}, t.tensor([2, 0])),
        ("OneHotCategorical", {"probs": rows}, t.eye(3, dtype=t.float64)[:2]),
        ("OneHotCategoricalStraightThrough", {"logits": rows}, t.eye(3, dtype=t.float64)[1:]),
        ("Multinomial", {"total_count": 4, "probs": rows}, f(0, 1, 3).expand(2, 3)),
        ("LogisticNormal", {"loc": pairs, "scale": pairs}, simplex),
        ("HalfNormal", {"scale": f(1.5, 0.3)}, value),
        ("HalfCauchy", {"scale": f(1.5, 0.3)}, value),
        ("Pareto", {"scale": f(0.1, 0.5), "alpha": f(1.5, 2.3)}, value),
        ("Weibull", {"scale": f(0.5, 3.0), "concentration": f(1.5, 1.3)}, value),
        ("RelaxedBernoulli", {"temperature": f(0.5), "probs": f(0.2, 0.7)}, value),
        ("RelaxedOneHotCategorical", {"temperature": f(0.5), "probs": rows}, simplex),
        ("MultivariateNormal", {"loc": pairs, "covariance_matrix": matrices}, pairs * 2),
        ("MultivariateNormal", {"loc": f(0.5, 2), "precision_matrix": matrices}, pairs),
        ("MultivariateNormal", {"loc": pairs, "scale_tril": matrix.tril()}, f(0.1, -0.7)),
        ("LowRankMultivariateNormal", {"loc": pairs, "cov_factor": thin, "cov_diag": value}, pairs),
        (
            "LowRankMultivariateNormal",
            {"loc": value, "cov_factor": matrices, "cov_diag": pairs},
            value,
        ),
        ("Wishart", {"df": f(3.5, 4), "covariance_matrix": matrices}, matrix),
        ("Wishart", {"df": f(2.5, 4), "precision_matrix": matrix}, matrices),
        ("Wishart", {"df": f(7.5, 4), "scale_tril": matrix.tril()}, matrices),
        ("LKJCholesky", {"dim": 3, "concentration": f(0.5, 2)}, correlated),
    ]


PROPERTIES = (
    *("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "support"),
    *("has_rsample", "has_enumerate_support", "arg_constraints"),
)


def plain(value):
    """Numbers of tensors as lists, with names for those that JSON lacks; texts of all else."""
    if hasattr(value, "tolist"):
        value = value.detach().tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, (bool, int)) else repr(value).replace("taeda", "torch")


def said(function, *arguments):
    try:
        return plain(function(*arguments))
    except NotImplementedError:
        return "not implemented"
    except ValueError as error:
        return str(error).splitlines()[0]


def facts(t, name, arguments, value):
    """What one distribution says."""
    made = getattr(t.distributions, name)(**arguments)
    seen = {p: said(lambda p=p: getattr(made, p)) for p in PROPERTIES}
    seen["repr"] = repr(made).replace("taeda", "torch")
    seen["log_prob"] = said(made.log_prob, value)
    seen["entropy"] = said(made.entropy)
    seen["cdf"] = said(made.cdf, value)
    seen["icdf"] = said(made.icdf, t.tensor([0.2, 0.7], dtype=t.float64))
    seen["enumerate_support"] = said(made.enumerate_support)
    expanded = made.expand((3, *made.batch_shape))
    seen["expanded"] = [repr(expanded.batch_shape), said(expanded.log_prob, value)]
    seen["sampled"] = repr(made.sample((5,)).shape)
    seen["refused"] = said(made.log_prob, value * math.nan)
    return seen


def gradients(t, name, arguments, value):
    """The derivatives of log_prob by the parameters and the value."""
    given = {k: v.clone().requires_grad_() for k, v in arguments.items() if hasattr(v, "clone")}
    if value.is_floating_point():
        value = value.clone().requires_grad_()
    made = getattr(t.distributions, name)(**{**arguments, **given})
    made.log_prob(value).sum().backward()
    return {k: plain(v.grad) for k, v in {**given, "value": value}.items() if v.requires_grad}


def divergences(t):
    """KL of all pairs of classes, by their places in the list."""
    made = [getattr(t.distributions, name)(**arguments) for name, arguments, _ in cases(t)]
    pairs = itertools.product(enumerate(made), repeat=2)
    return {f"{i} {j}": said(t.distributions.kl_divergence, p, q) for (i, p), (j, q) in pairs}


TRANSFORMS = {
    "Exp": ("ExpTransform()", [0.3, -1.2]),
    "Power": ("PowerTransform(2.5)", [0.3, 1.2]),
    "Sigmoid": ("SigmoidTransform()", [0.3, -1.2]),
    "Softplus": ("SoftplusTransform()", [0.3, -1.2]),
    "Tanh": ("TanhTransform()", [0.3, -1.2]),
    "Affine": ("AffineTransform(0.5, -2.0)", [0.3, -1.2]),
    "AffineEvent": ("AffineTransform(0.5, -2.0, event_dim=1)", [0.3, -1.2]),
    "CorrCholesky": ("CorrCholeskyTransform()", [0.3, -1.2, 0.5]),
    "StickBreaking": ("StickBreakingTransform()", [0.3, -1.2, 0.5]),
    "Reshape": ("ReshapeTransform((4,), (2, 2))", [0.3, -1.2, 0.5, 2.0]),
    "Compose": ("ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])", [0.3, -1.2]),
    "Inverse": ("ExpTransform().inv", [0.3, 1.2]),
    "Independent": ("IndependentTransform(TanhTransform(), 1)", [0.3, -1.2]),
    "Cat": ("CatTransform([ExpTransform(), TanhTransform()], -1, [1, 2])", [0.3, -1.2, 0.1]),
    "Stack": ("StackTransform([ExpTransform(), TanhTransform()], -1)", [0.3, -1.2]),
    "LowerCholesky": ("LowerCholeskyTransform()", [[0.3, -1.2], [0.5, 2.0]]),
    "PositiveDefinite": ("PositiveDefiniteTransform()", [[0.3, -1.2], [0.5, 2.0]]),
    "Cumulative": ("CumulativeDistributionTransform(Normal(0.5, 2.0))", [0.3, -1.2]),
}
CONSTRAINTS = {
    "real": "constraints.real",
    "positive": "constraints.positive",
    "greater_than": "constraints.greater_than(2.0)",
    "less_than": "constraints.less_than(2.0)",
    "interval": "constraints.interval(-1.0, 3.0)",
    "unit_interval": "constraints.unit_interval",
    "simplex": "constraints.simplex",
    "corr_cholesky": "constraints.corr_cholesky",
    "independent": "constraints.independent(constraints.positive, 1)",
    "cat": "constraints.cat([constraints.real, constraints.positive], -1, [1, 2])",
    "stack": "constraints.stack([constraints.real, constraints.positive, constraints.real], -1)",
}


def transformed(t):
    """Values, inverses and Jacobians of transforms; where registered ones lead."""
    names = vars(t.distributions)
    seen = {}
    for name, (source, numbers) in TRANSFORMS.items():
        transform = eval(source, {}, dict(names))
        x = t.tensor(numbers, dtype=t.float64)
        y = transform(x)
        seen[name] = [
            repr(transform),
            *(said(lambda p=p, made=transform: getattr(made, p)) for p in ("bijective", "sign")),
            *(repr(getattr(transform, p).event_dim) for p in ("domain", "codomain")),
            *map(plain, (y, transform.inv(y))),
            said(transform.log_abs_det_jacobian, x, y),
        ]
    x = t.tensor([0.3, -1.2, 0.5], dtype=t.float64)
    for name, source in CONSTRAINTS.items():
        constraint = eval(source, {}, dict(names))
        y = t.distributions.biject_to(constraint)(x)
        checked = constraint.check(y)
        seen[f"to {name}"] = [
            repr(constraint),
            plain(y),
            plain(checked),
            plain(constraint.check(-y)),
        ]
    return seen


def everything(t):
    made = cases(t)
    return {
        "facts": [facts(t, *case) for case in made],
        "gradients": [gradients(t, *case) for case in made],
        "divergences": divergences(t),
        "transforms": transformed(t),
    }
