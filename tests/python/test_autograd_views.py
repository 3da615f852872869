"""Tests of in-place writes through views and their bases, and of inference tensors."""

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
