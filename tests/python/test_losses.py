"""Tests losses: values against NumPy, gradients against differences, reductions and errors."""

import warnings

import pytest
from central_differences import differences
from under_test import t

np = pytest.importorskip("numpy")

F = t.nn.functional
RNG = np.random.default_rng(11)


def values(*shape):
    return RNG.standard_normal(shape)


def log_softmax(x, axis=1):
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def nll(log_probabilities, target, weight=None, ignore=-100, reduction="mean"):
    """Classes in dimension 1; the mean divides by the sum of the weights in use."""
    classes = log_probabilities.shape[1]
    weight = np.ones(classes) if weight is None else weight
    used = target != ignore
    picked = np.where(used, target, 0)
    w = weight[picked] * used
    each = -np.take_along_axis(log_probabilities, picked[:, None], 1)[:, 0] * w
    return {"none": each, "sum": each.sum(), "mean": each.sum() / w.sum()}[reduction]


def close(got, want, tolerance=1e-10):
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5), (2, 4, 3, 2), (2, 4, 2, 3, 2)])
def test_class_targets(shape, weighted, reduction):
    x = values(*shape)
    target = RNG.integers(0, 4, (shape[0], *shape[2:]))
    target.reshape(-1)[1] = 2
    weight = np.array([0.5, 1.0, 2.0, 1.5]) if weighted else None
    given = None if weight is None else t.tensor(weight)
    for ignore in (-100, 2):
        args = (t.tensor(target), given, None, ignore, None, reduction)
        close(F.nll_loss(t.tensor(x), *args), nll(x, target, weight, ignore, reduction))
        close(
            F.cross_entropy(t.tensor(x), *args),
            nll(log_softmax(x), target, weight, ignore, reduction),
        )


def test_cross_entropy_reads_any_layout():
    x, target = values(5, 7), t.tensor([0, 6, 3, 3, 1])
    want = nll(log_softmax(x), target.numpy())
    close(F.cross_entropy(t.tensor(x.T.copy()).t(), target), want)
    close(F.cross_entropy(t.tensor(np.repeat(x, 2, 1))[:, ::2], target), want)
    close(F.cross_entropy(t.tensor(x.astype("float32")), target), want, 1e-5)


def test_cross_entropy_does_not_overflow():
    x = t.tensor([[1000.0, 0.0], [-1000.0, -1000.0]])
    close(F.cross_entropy(x, t.tensor([0, 1]), reduction="none"), [0, np.log(2)], 1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_probabilities_and_smoothing(reduction):
    x, p = values(6, 4), np.exp(log_softmax(values(6, 4)))
    each = -(log_softmax(x) * p).sum(1)
    want = {"none": each, "sum": each.sum(), "mean": each.mean()}[reduction]
    close(F.cross_entropy(t.tensor(x), t.tensor(p), reduction=reduction), want)
    target = RNG.integers(0, 4, 6)
    smooth = np.eye(4)[target] * 0.9 + 0.1 / 4
    each = -(log_softmax(x) * smooth).sum(1)
    want = {"none": each, "sum": each.sum(), "mean": each.mean()}[reduction]
    close(
        F.cross_entropy(t.tensor(x), t.tensor(target), reduction=reduction, label_smoothing=0.1),
        want,
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name, each", [("mse_loss", np.square), ("l1_loss", np.abs)])
def test_differences(name, each, reduction):
    reduce = {"none": lambda v: v, "mean": np.mean, "sum": np.sum}[reduction]
    a, b = values(40, 301), values(40, 301)
    f = getattr(F, name)
    close(f(t.tensor(a), t.tensor(b), reduction=reduction), reduce(each(a - b)))
    close(f(t.tensor(a).t(), t.tensor(b.T.copy()), reduction=reduction), reduce(each(a - b).T))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(f(t.tensor(a), t.tensor(b[0]), reduction=reduction), reduce(each(a - b[0])))
    assert f(t.tensor(a).bfloat16(), t.tensor(b).float()).dtype == t.float32


def test_sums_do_not_depend_on_threads():
    x, y = (
        t.tensor(values(300, 1001).astype("float32")),
        t.tensor(values(300, 1001).astype("float32")),
    )
    target = t.tensor(RNG.integers(0, 1001, 300))
    before, results = t.get_num_threads(), set()
    for threads in (1, 2, 3):
        t.set_num_threads(threads)
        results.add(
            (
                F.mse_loss(x, y).item(),
                F.cross_entropy(x, target).item(),
                F.nll_loss(x, target).item(),
            )
        )
    t.set_num_threads(before)
    assert len(results) == 1


TARGET = t.tensor([0, 2, 2, 1])
LOSSES = {
    "nll_loss": (lambda x, _: F.nll_loss(x, TARGET), False),
    "nll_loss_ignoring": (
        lambda x, _: F.nll_loss(x, TARGET, ignore_index=2, reduction="sum"),
        False,
    ),
    "nll_loss2d": (lambda x, _: F.nll_loss(x.view(2, 3, 2, 1), TARGET.view(2, 2, 1)), False),
    "cross_entropy": (lambda x, _: F.cross_entropy(x, TARGET), False),
    "cross_entropy_none": (lambda x, _: F.cross_entropy(x, TARGET, reduction="none"), False),
    "cross_entropy_ignoring": (lambda x, _: F.cross_entropy(x, TARGET, ignore_index=2), False),
    "cross_entropy_smoothed": (lambda x, _: F.cross_entropy(x, TARGET, label_smoothing=0.2), False),
    "cross_entropy_probabilities": (lambda x, y: F.cross_entropy(x, y), True),
    "mse_loss": (lambda x, y: F.mse_loss(x, y), True),
    "mse_loss_none": (lambda x, y: F.mse_loss(x, y, reduction="none"), True),
    "mse_loss_sum": (lambda x, y: F.mse_loss(x, y, reduction="sum"), True),
    "l1_loss": (lambda x, y: F.l1_loss(x, y), True),
    "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.7), True),
    "huber_loss": (lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.7), True),
    "soft_margin_loss": (lambda x, _: F.soft_margin_loss(x, SIGNS, reduction="sum"), False),
    "binary_cross_entropy": (
        lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), WEIGHT),
        True,
    ),
    "binary_cross_entropy_with_logits": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=WEIGHT),
        True,
    ),
    "kl_div": (lambda x, y: F.kl_div(x, y.exp(), reduction="batchmean"), True),
    "poisson_nll_loss": (lambda x, y: F.poisson_nll_loss(x, y.exp(), full=True), True),
    "gaussian_nll_loss": (lambda x, y: F.gaussian_nll_loss(x, y, WEIGHT.expand(4, 3)), True),
    "cosine_embedding_loss": (
        lambda x, y: F.cosine_embedding_loss(x, y, SIGNS[:, 0], 0.1, reduction="none"),
        True,
    ),
    "triplet_margin_loss": (lambda x, y: F.triplet_margin_loss(x, y, x.flip(0)), True),
}
SIGNS = t.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]]).double()
WEIGHT = t.tensor([0.5, 1.0, 2.0], dtype=t.float64)


@pytest.mark.parametrize(
    "transformed",
    [lambda f, v: t.func.grad(f)(v), lambda f, v: t.func.jvp(f, (v,), (v,))],
    ids=["grad", "jvp"],
)
def test_variances_below_zero_are_refused_under_transforms(transformed):
    def loss(variance):
        return F.gaussian_nll_loss(t.ones(3), t.zeros(3), variance)

    transformed(loss, t.ones(3))
    with pytest.raises(ValueError, match="var has negative entry/entries"):
        transformed(loss, t.tensor([1.0, -1.0, 1.0]))


def squared(loss):
    return (loss * loss * t.arange(1, loss.numel() + 1, dtype=t.float64).view(loss.shape)).sum()


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_match_differences(name):
    loss, has_target = LOSSES[name]
    arrays = [values(4, 3), values(4, 3)] if has_target else [values(4, 3)]

    def number(*inputs):
        return squared(loss(inputs[0], inputs[-1]))

    def slope(*inputs):
        inputs = [i.detach().requires_grad_() for i in inputs]
        return sum((g * g).sum() for g in t.autograd.grad(number(*inputs), inputs))

    leaves = [t.tensor(a).requires_grad_() for a in arrays]
    for got, want in zip(t.autograd.grad(number(*leaves), leaves), differences(number, arrays)):
        close(got, want, 1e-6)
    recorded = t.autograd.grad(number(*leaves), leaves, create_graph=True)
    seconds = t.autograd.grad(sum((g * g).sum() for g in recorded), leaves)
    for got, want in zip(seconds, differences(slope, arrays)):
        close(got, want, 1e-5)


def test_empty_batches():
    assert np.isnan(F.nll_loss(t.zeros(0, 3), t.zeros(0, dtype=t.int64)).item())
    assert np.isnan(F.cross_entropy(t.zeros(0, 3), t.zeros(0, dtype=t.int64)).item())
    assert F.cross_entropy(t.zeros(0, 3), t.zeros(0, dtype=t.int64), reduction="sum").item() == 0
    assert np.isnan(F.mse_loss(t.zeros(0), t.zeros(0)).item())


CALLS = [
    "F.smooth_l1_loss(x, y)",
    "F.smooth_l1_loss(x, y, beta=0.5, reduction='none')",
    "F.smooth_l1_loss(x, y, beta=0.0)",
    "F.huber_loss(x, y, delta=0.5)",
    "F.huber_loss(x, y, weight=p)",
    "F.mse_loss(x, y, weight=p)",
    "F.l1_loss(x, y, weight=p, reduction='none')",
    "F.soft_margin_loss(x, s)",
    "F.binary_cross_entropy(p, q)",
    "F.binary_cross_entropy(p, q, weight=y.exp(), reduction='none')",
    "F.binary_cross_entropy_with_logits(x, q)",
    "F.binary_cross_entropy_with_logits(x, q, weight=p, pos_weight=p[0], reduction='sum')",
    "F.kl_div(x, q)",
    "F.kl_div(x, y, log_target=True, reduction='batchmean')",
    "F.poisson_nll_loss(x, 4 * q)",
    "F.poisson_nll_loss(p, 4 * q, log_input=False, full=True)",
    "F.gaussian_nll_loss(x, y, p, full=True)",
    "F.gaussian_nll_loss(x, y, p[:, 0])",
    "F.hinge_embedding_loss(x, s, 0.5)",
    "F.margin_ranking_loss(x, y, s, 0.1)",
    "F.cosine_embedding_loss(x, y, s[:, 0], 0.1)",
    "F.triplet_margin_loss(x, y, q)",
    "F.triplet_margin_loss(x, y, q, p=1, swap=True, reduction='none')",
    "F.gaussian_nll_loss(x, y, 0.5)",
]
ARRAYS = {"x": values(4, 3), "y": values(4, 3), "s": np.sign(values(4, 3))}
ARRAYS |= {"p": RNG.uniform(0.1, 0.9, (4, 3)), "q": RNG.uniform(0.1, 0.9, (4, 3))}


@pytest.mark.parametrize("call", CALLS)
def test_values_and_gradients_are_those_of_pytorch(torch, call):
    found = []
    for m in (t, torch):
        given = {name: m.tensor(array) for name, array in ARRAYS.items()}
        leaf = given["x" if "x" in call.split("(")[1].split(",")[0] else "p"].requires_grad_()
        loss = eval(call, {"F": m.nn.functional, **given})
        (loss * loss).sum().backward()
        found.append((loss.detach().numpy(), leaf.grad.numpy()))
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda: F.smooth_l1_loss(L([0.0, 0.0]), L([0.5, 3.0]), reduction="none"), [0.125, 2.5]),
        (lambda: F.huber_loss(L([0.0, 0.0]), L([0.5, 3.0]), "none", 2.0), [0.125, 4.0]),
        (lambda: F.binary_cross_entropy(L([0.0, 1.0]), L([1.0, 1.0]), reduction="none"), [100, 0]),
        (lambda: F.binary_cross_entropy_with_logits(L([-900.0]), L([1.0])), 900),
        (lambda: F.kl_div(L([-1.0, -1.0]), L([0.0, 1.0]), reduction="sum"), 1),
        (lambda: F.hinge_embedding_loss(L([3.0, 0.25]), L([1, -1]), reduction="none"), [3, 0.75]),
        (lambda: F.margin_ranking_loss(L([1.0]), L([3.0]), L([1.0]), margin=0.5), 2.5),
        (lambda: F.triplet_margin_loss(L([0.0]), L([2.0]), L([1.0]), eps=0.0), 2),
        (lambda: F.cosine_embedding_loss(L([[1.0, 0.0]]), L([[0.0, 1.0]]), L([1])), 1),
    ],
)
def test_known_values(call, want):
    close(call(), want, 1e-6)


X = t.zeros(2, 3)
L = t.tensor
ERRORS = [
    (lambda: F.nll_loss(X, L([0, 5])), IndexError, "Target 5 is out of bounds."),
    (lambda: F.cross_entropy(X, L([0, -1])), IndexError, "Target -1 is out of bounds."),
    (
        lambda: F.nll_loss(X, L([0])),
        ValueError,
        r"Expected input batch_size \(2\) to match target batch_size \(1\).",
    ),
    (
        lambda: F.nll_loss(X, L([0.0, 1.0])),
        RuntimeError,
        "expected target dtype to be Long or Byte, but got Float",
    ),
    (
        lambda: F.nll_loss(X, L([0, 1]), t.ones(2)),
        RuntimeError,
        "weight tensor should be defined either for all 3 classes or no classes",
    ),
    (
        lambda: F.nll_loss(X[None], L([[0, 1]])),
        RuntimeError,
        r"Expected target size \[1, 3\], got \[1, 2\]",
    ),
    (
        lambda: F.cross_entropy(X, L([0, 1]), label_smoothing=2.0),
        RuntimeError,
        "label_smoothing must be between 0.0 and 1.0. Got: 2",
    ),
    (
        lambda: F.cross_entropy(X, X, ignore_index=1),
        RuntimeError,
        "ignore_index is not supported for floating point target",
    ),
    (
        lambda: F.cross_entropy(X, X.long()),
        RuntimeError,
        "Expected floating point type for target with class probabilities, got Long",
    ),
    (
        lambda: F.mse_loss(X.long(), X.long()),
        NotImplementedError,
        "\"mse_cpu\" not implemented for 'Long'",
    ),
    (
        lambda: F.mse_loss(X, X, reduction="all"),
        ValueError,
        "all is not a valid value for reduction",
    ),
    (
        lambda: F.smooth_l1_loss(X, X, beta=-1.0),
        RuntimeError,
        "smooth_l1_loss does not support negative values for beta.",
    ),
    (
        lambda: F.huber_loss(X, X, delta=0.0),
        RuntimeError,
        "huber_loss does not support non-positive values for delta.",
    ),
    (
        lambda: F.mse_loss(X, X, weight=X[0]),
        ValueError,
        "Weights and input must have the same size.",
    ),
    (
        lambda: F.gaussian_nll_loss(X, X, X - 1),
        ValueError,
        "var has negative entry/entries",
    ),
    (
        lambda: F.cosine_embedding_loss(X, X, X),
        RuntimeError,
        "0D or 1D target tensor expected, multi-target not supported",
    ),
    (
        lambda: F.triplet_margin_loss(X, X, X[0]),
        RuntimeError,
        "anchor, positive, and negative tensors are expected to have the same number of dim",
    ),
    (
        lambda: F.margin_ranking_loss(X, X, X[0]),
        RuntimeError,
        "margin_ranking_loss : All input tensors should have same dimension but got sizes",
    ),
]


@pytest.mark.parametrize("call, kind, phrase", ERRORS, ids=range(len(ERRORS)))
def test_errors(call, kind, phrase):
    with pytest.raises(kind, match=phrase):
        call()


def test_variances_of_a_normal_distribution():
    loss = t.nn.functional.gaussian_nll_loss
    x, y = t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.zeros(2, 2)
    rows = t.tensor([1.0, 4.0])  # one per row, not one per column
    each = loss(x, y, t.tensor([[1.0, 1.0], [4.0, 4.0]]), reduction="none")
    assert loss(x, y, rows, reduction="none").equal(each)
    assert loss(x, y, rows[:, None], reduction="none").equal(each)
    for wrong in (t.ones(3), t.ones(1, 1), t.ones(2, 2, 1)):
        with pytest.raises(ValueError, match="var is of incorrect size"):
            loss(x, y, wrong)


# ---- what is refused, and dtypes ----
@pytest.mark.parametrize("name", ["input", "target"])
@pytest.mark.parametrize("bad", [1.5, -0.5, float("nan"), float("inf")])
def test_probabilities_outside_their_range(name, bad):
    given = {"input": t.tensor([0.5, 0.5]), "target": t.tensor([0.0, 1.0])}
    given[name][1] = bad
    with pytest.raises(RuntimeError, match=f"all elements of {name} should be between 0 and 1"):
        F.binary_cross_entropy(**given)


def test_probabilities_at_the_ends_of_their_range():
    loss = F.binary_cross_entropy(t.tensor([0.0, 1.0]), t.tensor([1.0, 0.0]), reduction="none")
    assert loss.tolist() == [100, 100]


def test_the_divergence_per_example():
    x, y = t.rand(4, 3).log(), t.rand(4, 3)
    expected = F.kl_div(x, y, reduction="sum") / 4
    assert t.equal(F.kl_div(x, y, reduction="batchmean"), expected)
    number = F.kl_div(t.tensor(-1.0), t.tensor(0.5), reduction="batchmean")
    assert t.equal(number, F.kl_div(t.tensor(-1.0), t.tensor(0.5), reduction="sum"))


def test_the_divergence_of_zero_targets():
    assert F.kl_div(t.zeros(2), t.tensor([0.0, 1.0]), reduction="none").tolist() == [0, 0]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_huber_has_the_dtype_of_its_input(reduction):
    loss = F.huber_loss(t.ones(2).half(), t.zeros(2), reduction=reduction)
    assert loss.dtype == t.float16


def test_weighted_huber_divides_by_the_count():
    x, weight = t.tensor([0.5, 3.0]), t.tensor([2.0, 4.0])
    loss = F.huber_loss(x, t.zeros(2), weight=weight)
    assert loss.item() == (2 * 0.125 + 4 * 2.5) / 2


def test_a_weight_has_the_size_of_the_input():
    x, target = t.zeros(1, 3), t.ones(2, 3)
    for loss in (F.mse_loss, F.l1_loss, F.huber_loss):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert loss(x, target, weight=t.ones(1, 3)).isfinite()
            with pytest.raises(ValueError, match="must have the same size"):
                loss(x, target, weight=t.ones(2, 3))


def test_dtypes_of_probabilities():
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        F.binary_cross_entropy(t.ones(2), t.ones(2, dtype=t.float64))


def test_variances_as_numbers():
    whole = t.ones(2, dtype=t.int64)
    expected = F.gaussian_nll_loss(t.ones(2), t.ones(2), t.full((2,), 0.5))
    assert t.equal(F.gaussian_nll_loss(whole, t.ones(2), 0.5), expected)
    with pytest.raises(ValueError, match="var has negative"):
        F.gaussian_nll_loss(t.ones(2, device="meta"), t.ones(2, device="meta"), -0.5)
    infinite = F.gaussian_nll_loss(t.ones(2), t.ones(2), t.full((2,), float("inf")))
    assert infinite.item() == float("inf")


def test_old_names_of_reductions():
    x, y = t.rand(2, 3), t.rand(2, 3)
    with pytest.warns(UserWarning, match="'elementwise_mean' is deprecated"):
        assert t.equal(F.l1_loss(x, y, reduction="elementwise_mean"), F.l1_loss(x, y))
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(x, y)
    with pytest.warns(UserWarning, match="reduction='sum' instead"):
        old = F.kl_div(x, y, size_average=False, reduction="batchmean")
    assert t.equal(old, F.kl_div(x, y, reduction="batchmean"))


def test_ctc_loss_has_no_second_derivative():
    x = t.randn(6, 2, 4, dtype=t.float64, requires_grad=True)
    targets = t.tensor([[1, 2, 2], [3, 1, 0]])
    loss = t.nn.functional.ctc_loss(x.log_softmax(-1), targets, (6, 5), (3, 2))
    (grad,) = t.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="_ctc_loss_backward is not implemented"):
        t.autograd.grad((grad * x.detach()).sum(), x)
