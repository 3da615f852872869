"""Tests of x.data: what a tensor takes over, what it keeps, and where it counts its writes."""

import pytest
from under_test import t

NO_COUNTER = "Inference tensors do not track version counter"
REFUSED = "Inplace update to inference tensor outside InferenceMode is not allowed"


def inference(*sizes):
    with t.inference_mode():
        return t.ones(*sizes)


class TestVersion:
    def test_it_is_kept(self):
        x, y = t.zeros(2), t.ones(2)
        x.add_(1)
        y.add_(1).add_(1).add_(1)
        x.data = y
        assert (x._version, y._version) == (1, 3)
        x.mul_(2)
        assert (x._version, y._version) == (2, 3)
        assert x.tolist() == y.tolist() == [8, 8]

    def test_views_made_before_still_count_along(self):
        x = t.zeros(2, 3)
        row, copy = x[0], x.detach()
        x.data = t.ones(2, 3)
        row.add_(1)
        assert x._version == row._version == copy._version == 1
        x.add_(1)
        assert x._version == row._version == copy._version == 2
        assert row.tolist() == [1, 1, 1] and x[0].tolist() == [2, 2, 2]

    def test_a_view_counts_where_its_base_does(self):
        x = t.zeros(2, 3)
        row = x[0]
        row.data = t.ones(3)
        row.add_(1)
        assert x._version == row._version == 1 and x[0].tolist() == [0, 0, 0]

    def test_old_memory_goes(self):
        """The counter outlives the storage that it came from."""
        x = t.zeros(2)
        for i in range(3):
            x.data = t.full((2,), float(i))
            x.add_(1)
        assert x._version == 3 and x.tolist() == [3, 3]

    def test_saved_tensors_notice_writes_after_it(self):
        x = t.ones(2, requires_grad=True)
        y = x.relu()
        y.data = t.ones(2)
        y[0].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


class TestInference:
    def test_a_tensor_that_takes_inference_data_goes_on_counting(self):
        x = t.zeros(2)
        x.data = inference(2)
        assert x.is_inference() and x._version == 0
        x.add_(1)
        assert x._version == 1 and x.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match=NO_COUNTER):
            assert x.view(-1)._version

    def test_an_inference_tensor_that_takes_data_does_not_start_to(self):
        x = inference(2)
        x.data = t.zeros(2)
        assert not x.is_inference()
        for read in (lambda: x._version, lambda: x.view(-1)._version, lambda: x.detach()._version):
            with pytest.raises(RuntimeError, match=NO_COUNTER):
                read()
        assert x.data._version == 0
        with pytest.raises(RuntimeError, match=REFUSED):
            x.add_(1)
        with t.inference_mode():
            x.add_(1)
        with pytest.raises(RuntimeError, match=NO_COUNTER):
            x * t.ones(2, requires_grad=True)

    def test_detach_in_place_leaves_it_alone(self):
        x = t.ones(2, requires_grad=True)
        x.data = inference(2)
        assert x.detach_().requires_grad

    @pytest.mark.parametrize(
        "write, words",
        [
            (lambda x: x.t().sub_(x), "some elements of the input tensor"),
            (lambda x: x[0].triu_(), "must have at least 2 dimensions"),
            (lambda x: x.expand(2, 2, 2).add_(1), "more than one element of the written-to"),
            (lambda x: x.add_(1), REFUSED),
            (lambda x: t.add(x, 1, out=x), REFUSED),
        ],
        ids=["overlap", "dimensions", "repeated", "written", "out"],
    )
    def test_other_errors_come_first(self, write, words):
        x = inference(2, 2)
        with pytest.raises(RuntimeError, match=words):
            write(x)
        # Where nothing else is wrong the values are there before the write is refused.
        assert x.tolist() == ([[2, 2], [2, 2]] if words == REFUSED else [[1, 1], [1, 1]])


class TestKind:
    def test_conjugate_flag_is_taken(self):
        z = t.tensor([1 + 2j, 3 - 1j])
        view = z.conj()
        view.data = z * 2
        assert not view.is_conj() and view.tolist() == [2 + 4j, 6 - 2j]
        z.data = z.conj()
        assert z.is_conj() and z.tolist() == [1 - 2j, 3 + 1j]

    def test_size_and_dtype_are_taken(self):
        x = t.ones(2, requires_grad=True)
        y = x.sum()
        x.data = t.ones(3, dtype=t.float64)
        assert x.shape == (3,) and x.dtype == t.float64 and x.is_leaf
        x.sum().backward()
        assert x.grad.dtype == t.float64
        with pytest.raises(RuntimeError):
            y.backward()

    def test_integers_have_no_gradient(self):
        x = t.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
            x.data = t.ones(2, dtype=t.int64)
        assert x.dtype == t.float32

    def test_view_with_other_memory_keeps_its_history(self):
        x = t.ones(3, requires_grad=True)
        total = x.sum()
        view = total.expand(2)
        view.data = t.full((2,), 5.0)
        view.neg_()
        assert type(total.grad_fn).__name__ == "CopySlices"
        assert type(view.grad_fn).__name__ == "AsStridedBackward0"
        assert view.tolist() == [-5, -5] and total.item() == 3
