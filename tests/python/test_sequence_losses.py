"""Losses of sequences, margins and linear layers against their plain definitions."""

import itertools
import math

import pytest
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda
from taeda.nn import functional as F


def paths_of(target, steps, blank):
    """Every sequence of labels that becomes `target` without repeats and blanks."""
    labels = sorted({blank, *target, 1, 2})
    for path in itertools.product(labels, repeat=steps):
        kept = [k for i, k in enumerate(path) if i == 0 or path[i - 1] != k]
        if [k for k in kept if k != blank] == list(target):
            yield path


def plain_ctc(scores, target, steps, blank):
    total = sum(
        math.exp(sum(scores[t][k] for t, k in enumerate(path)))
        for path in paths_of(target, steps, blank)
    )
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize(
    ("target", "steps", "blank"),
    [((1, 2), 4, 0), ((1, 1), 4, 0), ((2,), 3, 0), ((), 3, 0), ((1, 1), 2, 0), ((0, 1), 3, 2)],
)
def test_ctc_loss_adds_up_all_paths(target, steps, blank):
    taeda.manual_seed(1)
    scores = taeda.randn(4, 1, 3, dtype=taeda.float64).log_softmax(-1)
    targets = taeda.tensor([[*target, 0, 0]], dtype=taeda.int64)
    loss = F.ctc_loss(scores, targets, [steps], [len(target)], blank=blank, reduction="none")
    expected = plain_ctc(scores[:, 0].tolist(), target, steps, blank)
    assert loss.item() == pytest.approx(expected)


def test_ctc_loss_takes_targets_one_after_the_other():
    scores = taeda.randn(5, 2, 4).log_softmax(-1)
    apart = F.ctc_loss(scores, taeda.tensor([[1, 2, 3], [3, 0, 0]]), [5, 4], [3, 1])
    joined = F.ctc_loss(scores, taeda.tensor([1, 2, 3, 3]), [5, 4], [3, 1])
    lengths = taeda.tensor([5, 4]), taeda.tensor([3, 1])
    assert apart == joined == F.ctc_loss(scores, taeda.tensor([1, 2, 3, 3]), *lengths)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_lengths_in_tensors_are_part_of_a_trace(reduction, mode):
    def loss(scores, targets):
        steps = taeda.full((2,), len(scores))
        return F.ctc_loss(scores, targets, steps, (targets > 0).sum(1), reduction=reduction)

    def gradient(scores, targets):
        value = loss(scores, targets)
        return value, *taeda.autograd.grad(value.sum(), scores)

    scores = taeda.randn(5, 2, 4).log_softmax(-1).requires_grad_()
    traced = make_fx(gradient, tracing_mode=mode)(scores, taeda.tensor([[1, 2, 3], [3, 0, 0]]))
    calls = [node.target for node in traced.graph.nodes]
    assert taeda.ops.aten._ctc_loss.Tensor in calls
    others = taeda.tensor([[1, 2, 0], [3, 1, 2]])
    for one, other in zip(traced(scores, others), gradient(scores, others)):
        assert taeda.equal(one, other)


def test_ctc_gradient_is_that_of_the_scores_before_log_softmax():
    taeda.manual_seed(2)
    raw = taeda.randn(4, 2, 3, dtype=taeda.float64, requires_grad=True)
    targets = taeda.tensor([[1, 2], [2, 2]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), targets, [4, 3], [2, 2], reduction="sum")

    assert taeda.autograd.gradcheck(loss, (raw,))


def test_impossible_targets_cost_nothing_with_zero_infinity():
    scores = taeda.randn(2, 1, 3).log_softmax(-1).requires_grad_()
    targets = taeda.tensor([[1, 1]])
    assert F.ctc_loss(scores, targets, [2], [2]).item() == math.inf
    loss = F.ctc_loss(scores, targets, [2], [2], zero_infinity=True)
    (gradient,) = taeda.autograd.grad(loss, scores)
    assert loss.item() == 0 and not gradient.any()


def test_an_empty_input_has_the_likelihood_of_an_empty_target():
    scores = taeda.randn(3, 2, 3).log_softmax(-1)
    loss = F.ctc_loss(scores, taeda.tensor([[1], [1]]), [0, 0], [0, 1], reduction="none")
    assert loss.tolist() == [0, math.inf]


@pytest.mark.parametrize(
    ("lengths", "phrase"),
    [
        (([5], [1]), "input_lengths must be of size batch_size"),
        (([6, 5], [1, 1]), "Expected input_lengths to have value at most 5, but got value 6"),
        (([5, 5], [-1, 1]), "Expected target_lengths to have value at least 0"),
        (([5, 5], [3, 1]), "Expected tensor to have size at least 3 at dimension 1"),
    ],
)
def test_ctc_loss_refuses_lengths_that_do_not_fit(lengths, phrase):
    scores = taeda.zeros(5, 2, 3)
    with pytest.raises(RuntimeError, match=phrase):
        F.ctc_loss(scores, taeda.tensor([[1, 2], [1, 2]]), *lengths)


# ---- margins ----
def plain_multi_margin(rows, targets, p, margin, weight):
    losses = []
    for row, y in zip(rows, targets):
        parts = [max(0.0, margin - row[y] + x) ** p for k, x in enumerate(row) if k != y]
        losses.append(weight[y] * sum(parts) / len(row))
    return losses


@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss_is_its_definition(p):
    x = taeda.randn(4, 3, dtype=taeda.float64)
    weight = taeda.tensor([0.5, 2.0, 1.5], dtype=taeda.float64)
    targets = [2, 0, 1, 1]
    loss = F.multi_margin_loss(x, taeda.tensor(targets), p, 0.7, weight, reduction="none")
    expected = plain_multi_margin(x.tolist(), targets, p, 0.7, weight.tolist())
    assert loss.tolist() == pytest.approx(expected)


def test_multi_margin_loss_has_second_derivatives():
    x = taeda.randn(3, 4, dtype=taeda.float64, requires_grad=True)
    target = taeda.tensor([1, 0, 3])
    assert taeda.autograd.gradgradcheck(lambda a: F.multi_margin_loss(a, target, p=2), (x,))


def plain_multilabel(row, labels):
    named = list(itertools.takewhile(lambda k: k >= 0, labels))
    others = [k for k in range(len(row)) if k not in named]
    pairs = itertools.product(named, others)
    return sum(max(0.0, 1 - row[a] + row[b]) for a, b in pairs) / len(row)


def test_multilabel_margin_loss_ends_at_minus_one():
    x = taeda.randn(3, 4, dtype=taeda.float64)
    labels = [[3, 0, -1, 1], [-1, 2, 2, 2], [1, 1, 2, -1]]
    loss = F.multilabel_margin_loss(x, taeda.tensor(labels), reduction="none")
    expected = [plain_multilabel(row, y) for row, y in zip(x.tolist(), labels)]
    assert loss.tolist() == pytest.approx(expected)


def test_multilabel_targets_outside_the_classes_are_refused():
    with pytest.raises(RuntimeError, match="is out of range"):
        F.multilabel_margin_loss(taeda.zeros(3), taeda.tensor([3, -1, 0]))


def test_a_distance_of_your_own_separates_triplets():
    a, b, c = taeda.randn(3, 2, 4).unbind(0)
    norm = taeda.pairwise_distance
    same = F.triplet_margin_loss(a, b, c, swap=True)
    assert F.triplet_margin_with_distance_loss(a, b, c, swap=True).allclose(same)
    doubled = F.triplet_margin_with_distance_loss(
        a, b, c, distance_function=lambda x, y: 2 * norm(x, y), margin=0.5, reduction="none"
    )
    assert doubled.allclose((0.5 + 2 * norm(a, b) - 2 * norm(a, c)).clamp_min(0))


# ---- the scores of a linear layer ----
class Blocks:
    """The one field of LinearCrossEntropyOptions that the function reads."""

    def __init__(self, size):
        self.batch_chunk_size = size


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("size", [1, 3, 8, None])
def test_blocks_give_the_loss_and_gradients_of_the_whole(reduction, size):
    taeda.manual_seed(3)
    x, w, b = (taeda.randn(*s, dtype=taeda.float64) for s in [(7, 5), (4, 5), (4,)])
    target = taeda.tensor([0, 3, -100, 1, 1, 2, 0])
    weight = taeda.tensor([1.0, 0.5, 2.0, 1.5], dtype=taeda.float64)

    def loss(options):
        leaves = [t.clone().requires_grad_() for t in (x, w, b)]
        out = F.linear_cross_entropy(
            leaves[0],
            leaves[1],
            target,
            linear_bias=leaves[2],
            weight=weight,
            reduction=reduction,
            options=options,
        )
        return out, *taeda.autograd.grad((out * out).sum(), leaves)

    for got, expected in zip(loss(Blocks(size)), loss(None)):
        taeda.testing.assert_close(got, expected)


def test_blocks_have_second_derivatives():
    x = taeda.randn(3, 2, dtype=taeda.float64, requires_grad=True)
    w = taeda.randn(4, 2, dtype=taeda.float64, requires_grad=True)
    target = taeda.tensor([1, 0, 3])
    assert taeda.autograd.gradgradcheck(
        lambda a, c: F.linear_cross_entropy(a, c, target, options=Blocks(2)), (x, w)
    )


def test_blocks_are_not_for_probabilities():
    x, w = taeda.randn(3, 2), taeda.randn(4, 2)
    target = taeda.rand(3, 4)
    with pytest.warns(UserWarning, match="``options`` ignored"):
        loss = F.linear_cross_entropy(x, w, target, options=Blocks(2))
    assert loss.allclose(F.cross_entropy(x @ w.T, target))


def test_probabilities_ignore_no_index():
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified"):
        F.linear_cross_entropy(
            taeda.zeros(3, 2), taeda.zeros(4, 2), taeda.zeros(3, 4), ignore_index=1
        )
