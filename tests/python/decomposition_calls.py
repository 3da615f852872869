"""Calls of operators that no sample of a differentiable record reaches: whole numbers, factories,
random tensors, losses without a name in Python. Each is (operator, arguments, keyword arguments).
"""

import taeda

aten = taeda.ops.aten


def call(op, *args, **kwargs):
    return op, args, kwargs


def integers():
    a = taeda.tensor([[7, -7, 5], [-3, 0, 9]])
    b = taeda.tensor([2, -2, 3])
    return [
        call(aten._div_floor.default, a, b),
        call(aten._div_trunc.default, a, b),
        call(aten.floor_divide.default, a, b),
        call(aten.remainder.Scalar_Tensor, 17, b),
        call(aten.addcmul.default, a, a, b, value=2),
        call(aten.bitwise_and.Scalar_Tensor, 6, a),
        call(aten.bitwise_or.Scalar_Tensor, 6, a),
        call(aten.bitwise_xor.Scalar_Tensor, 6, a),
        call(aten.clamp_min.default, a, 2),
        call(aten.clamp_max.Tensor, a, b),
        call(aten.fmax.default, a, b),
        call(aten.exp2.default, b),
        call(aten.nan_to_num.default, a),
        call(aten.masked_fill.Scalar, a, a > 2, 4),
        call(aten.masked_fill.Scalar, a > 2, a > 4, 1),
        call(aten.count_nonzero.dim_IntList, a, [1]),
        call(aten.count_nonzero.dim_IntList, a, []),
        call(aten.logsumexp.default, a, [0]),
        call(aten.one_hot.default, taeda.tensor([0, 2, 1]), 4),
        call(aten.one_hot.default, taeda.tensor([[0, 2]])),
        call(aten.tril.default, a > 0),
        call(aten.triu.default, a, 1),
        call(aten.roll.default, a, [4]),
        call(aten.index_add.default, a, 1, taeda.tensor([0, 0], dtype=taeda.int32), a[:, :2]),
    ]


def truths():
    bytes_ = taeda.tensor([[1, 0], [3, 4]], dtype=taeda.uint8)
    numbers = taeda.tensor([[1.0, 0.0], [float("nan"), 2.0]])
    found = [call(aten.isfinite.default, numbers), call(aten.isfinite.default, bytes_)]
    for x in (bytes_, numbers, numbers > 0):
        found += [
            call(aten.all.default, x),
            call(aten.all.dim, x, 1, True),
            call(aten.all.dims, x, [0, 1]),
            call(aten.all.dims, x),
        ]
    return found


def special_values():
    x = taeda.tensor([float("nan"), float("inf"), -float("inf"), 1.5, -0.0])
    y = taeda.tensor([1.0, float("nan"), 2.0, float("nan"), 0.0])
    infinite = taeda.tensor([[float("inf"), 1.0], [-float("inf"), -float("inf")]])
    return [
        call(aten.nan_to_num.default, x),
        call(aten.nan_to_num.default, x.half()),
        call(aten.fmax.default, x, y),
        call(aten.fmin.default, x, y),
        call(aten.clamp_min.Tensor, x, y),
        call(aten.max.default, x),
        call(aten.min.default, y),
        call(aten.logsumexp.default, infinite, [1]),
        call(aten.logsumexp.default, taeda.zeros(2, 0), [1]),
        call(aten.isfinite.default, x),
        call(aten.threshold_backward.default, x, y, 0),
        call(aten.floor_divide.default, x, y),
    ]


def factories():
    x = taeda.ones(2, 3, 4).permute(2, 0, 1)
    image = taeda.ones(2, 3, 4, 5)
    start, end = taeda.tensor(1.0), taeda.tensor(3.0)
    found = [
        call(aten.zeros.default, [2, 3]),
        call(aten.zeros.default, [2], dtype=taeda.bool),
        call(aten.ones.default, [2, 3], dtype=taeda.int32),
        call(aten.eye.default, 3),
        call(aten.eye.m, 2, 4, dtype=taeda.int64),
        call(aten.arange.default, 5),
        call(aten.arange.start, 1.5, 4),
        call(aten.empty_like.default, x),
        call(aten.empty_like.default, image, memory_format=taeda.channels_last),
        call(aten.empty_permuted.default, [2, 3, 4], [1, 2, 0]),
        call(aten.zeros_like.default, x, dtype=taeda.int64),
        call(aten.ones_like.default, image, memory_format=taeda.channels_last),
        call(aten.new_empty.default, x, [2, 2]),
        call(aten.new_empty_strided.default, x, [2, 2], [1, 2]),
        call(aten.new_zeros.default, x, [2, 2], dtype=taeda.bool),
        call(aten.new_ones.default, x, [2, 2]),
        call(aten.new_full.default, x, [2, 2], 2.5),
    ]
    for dtype in (taeda.float32, taeda.float64, taeda.int64):
        found += [
            call(aten.linspace.default, 1, 8, 5, dtype=dtype),
            call(aten.linspace.default, 3.0, -2.0, 6, dtype=dtype),
            call(aten.linspace.default, 2, 3, 1, dtype=dtype),
            call(aten.linspace.Tensor_Tensor, start, end, 4, dtype=dtype),
            call(aten.linspace.Tensor_Scalar, start, 2, 4, dtype=dtype),
            call(aten.linspace.Scalar_Tensor, 0, end, 4, dtype=dtype),
        ]
    for dtype in (taeda.float32, taeda.float64):
        found += [
            call(aten.logspace.default, 0.5, 2, 5, dtype=dtype),
            call(aten.logspace.Tensor_Tensor, start, end, 4, 2.0, dtype=dtype),
            call(aten.logspace.Tensor_Scalar, start, 2, 4, 2.0, dtype=dtype),
            call(aten.logspace.Scalar_Tensor, 0, end, 4, 2.0, dtype=dtype),
        ]
    return found


def random_tensors():
    x = taeda.linspace(0.1, 1.2, 24).view(2, 3, 4)
    return [
        call(aten.rand_like.default, x),
        call(aten.randn_like.default, x),
        call(aten.rand_like.default, x.permute(2, 0, 1)),
        call(aten.randn_like.default, x.permute(2, 0, 1)),
        call(aten.rand_like.default, x, dtype=taeda.float64),
        call(aten.normal.Tensor_float, x, 0.5),
        call(aten.normal.float_Tensor, 0.5, x),
        call(aten.normal.Tensor_Tensor, x, x[0]),
        call(aten.normal.float_float, 1.0, 2.0, [3, 2]),
    ]


def scattered():
    index = taeda.tensor([[0, 1, 2], [2, 0, 1]])
    x, src = taeda.linspace(1, 2, 9).view(3, 3), taeda.linspace(2, 3, 6).view(2, 3)
    found = []
    for reduce in ("add", "multiply"):
        found += [
            call(aten.scatter.reduce, x, 0, index, src, reduce=reduce),
            call(aten.scatter.value_reduce, x, 0, index, 1.5, reduce=reduce),
        ]
    return found


def losses():
    x, target = taeda.linspace(-1, 1, 12).view(3, 4), taeda.tensor([1, -100, 3])
    one, weight = taeda.linspace(-1, 1, 4), taeda.linspace(0.5, 1, 4)
    found = [
        call(aten._squared_difference.default, x, x.flip(0)),
        call(aten._smooth_l1.default, x, x.flip(0), 0.5),
        call(aten._huber.default, x, x.flip(0), 0.5),
        call(aten._soft_margin.default, x, x.flip(0)),
        call(aten._binary_cross_entropy.default, x.sigmoid(), x.flip(0)),
        call(aten._reduced_squared_difference.default, x, one, True),
        call(aten._reduced_squared_difference.default, x, one, False),
    ]
    for reduction in (0, 1, 2):
        entropy = aten._fused_cross_entropy.default
        found.append(call(entropy, x, target, reduction, -100))
        _, norms, count = entropy(x, target, reduction, -100)
        grad = taeda.linspace(1, 2, 3) if reduction == 0 else taeda.tensor(1.5)
        backward = aten._fused_cross_entropy_backward.default
        found.append(call(backward, grad, x, target, reduction, -100, norms, count))
        for w in (None, weight):
            forward, backward = aten.nll_loss_forward.default, aten.nll_loss_backward.default
            total = forward(x, target, w, reduction, -100)[1]
            found.append(call(forward, x, target, w, reduction, -100))
            found.append(call(backward, grad, x, target, w, reduction, -100, total))
            found.append(call(forward, one, taeda.tensor(2), w, reduction, -100))
    return found


def products():
    x, w, b = taeda.ones(2, 3, 4) * 0.5, taeda.linspace(0, 1, 8).view(2, 4), taeda.ones(2)
    batch = taeda.linspace(0, 1, 24).view(2, 1, 3, 4)
    return [
        call(aten.linear.default, x, w, b),
        call(aten.linear.default, x, w),
        call(aten._batched_matmul.default, batch, batch.mT),
        call(aten.baddbmm.default, x[:, :, :3], x, x.mT, beta=0),
        call(aten._reshape_alias.default, w, [4, 2], [2, 1]),
    ]


def complex_numbers():
    z = taeda.tensor([3 + 4j, 0j, -1j])
    return [call(aten._sgn.default, z), call(aten.vdot.default, z, z)]


def dimensions_of_size_one():
    """Their strides follow no order."""
    found = []
    for sizes, strides in (((1, 2, 1, 1), (1, 1, 1, 2)), ((1, 2, 2, 1), (4, 1, 2, 2))):
        x = taeda.ones(4).as_strided(sizes, strides)
        found += [call(aten.tril.default, x), call(aten.triu.default, x, 1)]
        found += [call(aten.roll.default, x, [1], [1])]
        found += [call(aten.stack.default, [x, x], dim) for dim in range(5)]
    return found


def channels_innermost():
    x = taeda.arange(96.0).view(2, 4, 4, 3).permute(0, 3, 1, 2)
    found = [call(aten.stack.default, [x, x], dim) for dim in range(5)]
    found += [call(aten.roll.default, x, shifts, [1, 2]) for shifts in ([1, 1], [0, 1], [3, 0])]
    return [*found, call(aten.roll.default, x, [1]), call(aten.tril.default, x)]


def all_calls():
    return [
        *dimensions_of_size_one(),
        *channels_innermost(),
        *integers(),
        *truths(),
        *special_values(),
        *factories(),
        *random_tensors(),
        *scattered(),
        *losses(),
        *products(),
        *complex_numbers(),
    ]
