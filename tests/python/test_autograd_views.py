"""Tests of in-place writes through views and their bases, and of inference tensors."""

import pytest
from under_test import t


def leaf(*sizes):
    return t.ones(*sizes, requires_grad=True)


def test_write_to_a_view_of_a_view_reaches_base_and_siblings():
    a = leaf(4)
    b = a * 1
    v = b.view(2, 2)
    w = v[0]
    w.mul_(2)
    assert w._base is b and "CopySlices" in b.grad_fn.name()
    assert v.grad_fn.name() == w.grad_fn.name() == "AsStridedBackward0"
    (b.sum() + v.sum()).backward()
    assert a.grad.tolist() == [4.0, 4.0, 2.0, 2.0]


def test_overlapping_views_compose():
    a = leaf(4)
    b = a * 1
    x, y = b[:2], b[1:3]
    x.mul_(2)
    y.mul_(3)
    b[0] = 7
    b.sum().backward()
    assert a.grad.tolist() == [0.0, 6.0, 3.0, 1.0]


def test_copy_into_a_view_of_a_plain_tensor_records_its_base():
    base, x = t.zeros(3), leaf(2)
    view = base[:2]
    view.copy_(x)
    assert base.requires_grad and not view.is_leaf
    (base * t.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_view_made_before_the_base_requires_grad():
    base = t.zeros(4)
    view = base.view(2, 2)
    base.requires_grad_()
    assert view.requires_grad and view.is_leaf is (view.grad_fn is None)


def test_transpose_in_place_changes_the_history():
    a = leaf(2, 3)
    b = a * 1
    b.t_()
    assert tuple(b.shape) == (3, 2)
    b[0].sum().backward()
    assert a.grad.tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_writes_without_recording_change_values_only():
    a = leaf(2)
    with t.no_grad():
        a[:1].add_(1)
    a.detach().add_(1)
    assert a.tolist() == [3.0, 2.0] and a.is_leaf and a._version == 2


def test_outputs_of_split_share_a_node():
    a = leaf(4)
    x, y = a.split(2)
    assert x.grad_fn is y.grad_fn and (x.output_nr, y.output_nr) == (0, 1)
    x.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_several_views_of_a_plain_tensor_may_be_written():
    a = t.ones(2)
    a.unbind()[0].add_(1)
    assert a.tolist() == [2.0, 1.0]


def test_inference_tensors():
    with t.inference_mode():
        a = t.ones(2)
        b = a * 2
        b.add_(1)
        assert b.is_inference() and not b.requires_grad
    assert a.view(2).is_inference() and not (a + 1).is_inference()
    copy = a.clone().requires_grad_()
    (copy * 2).sum().backward()
    assert copy.grad.tolist() == [2.0, 2.0]


def test_detach_in_place_cuts_the_tensor_off():
    b = leaf(2) * 2
    b.detach_()
    assert not b.requires_grad and b.is_leaf and b.grad_fn is None


def test_view_without_recording_is_no_leaf_of_the_graph():
    x = leaf(2, 3)
    with t.no_grad():
        v = x.view(-1)
    assert v.requires_grad and v.is_leaf
    v.sum().backward()
    assert v.grad is None and x.grad is None
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        v.backward(t.ones(6))
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        t.autograd.grad(v.sum(), v)
    v.requires_grad_()
    v.sum().backward()
    assert v.grad.tolist() == [1.0] * 6


@pytest.mark.parametrize(
    "mode, words", [(t.no_grad, "no_grad mode"), (t.inference_mode, "inference mode")]
)
def test_view_without_recording_goes_stale(mode, words):
    x = leaf(2, 3)
    with mode():
        v = x[0]
    with t.no_grad():
        x.zero_()
    with pytest.raises(RuntimeError, match=f"A view was created in {words} and its base"):
        v.grad_fn  # noqa: B018
    assert v.requires_grad and v.grad is None


def test_stale_view_of_a_base_without_gradient():
    x = leaf(2, 3)
    v = x[0]
    x.requires_grad_(False)
    x.mul_(2)
    assert v.grad_fn.name() == "AsStridedBackward0" and v.requires_grad
    assert v.grad_fn.next_functions == ((None, 0),) or v.grad_fn.next_functions[0][0] is None
    v.sum().backward()
    assert x.grad is None


def test_view_written_before_its_base_requires_grad():
    b = t.ones(2, 3)
    v = b[0]
    v.neg_()
    w = b[1]
    b.requires_grad_()
    assert v.grad_fn.name() == "AsStridedBackward0" and not v.is_leaf
    assert w.is_leaf


def test_second_backward_through_a_written_view_is_refused():
    x = leaf(2, 3)
    y = x - 1
    y[0] = 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_shape_changes_of_a_view_leave_the_base_alone():
    x = leaf(2, 3)
    y = x * 1
    v = y.t()
    v.t_()
    assert v.grad_fn.name().startswith("TBackward") and y.grad_fn.name() == "MulBackward0"
    (v * t.tensor([[1.0], [2.0]])).sum().backward()
    assert x.grad.tolist() == [[1.0] * 3, [2.0] * 3]


def test_names_of_nodes():
    x = leaf(2)
    y = x * 1
    y[0] = 1
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert type(y.grad_fn).__name__ == "CopySlices"
    accumulate = x.view(-1).grad_fn.next_functions[0][0]
    assert accumulate.name() == "torch::autograd::AccumulateGrad"
    assert type(accumulate).__name__ == "AccumulateGrad"


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda x: x.reshape(-1), "ViewBackward0"),
        (lambda x: x.t().reshape(-1), "UnsafeViewBackward0"),
        (lambda x: x.diagonal().reshape(-1), "ReshapeAliasBackward0"),
        (lambda x: t.ones(2, 2, 2) @ x, "UnsafeViewBackward0"),
        (lambda x: (x * 1).t_(), "TBackward1"),
        (lambda x: (x * 1).transpose_(0, 1), "TransposeBackward1"),
        (lambda x: (x * 1).unsqueeze_(0), "UnsqueezeBackward1"),
        (lambda x: (x * 1).squeeze_(), "SqueezeBackward3"),
        (lambda x: (x * 1).squeeze_(0), "SqueezeBackward4"),
        (lambda x: (x * 1).as_strided_((2,), (1,)), "AsStridedBackward1"),
        (lambda x: x.clamp(min=0), "ClampBackward1"),
        (lambda x: x.clamp(min=t.zeros(2)), "ClampBackward0"),
        (lambda x: (x * 1).fill_(1), "FillBackward2"),
        (lambda x: x**2, "PowBackward0"),
        (lambda x: x**x, "PowBackward1"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0)[0], "MaxBackward0"),
        (lambda x: t.select_scatter(x, x[0], 0, 1), "SelectScatterBackward0"),
        (lambda x: t.as_strided_scatter(x, x[0], (2,), (1,)), "AsStridedScatterBackward0"),
    ],
)
def test_numbers_of_nodes(make, name):
    assert type(make(leaf(2, 2)).grad_fn).__name__ == name


def test_reshaped_copy_is_no_view():
    x = t.ones(2, 3)
    assert x.t().reshape(-1)._base is None
    assert x.diagonal().reshape(2, 1)._base is x


def test_retained_gradient_is_that_of_the_values_before_a_shape_change():
    x = leaf(2, 3)
    y = x * 2
    y.retain_grad()
    y.t_()
    t.autograd.grad(y.sum(), y)
    assert y.grad is None and y.retains_grad
    (y * t.tensor([1.0, 2.0])).sum().backward()
    assert y.grad.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_last_step_of_a_view_of_a_conjugate_names_its_node():
    z = t.ones(2, 3, dtype=t.complex64, requires_grad=True)
    adjoint = z.mH
    rows = adjoint[0:2]
    with t.no_grad():
        rows.fill_(-1)
    assert type(adjoint.grad_fn).__name__ == "ConjBackward0"
    assert type(rows.grad_fn).__name__ == "AsStridedBackward0"
    rows.real.sum().backward()
    assert z.grad.tolist() == [[1, 1, 0], [1, 1, 0]]


def test_reading_a_stale_conjugate_is_refused():
    z = t.ones(2, dtype=t.complex64, requires_grad=True)
    with t.inference_mode():
        view = z.conj()
    with t.no_grad():
        z.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in inference mode"):
        view.tolist()
    with t.no_grad():
        assert view.tolist() == [2, 2]


def test_attribute_of_an_inner_tensor_is_not_set():
    y = leaf(2) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        y.requires_grad = True
    assert y.requires_grad_() is y


def test_detach_in_place_keeps_what_is_retained():
    y = leaf(2) * 2
    y.retain_grad()
    y.detach_()
    assert y.retains_grad and not y.requires_grad
    x = leaf(2)
    with t.inference_mode():
        x.detach_()
    assert x.requires_grad


def test_gradient_wanted_inside_inference_mode():
    x = leaf(2)
    y = x + x * x
    with t.inference_mode():
        y.backward(t.ones(2), create_graph=True)
    assert x.grad.tolist() == [3.0, 3.0] and x.grad.is_inference()


class TestOverlap:
    repeated = "more than one element of the written-to tensor"
    shared = "some elements of the input tensor and the written-to tensor"

    def test_assignment_of_a_number(self):
        e = t.ones(1, 1).expand(2, 3)
        with pytest.raises(RuntimeError, match=self.repeated):
            e[1] = 1
        assert e.fill_(2).tolist() == [[2.0] * 3] * 2

    @pytest.mark.filterwarnings("ignore:Use of")
    def test_fills_of_expanded_tensors(self):
        e = t.ones(1).expand(3)
        assert e.masked_fill_(e > 0, 4).tolist() == [4.0] * 3
        assert e.index_fill_(0, t.tensor([1]), 5).tolist() == [5.0] * 3

    def test_copy_of_a_part(self):
        v = t.arange(3.0)
        with pytest.raises(RuntimeError, match=self.shared):
            v.copy_(v[2])

    def test_sizes_of_one(self):
        d = t.ones(1, 2).diagonal()
        assert d.mul_(d.view(1)).tolist() == [1.0]

    def test_real_part(self):
        z = t.ones(2, 3, dtype=t.complex64)
        assert z.sub_(z.real).tolist() == [[0j] * 3] * 2
        z = t.tensor(1j)
        with pytest.raises(RuntimeError, match=self.shared):
            z.add_(z.real)


@pytest.mark.parametrize(
    "squeeze", [lambda x: x.squeeze(), lambda x: x.squeeze(0), lambda x: x.squeeze((0, 1))]
)
def test_gradient_of_a_squeeze_that_removes_nothing_is_its_input(squeeze):
    x = t.ones(2, 3, requires_grad=True)
    y = squeeze(x)
    given = t.full((2, 3), 2.0)
    (grad,) = t.autograd.grad(y, x, given)
    assert grad is given


def test_conjugate_view_with_other_data_is_still_seen_as_one():
    x = t.tensor([[1 + 2j, 3j], [2 + 0j, 1j]], requires_grad=True)
    v = x.mH
    v.data = v.detach() * 2
    with t.no_grad():
        v.mul_(2)
    assert v.grad_fn.name() == "ConjBackward0"
    (grad,) = t.autograd.grad(v, x, t.full((2, 2), 1j))
    assert grad.tolist() == [[-1j, -1j], [-1j, -1j]]
