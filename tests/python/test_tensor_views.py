"""Tests that views share memory and version, and that strides and memory formats are PyTorch's."""

import pytest
from under_test import t

VIEWS = {
    "view": lambda x: x.view(6, 4),
    "reshape": lambda x: x.reshape(-1),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "t": lambda x: x[0].t(),
    "expand": lambda x: x[:, :, :1].expand(2, 3, 5),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "select": lambda x: x.select(1, 2),
    "narrow": lambda x: x.narrow(2, 1, 2),
    "flatten": lambda x: x.flatten(1),
    "unbind": lambda x: x.unbind(1)[1],
    "split": lambda x: x.split(2, 1)[1],
    "chunk": lambda x: x.chunk(2, 2)[1],
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "as_strided": lambda x: x.as_strided((3, 2), (8, 3), 1),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "movedim": lambda x: x.movedim(0, 2),
    "integer": lambda x: x[1],
    "slice": lambda x: x[:, ::2, 1:],
    "none": lambda x: x[None],
    "ellipsis": lambda x: x[..., 0],
    "detach": lambda x: x.detach(),
    "dtype": lambda x: x.view(t.int32),
}
STRIDES = {
    "view": ((6, 4), (4, 1), 0),
    "reshape": ((24,), (1,), 0),
    "permute": ((4, 2, 3), (1, 12, 4), 0),
    "transpose": ((4, 3, 2), (1, 4, 12), 0),
    "t": ((4, 3), (1, 4), 0),
    "expand": ((2, 3, 5), (12, 4, 0), 0),
    "squeeze": ((3, 4), (4, 1), 0),
    "unsqueeze": ((2, 1, 3, 4), (12, 12, 4, 1), 0),
    "select": ((2, 4), (12, 1), 8),
    "narrow": ((2, 3, 2), (12, 4, 1), 1),
    "flatten": ((2, 12), (12, 1), 0),
    "unbind": ((2, 4), (12, 1), 4),
    "split": ((2, 1, 4), (12, 4, 1), 8),
    "chunk": ((2, 3, 2), (12, 4, 1), 2),
    "diagonal": ((2, 3), (12, 5), 0),
    "as_strided": ((3, 2), (8, 3), 1),
    "unfold": ((2, 3, 3, 2), (12, 4, 1, 1), 0),
    "movedim": ((3, 4, 2), (4, 1, 12), 0),
    "integer": ((3, 4), (4, 1), 12),
    "slice": ((2, 2, 3), (12, 8, 1), 1),
    "none": ((1, 2, 3, 4), (24, 12, 4, 1), 0),
    "ellipsis": ((2, 3), (12, 4), 0),
    "detach": ((2, 3, 4), (12, 4, 1), 0),
    "dtype": ((2, 3, 4), (12, 4, 1), 0),
}


def base():
    return t.arange(24).reshape(2, 3, 4).to(t.float32)


class TestSharing:
    @pytest.mark.parametrize("name", VIEWS)
    def test_sizes_strides_and_offset(self, name):
        view = VIEWS[name](base())
        assert (tuple(view.shape), view.stride(), view.storage_offset()) == STRIDES[name]

    @pytest.mark.parametrize("name", VIEWS)
    def test_write_to_base_shows_in_view(self, name):
        x = base()
        view = VIEWS[name](x)
        assert view.data_ptr() == x.data_ptr() + 4 * view.storage_offset()
        x.zero_()
        assert (view == 0).all()

    @pytest.mark.parametrize("name", [name for name in VIEWS if name != "expand"])
    def test_write_to_view_shows_in_base(self, name):
        x = base()
        view = VIEWS[name](x)
        view.fill_(-1)
        places = {view.storage_offset()}
        for size, stride in zip(view.shape, view.stride(), strict=True):
            places = {place + i * stride for place in places for i in range(size)}
        changed = {i for i, value in enumerate(x.reshape(-1).tolist()) if value != i}
        assert changed == places

    def test_complex_parts_are_views(self):
        x = t.tensor([1 + 2j, 3 - 4j])
        x.real[0] = 5
        x.imag[1] = 6
        assert x.tolist() == [5 + 2j, 3 + 6j]
        pairs = t.view_as_real(x)
        pairs[0, 1] = 0
        assert x[0].item() == 5 and pairs.stride() == (2, 1)
        assert x.conj().data_ptr() == x.data_ptr() and x.conj().is_conj()
        assert x.conj().resolve_conj().tolist() == [5, 3 - 6j]
        assert x.conj().imag.is_neg() and x.conj().imag.tolist() == [0, -6]

    def test_reshape_copies_only_when_it_must(self):
        x = base()
        assert x.reshape(24).data_ptr() == x.data_ptr()
        assert x.transpose(0, 1).reshape(24).data_ptr() != x.data_ptr()
        assert x.contiguous() is x

    def test_base_is_recorded(self):
        x = base()
        assert x._base is None and x[0]._base is x and x[0][1]._base is x and x[0]._is_view()
        assert x.clone()._base is None


class TestVersions:
    def test_in_place_calls_count(self):
        x = t.zeros(3)
        assert x._version == 0
        x.add_(1)
        assert x._version == 1
        x[0] = 5
        assert x._version == 2
        x.exp()
        assert x._version == 2

    @pytest.mark.parametrize("name", VIEWS)
    def test_views_share_the_counter(self, name):
        x = base()
        view = VIEWS[name](x)
        before = x._version
        x.mul_(2)
        assert view._version == x._version == before + 1
        if name != "expand":
            view.zero_()
            assert view._version == x._version == before + 2

    def test_copies_have_their_own(self):
        x = t.zeros(3)
        y, data = x.clone(), x.data
        x.add_(1)
        assert y._version == 0 and data._version == 0 and data[0].item() == 1

    def test_a_change_of_size_counts(self):
        x = t.zeros(3)
        assert x.resize_(3)._version == 0
        assert x.resize_(5)._version == 1
        assert x.resize_as_(t.ones(2))._version == 2

    @pytest.mark.parametrize("name", ["unsafe_split", "unsafe_chunk"])
    def test_parts_that_are_no_views_have_their_own(self, name):
        x = t.ones(4)
        part = getattr(x, name)(2)[0]
        part.mul_(2)
        assert part._version == 1 and x._version == 0 and not part._is_view()
        assert x.tolist() == [2, 2, 1, 1]

    def test_out_counts(self):
        x = t.zeros(3)
        t.exp(t.ones(3), out=x)
        assert x._version == 1


class TestStrides:
    @pytest.mark.parametrize(
        "make, stride",
        [
            (lambda: t.empty(2, 3, 4), (12, 4, 1)),
            (lambda: t.empty(2, 0, 4), (4, 4, 1)),
            (lambda: t.empty(0), (1,)),
            (lambda: t.empty(()), ()),
            (lambda: t.empty(1, 1, 1), (1, 1, 1)),
            (lambda: t.empty_strided((2, 3), (1, 2)), (1, 2)),
            (lambda: t.empty_like(t.empty(2, 3).t()), (1, 3)),
            (lambda: t.zeros_like(t.empty(2, 3, 4).permute(2, 0, 1)), (1, 12, 4)),
            (lambda: t.empty(2, 3).t().clone(), (1, 3)),
            (lambda: t.empty(2, 3).t().contiguous(), (2, 1)),
            (lambda: t.empty(2, 3).t() + 1, (1, 3)),
            (lambda: t.ones(2, 3).t() + t.ones(3, 2), (1, 3)),
            (lambda: t.ones(3, 2) + t.ones(2, 3).t(), (2, 1)),
            (lambda: t.ones(1, 3).expand(2, 3) * 2, (3, 1)),
            (lambda: t.ones(2, 1).expand(2, 3).clone(), (3, 1)),
            (lambda: t.ones(4, 6)[::2, ::2] + 1, (3, 1)),
            (lambda: t.ones(2, 3, 4).permute(1, 2, 0).exp(), (4, 1, 12)),
            (lambda: t.ones(2, 3, 4).permute(1, 2, 0).sum(0), (2, 1)),
            (lambda: t.ones(2, 3).t().to(t.float64), (1, 3)),
            (lambda: t.cat([t.ones(2, 3).t(), t.ones(2, 3).t()]), (2, 1)),
            (lambda: t.ones(2, 3) @ t.ones(3, 4), (4, 1)),
            (lambda: t.ones(2).expand(1, 1, 2), (2, 2, 1)),
            (lambda: t.ones(2).expand(3, 1, 2), (0, 2, 1)),
            (lambda: t.ones(2).expand(1, 3, 2), (0, 0, 1)),
            (lambda: t.ones(2, 0).expand(1, 2, 0), (2, 1, 1)),
            (lambda: t.ones(()).expand(1, 1), (0, 0)),
        ],
    )
    def test_strides_of_results(self, make, stride):
        assert make().stride() == stride

    def test_is_contiguous(self):
        x = t.ones(2, 3)
        assert x.is_contiguous() and not x.t().is_contiguous() and x[:1].is_contiguous()
        assert not x[:, :1].is_contiguous() and t.ones(1, 3).t().is_contiguous()
        assert t.ones(0, 3).t().is_contiguous()


class TestMemoryFormats:
    def test_channels_last(self):
        x = t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last)
        assert x.stride() == (60, 1, 15, 3)
        assert x.is_contiguous(memory_format=t.channels_last) and not x.is_contiguous()
        assert x.contiguous().stride() == (60, 20, 5, 1)

    def test_channels_last_3d(self):
        x = t.empty(2, 3, 4, 5, 6, memory_format=t.channels_last_3d)
        assert x.stride() == (360, 1, 90, 18, 3)
        assert x.is_contiguous(memory_format=t.channels_last_3d)

    @pytest.mark.parametrize(
        "call",
        [
            lambda x: x + 1,
            lambda x: x.relu(),
            lambda x: x * t.ones(3, 1, 1),
            lambda x: x.clone(),
            lambda x: t.empty_like(x),
            lambda x: x.to(t.float64),
            lambda x: t.where(x > 0, x, 0.0),
        ],
        ids=["add", "relu", "broadcast", "clone", "empty_like", "to", "where"],
    )
    def test_results_keep_channels_last(self, call):
        x = t.ones(2, 3, 4, 5).to(memory_format=t.channels_last)
        assert call(x).stride() == (60, 1, 15, 3)

    @pytest.mark.parametrize(
        "shape, stride",
        [((4, 1, 4, 4), (16, 1, 4, 1)), ((4, 3, 1, 1), (3, 1, 3, 3)), ((1, 1, 1, 1), (1, 1, 1, 1))],
    )
    def test_strides_of_two_formats_are_those_asked_for(self, shape, stride):
        x = t.ones(shape)
        assert x.to(memory_format=t.channels_last).stride() == stride
        assert x.contiguous(memory_format=t.channels_last) is x

    def test_format_arguments(self):
        x = t.ones(2, 3, 4, 5).to(memory_format=t.channels_last)
        assert x.clone(memory_format=t.contiguous_format).stride() == (60, 20, 5, 1)
        assert t.zeros_like(x, memory_format=t.contiguous_format).is_contiguous()
        assert t.ones_like(x, memory_format=t.preserve_format).stride() == x.stride()

    def test_values_are_unchanged(self):
        x = t.arange(24).reshape(1, 2, 3, 4)
        assert x.contiguous(memory_format=t.channels_last).tolist() == x.tolist()
