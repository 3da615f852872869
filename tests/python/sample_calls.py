"""Sample calls of records whose arguments hang together: shapes, indices, targets, views.

An entry takes a `record_samples.Make` and lists calls. `call` uses the record's own function; `via`
names another that runs the record, for those that Python does not see under their own name.
"""

import taeda
from taeda.autograd import grad

_C, _nn = taeda._C, taeda._C._nn


def call(*args, **kwargs):
    return None, args, kwargs


def via(fn, *args, **kwargs):
    return fn, args, kwargs


def gradient_of(function, x):
    """The function from a gradient of `function(x)` to the gradient of `x`."""
    x = x.detach().requires_grad_()
    return lambda g: grad(function(x), x, g, create_graph=True)[0]


def seeded(name, *numbers):
    """A random method on a copy of its tensor, with a generator that starts anew at each call."""

    def function(x, *more):
        generator = taeda.Generator()
        generator.manual_seed(7)
        return getattr(taeda.Tensor, name)(x.clone(), *more, *numbers, generator=generator)

    return function


def seeded_value(name, *numbers):
    """A random operator that gives a new tensor, with a generator that starts anew at each call."""

    def function(x):
        generator = taeda.Generator()
        generator.manual_seed(7)
        return getattr(taeda.ops.aten, name)(x, *numbers, generator=generator)

    return function


def _rows(m):
    """A source and indices of whole slices, shared by the index_* records."""
    return m(4, 3), m.index(2, 0), m(2, 3)


def _scatter(m, *more):
    index = taeda.tensor([[0, 1, 2], [2, 0, 1]])
    return [
        call(m(3, 3), 0, index, *(x() for x in more)),
        call(m(2, 4), 1, index, *(x() for x in more)),
    ]


def _reduce(m, reduce, **kwargs):
    index = taeda.tensor([[0, 1, 2], [2, 1, 1]])
    return call(m.positive(3, 3), 0, index, m.positive(2, 3), reduce, **kwargs)


def _square(m):
    return [call(m(3, 4)), call(m(2, 3, 3), 1)]


def _dims(m):
    """A reduction over one dimension, over several, and with the dimension kept."""
    return [call(m(2, 3), 1), call(m(2, 3, 2), (0, -1)), call(m(2, 3), 0, True)]


def _one_dim(m):
    return [call(m(2, 3), 1), call(m(2, 3, 2), 0, True), call(m(3), 0)]


def _whole(m):
    return [call(m(2, 3)), call(m(3, 1, 2)), call(m())]


def _variance(m):
    return [
        call(m(2, 3), 1),
        call(m(2, 3), None, correction=0),
        call(m(2, 3, 2), (0, 2), correction=2, keepdim=True),
    ]


def _random(name, *numbers):
    return lambda m: [via(seeded(name, *numbers), m(2, 3)), via(seeded(name, *numbers), m(3, 1))]


def _random_value(name, *numbers):
    return lambda m: [via(seeded_value(name, *numbers), m(*size)) for size in ((2, 3), (3, 1))]


def _softmax(m):
    return [call(m(2, 3), 1, False), call(m(2, 3, 2), 0, False)]


def _softmax_backward(m):
    return [call(m(2, 3), m.positive(2, 3), d, m.dtype) for d in (0, 1)]


def _loss_targets(m):
    return [(m(3, 4), m.index(1, 0, 3)), (m(2, 4), m.index(2, -100))]


def _nll(m):
    weight = m.fixed(4).abs()
    first, second = _loss_targets(m)
    return [
        via(lambda x: _nn.nll_loss(x, first[1]), first[0]),
        via(lambda x: _nn.nll_loss(x, second[1], weight, 2), second[0]),
        via(lambda x: _nn.nll_loss(x, first[1], weight, 0), first[0]),
    ]


def _nll2d(m):
    x, target = m(2, 3, 2, 2), taeda.tensor([[[0, 1], [2, 0]], [[1, 1], [-100, 2]]])
    weight = m.fixed(3).abs()
    return [
        via(lambda a: _nn.nll_loss2d(a, target), x),
        via(lambda a: _nn.nll_loss2d(a, target, weight, 0), x),
    ]


def _backward_calls(m, calls, *gradients):
    """Calls of a record's backward, made from calls of its forward."""
    return [via(gradient_of(fn, args[0]), g) for (fn, args, _), g in zip(calls, gradients)]


def _layer_norm(m):
    # The mean and the inverse deviation are by-products without a gradient.
    return [
        via(lambda x, w, b: _C.native_layer_norm(x, (3,), w, b, 1e-5)[0], m(2, 3), m(3), m(3)),
        via(lambda x: _C.native_layer_norm(x, (3, 2), None, None, 1e-3)[0], m(2, 3, 2)),
    ]


def _batch_norm(m):
    mean, var = m.fixed(3), m.fixed(3).abs()

    def norm(is_training):
        call = _C._native_batch_norm_legit_functional
        return lambda x, w, b: call(x, w, b, mean, var, is_training, 0.1, 1e-3)[0]

    return [
        via(norm(True), m(4, 3), m(3), m(3)),
        via(norm(False), m(2, 3, 2), m(3), m(3)),
        via(lambda x: norm(True)(x, None, None), m(2, 3, 2)),
    ]


def _views(*operations):
    """A call of the record's own function for each (shape, arguments)."""
    return lambda m: [call(m(*shape), *args) for shape, args in operations]


def _backward_of_views(name, shape, *operations):
    """The backward of a view, reached through the view: arguments and the shape of the result."""

    def calls(m):
        x = m.fixed(*shape)
        return [
            via(gradient_of(lambda a, args=args: getattr(a, name)(*args), x), m(*size))
            for args, size in operations
        ]

    return calls


MAKE_MATRICES = {
    "mm": lambda m: [call(m(2, 3), m(3, 2)), call(m(1, 2), m(2, 3))],
    "bmm": lambda m: [call(m(2, 2, 3), m(2, 3, 2)), call(m(1, 1, 2), m(1, 2, 2))],
    "addmm": lambda m: [
        call(m(2, 2), m(2, 3), m(3, 2)),
        call(m(2), m(2, 3), m(3, 2), alpha=2, beta=3),
    ],
    "baddbmm": lambda m: [
        call(m(2, 2, 2), m(2, 2, 3), m(2, 3, 2)),
        call(m(2, 1), m(2, 2, 1), m(2, 1, 2), beta=2, alpha=3),
    ],
    "addbmm": lambda m: [
        call(m(2, 2), m(2, 2, 3), m(2, 3, 2)),
        call(m(2), m(2, 2, 1), m(2, 1, 2), beta=2, alpha=3),
    ],
    "addmv": lambda m: [call(m(2), m(2, 3), m(3)), call(m(1), m(2, 3), m(3), beta=2, alpha=3)],
    "mv": lambda m: [call(m(2, 3), m(3)), call(m(1, 2), m(2))],
    "dot": lambda m: [call(m(3), m(3)), call(m(1), m(1))],
    "vdot": lambda m: [call(m(3), m(3)), call(m(1), m(1))],
    "_batched_matmul": lambda m: [
        via(_C.matmul, m(2, 1, 2, 3), m(2, 3, 2)),
        via(_C.matmul, m(2, 2, 2), m(2, 1, 2, 2)),
    ],
    "linear": lambda m: [
        call(m(2, 3), m(2, 3), m(2)),
        call(m(3), m(2, 3)),
        call(m(2, 2, 3), m(1, 3), m(1)),
    ],
}

INDICES = {
    "embedding": lambda m: [
        call(m(4, 2), m.index(1, 3, 1)),
        call(m(4, 2), taeda.tensor([[0, 2], [2, 1]])),
    ],
    "embedding_dense_backward": lambda m: [
        call(m(3, 2), m.index(1, 3, 1), 4, -1, False),
        call(m(3, 2), m.index(1, 3, 1), 4, 3, True),
    ],
    "gather": lambda m: [
        call(m(3, 3), 0, taeda.tensor([[0, 1, 2], [2, 0, 1]])),
        call(m(2, 3), 1, taeda.tensor([[0, 0], [2, 1]])),
    ],
    "scatter.src": lambda m: _scatter(m, lambda: m(2, 3)),
    "scatter.value": lambda m: _scatter(m, lambda: 1.5),
    "scatter_add": lambda m: _scatter(m, lambda: m(2, 3)),
    "scatter_reduce.two": lambda m: [
        _reduce(m, "sum"),
        _reduce(m, "mean"),
        _reduce(m, "prod"),
        _reduce(m, "sum", include_self=False),
        None if m.dtype.is_complex else _reduce(m, "amax"),
        None if m.dtype.is_complex else _reduce(m, "amin", include_self=False),
    ],
    "index_select": lambda m: [call(m(4, 3), 0, m.index(3, 1, 1)), call(m(2, 3), 1, m.index(2))],
    "index_add": lambda m: [call(x, 0, i, s, alpha=a) for a in (1, 2) for x, i, s in [_rows(m)]],
    "index_copy": lambda m: [
        call(m(4, 3), 0, m.index(2, 0), m(2, 3)),
        call(m(2, 3), 1, m.index(1), m(2, 1)),
    ],
    "index_fill.int_Scalar": lambda m: [
        call(m(4, 3), 0, m.index(2, 0), 1.5),
        call(m(2, 3), 1, m.index(1), 2),
    ],
    "index_fill.int_Tensor": lambda m: [
        call(m(4, 3), 0, m.index(2, 0), m()),
        call(m(2, 3), 1, m.index(1), m()),
    ],
    "index.Tensor": lambda m: [
        via(lambda x: x[m.index(0, 2, 2)], m(3, 2)),
        via(lambda x: x[:, m.index(1, 0)], m(2, 3)),
        via(lambda x: x[m.index(0, 1), :, m.index(1, 1)], m(2, 2, 3)),
    ],
    "index_put": lambda m: [
        call(m(3, 2), (m.index(0, 2),), m(2, 2)),
        call(m(3, 2), (m.index(0, 2, 2), m.index(1, 0, 0)), m(3), True),
    ],
    "take": lambda m: [call(m(2, 3), m.index(0, 4, 4)), call(m(3), taeda.tensor([[1], [2]]))],
    "masked_select": lambda m: [
        call(m(2, 3), m.mask(2, 3)),
        call(m(2, 3), taeda.tensor([True, False, True])),
    ],
    "masked_fill.Tensor": lambda m: [
        call(m(2, 3), m.mask(2, 3), m()),
        call(m(2, 3), m.mask(3), m()),
    ],
}

LOSSES = {
    "nll_loss_forward": _nll,
    "nll_loss_backward": lambda m: _backward_calls(m, _nll(m), m(), m(), m(3)),
    "nll_loss2d_forward": _nll2d,
    "nll_loss2d_backward": lambda m: _backward_calls(m, _nll2d(m), m(), m(2, 2, 2)),
    "_fused_cross_entropy": lambda m: [
        via(lambda a, t=target, r=r: _nn.cross_entropy_loss(a, t, None, r), x)
        for (x, target), r in zip(_loss_targets(m), (1, 0))
    ],
    "mse_loss": lambda m: [call(m(2, 3), m(2, 3)), call(m(3), m(3), 0), call(m(3), m(3), 2)],
    "native_dropout": lambda m: [call(m(2, 3), 0.0, True), call(m(3), 0.5, False)],
    "native_dropout_backward": lambda m: [
        via(gradient_of(lambda a: _C.native_dropout(a, 0.0, True)[0], m.fixed(2, 3)), m(2, 3)),
        via(gradient_of(lambda a: _C.native_dropout(a, 0.0, True)[0], m.fixed(3)), m(3)),
    ],
    "_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax": _softmax,
    "_log_softmax_backward_data": _softmax_backward,
    "native_layer_norm": _layer_norm,
    "_native_batch_norm_legit_functional": _batch_norm,
    "celu": lambda m: [call(m(2, 3)), call(m(3), 0.5)],
    "smooth_l1_loss": lambda m: [call(m(2, 3), m(2, 3)), call(m(3), m(3), 0, 0.3)],
    "huber_loss": lambda m: [call(m(2, 3), m(2, 3)), call(m(3), m(3), 2, 0.3)],
    "soft_margin_loss": lambda m: [call(m(2, 3), m.fixed(2, 3)), call(m(3), m.fixed(3), 0)],
    "binary_cross_entropy": lambda m: [
        call(m.positive(2, 3), m.positive(2, 3)),
        call(m.positive(3), m.positive(3), m.fixed(3), 0),
    ],
}

REDUCTIONS = {
    **dict.fromkeys(("sum", "mean", "prod", "max", "min"), _whole),
    **dict.fromkeys(("sum.dim_IntList", "mean.dim", "logsumexp"), _dims),
    **dict.fromkeys(("amax", "amin"), _dims),
    **dict.fromkeys(("prod.dim_int", "max.dim", "min.dim"), _one_dim),
    **dict.fromkeys(
        ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction"),
        _variance,
    ),
    "cumsum": lambda m: [call(m(2, 3), 1), call(m(2, 3), 0)],
    "cumprod": lambda m: [call(m(2, 3), 1), call(m(2, 3), 0)],
    "sort": lambda m: [call(m(2, 3)), call(m(3, 2), 0, True)],
    "sort.stable": lambda m: [
        call(m(2, 3), stable=True),
        call(m(3, 2), stable=False, dim=0, descending=True),
    ],
    "topk": lambda m: [call(m(2, 3), 2), call(m(3, 2), 1, 0, False)],
}

VIEWS = {
    "_conj": _views(((2, 3), ()), ((3, 1), ())),
    "_neg_view": _views(((2, 3), ()), ((3, 1), ())),
    "view_as_real": _views(((2, 3), ()), ((), ())),
    "view_as_complex": _views(((3, 2), ()), ((2,), ())),
    "complex": lambda m: [call(m(2, 3), m(2, 3)), call(m(3), m(2, 1))],
    "permute": _views(((2, 3), ((1, 0),)), ((2, 1, 3), ((2, 0, 1),))),
    "transpose.int": _views(((2, 3), (0, 1)), ((2, 1, 3), (-1, 0))),
    "t": _views(((2, 3), ()), ((3,), ())),
    "unbind.int": _views(((2, 3), ()), ((2, 3), (1,))),
    "split.Tensor": _views(((3, 2), (2,)), ((2, 3), (1, 1))),
    "split_with_sizes": _views(((3, 2), ((1, 2),)), ((2, 4), ((1, 2, 1), -1))),
    "view": _views(((2, 3), ((3, 2),)), ((2, 3), ((-1,),))),
    "as_strided": _views(((2, 3), ((2, 2), (1, 2), 1)), ((4,), ((2, 2), (2, 1)))),
    "expand": _views(((2, 1), ((2, 3),)), ((3,), ((2, -1),))),
    "squeeze": _views(((2, 1, 3), ()), ((1, 2, 1), ())),
    "squeeze.dim": _views(((2, 1, 3), (1,)), ((2, 3), (0,))),
    "squeeze.dims": _views(((1, 2, 1), ((0, 2),)), ((1, 2), ((0, 1),))),
    "unsqueeze": _views(((2, 3), (0,)), ((2, 3), (-1,))),
    "alias": lambda m: [via(lambda x: x[...], m(2, 3)), via(lambda x: x[:,], m(3))],
    "select.int": _views(((2, 3), (1, 2)), ((2, 3, 2), (0, -1))),
    "slice.Tensor": lambda m: [
        via(lambda x: x[1:], m(3, 2)),
        via(lambda x: x[:, ::2], m(2, 3)),
    ],
    "diagonal": _views(((3, 3), ()), ((2, 3, 2), (1, 0, 1))),
    "unfold": _views(((5,), (0, 2, 2)), ((4, 2), (0, 3, 1))),
    "select_backward": _backward_of_views("select", (2, 3), ((1, 2), (2,)), ((0, 0), (3,))),
    "slice_backward": _backward_of_views(
        "__getitem__",
        (3, 4),
        ((slice(1, None),), (2, 4)),
        (((slice(None), slice(0, 4, 2)),), (3, 2)),
    ),
    "diagonal_backward": _backward_of_views("diagonal", (3, 3), ((), (3,)), ((1,), (2,))),
    "unfold_backward": _backward_of_views("unfold", (4,), ((0, 2, 2), (2, 2)), ((0, 3, 1), (2, 3))),
    "_unsafe_view": _views(((2, 3), ((3, 2),)), ((2, 3), ((-1,),))),
    "_reshape_alias": lambda m: [
        via(lambda x: x.diagonal().reshape(3, 1), m(3, 3)),
        via(lambda x: x[:, 0].reshape(2, 1), m(2, 3)),
    ],
    "select_scatter": lambda m: [call(m(2, 3), m(2), 1, 2), call(m(2, 3), m(3), 0, -1)],
    "slice_scatter": lambda m: [
        call(m(3, 2), m(2, 2), 0, 1),
        call(m(2, 4), m(2, 2), 1, 0, 4, 2),
    ],
    "diagonal_scatter": lambda m: [call(m(3, 3), m(3)), call(m(2, 3, 2), m(2, 2), 1, 0, 1)],
    "as_strided_scatter": lambda m: [
        call(m(2, 3), m(2, 2), (2, 2), (1, 2), 1),
        via(lambda x, y: _C.as_strided_scatter(x.t(), y, (2,), (3,)), m(2, 3), m(2)),
    ],
}

COPIES = {
    "clone": lambda m: [call(m(2, 3)), via(lambda x: x.t().clone(), m(2, 3))],
    "copy_": lambda m: [call(m(2, 3), m(2, 3)), call(m(2, 3), m(3))],
    "copy": lambda m: [
        via(taeda.ops.aten.copy.default, m(2, 3), m(2, 3)),
        via(taeda.ops.aten.copy.default, m(2, 3), m(3)),
    ],
    "fill.Scalar": lambda m: [call(m(2, 3), 1.5), call(m(3), 2)],
    "_to_copy": lambda m: [call(m(2, 3), dtype=m.dtype), call(m(3), dtype=taeda.complex128)],
    "fill_.Scalar": lambda m: [call(m(2, 3), 1.5), call(m(3), 2)],
    "fill_.Tensor": lambda m: [call(m(2, 3), m()), call(m(3), m())],
    "zero_": lambda m: [call(m(2, 3)), call(m(3))],
    "cat": lambda m: [
        via(lambda *xs: _C.cat(xs, 1), m(2, 3), m(2, 1)),
        via(lambda *xs: _C.cat(xs), m(1, 2), m(2, 2), m(1, 2)),
    ],
    "stack": lambda m: [
        via(lambda *xs: _C.stack(xs, 1), m(2, 3), m(2, 3)),
        via(lambda *xs: _C.stack(xs), m(2), m(2), m(2)),
    ],
    "repeat": _views(((2, 3), ((2, 1),)), ((2,), ((2, 1, 2),))),
    "roll": _views(((2, 3), (1, 1)), ((2, 3), ((1, 2), (0, 1))), ((3,), (1,))),
    "flip": _views(((2, 3), ((0,),)), ((2, 3), ((0, 1),))),
    "tril": _square,
    "triu": _square,
}

RANDOM = {
    "uniform_": _random("uniform_"),
    "normal_": _random("normal_"),
    "exponential_": _random("exponential_"),
    "cauchy_": _random("cauchy_"),
    "log_normal_": _random("log_normal_"),
    "geometric_": _random("geometric_", 0.4),
    "random_.from": _random("random_", 0, 5),
    "random_.to": _random("random_", 5),
    "random_": _random("random_"),
    "bernoulli_.float": _random("bernoulli_", 0.4),
    "bernoulli_.Tensor": lambda m: [
        via(seeded("bernoulli_"), m(2, 3), m.positive(2, 3)),
        via(seeded("bernoulli_"), m(2, 3), m.positive(3)),
    ],
    "bernoulli": lambda m: [
        via(seeded("bernoulli"), m.positive(2, 3)),
        via(seeded("bernoulli"), m.positive(3)),
    ],
    "bernoulli.p": _random("bernoulli", 0.4),
    "uniform": _random_value("uniform"),
    "normal_functional": _random_value("normal_functional"),
    "exponential": _random_value("exponential"),
    "cauchy": _random_value("cauchy"),
    "log_normal": _random_value("log_normal"),
    "geometric": _random_value("geometric", 0.4),
    "random.from": _random_value("random", 0, 5),
    "random.to": _random_value("random", 5),
    "random": _random_value("random"),
}

CHOICES = {
    "clamp": lambda m: [call(m(2, 3), -0.4, 0.45), call(m(2, 3), None, 0.4), call(m(3), -0.3)],
    "clamp.Tensor": lambda m: [call(m(2, 3), m(3), m.positive(2, 1)), call(m(2, 3), m(2, 3))],
    "nan_to_num": lambda m: [call(m(2, 3)), call(m(3), 1.0, 2.0, -2.0)],
    "gelu": lambda m: [call(m(2, 3)), call(m(3), approximate="tanh")],
    "gelu_backward": lambda m: [call(m(2, 3), m(2, 3)), call(m(3), m(3), approximate="tanh")],
    "pow.Tensor_Scalar": lambda m: [call(m.positive(2, 3), 2.5), call(m(3), 2), call(m(3), 0)],
    "div.Tensor_mode": lambda m: [
        call(m(2, 3), m(3), rounding_mode=None),
        None if m.dtype.is_complex else call(m(2, 3), m(2, 1), rounding_mode="floor"),
        None if m.dtype.is_complex else call(m(3), m(3), rounding_mode="trunc"),
    ],
    "round.decimals": lambda m: [call(m(2, 3) * 1, decimals=0), call(m(3), decimals=-1)],
}

CALLS = {**MAKE_MATRICES, **INDICES, **LOSSES, **REDUCTIONS, **VIEWS, **COPIES, **RANDOM, **CHOICES}

# Records that take only real, or only complex numbers. Those of pointwise records say so themselves.
REAL_ONLY = {*RANDOM, *LOSSES, "view_as_complex", "complex", "amax", "amin", "max", "max.dim"}
REAL_ONLY |= {"min", "min.dim", "sort", "sort.stable", "topk"}
REAL_ONLY |= {"sign", "maximum", "minimum", "fmax", "fmin"}
COMPLEX_ONLY = {"view_as_real", "_conj"}
