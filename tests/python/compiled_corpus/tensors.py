"""Programs around tensors: views, writes, indices, factories, dtypes, sizes, random numbers."""

# ruff: noqa: C416, E741

import importlib
import math

from compiled_case import case
from under_test import NAME, t

F = importlib.import_module(f"{NAME}.nn.functional")

t.manual_seed(0)
X = t.randn(4, 3)
Y = t.randn(4, 3)
I = t.tensor([2, 0, 1])
M = t.randn(4, 3) > 0


@case(X)
def views_share_writes(x):
    y = x.clone()
    row = y[1]
    row.mul_(0)
    y.view(-1)[0] = 5
    return y, row


@case(X.clone())
def writes_to_an_argument(x):
    x[0] = 0
    x[:, 1] += 1
    x[x > 1] = 9
    return x.sum()


@case(X.clone(), Y.clone())
def copies_between_arguments(x, y):
    x.copy_(y)
    y.zero_()
    return x - y


@case(X.clone())
def write_then_return_argument(x):
    y = x.add_(1)
    return y is x, y


@case(X, I)
def indices_of_tensors(x, i):
    return x[:, i], x[i], x[i[0]], x[i, i], x.index_select(1, i), x.gather(1, i[None].expand(4, 3))


@case(X, M)
def masks_as_where(x, m):
    return t.where(m, x, -x), x.masked_fill(m, 0.0), x * m, (~m).sum(), m.any(1)


@case(X)
def indices_of_all_kinds(x):
    return x[..., 0], x[None, :, ::2], x[-1], x[1:, 1:], x[[0, 1], [1, 2]], x[:, None, None].shape


@case(X)
def joins_and_splits(x):
    a, b = x.split(2)
    c = t.cat([b, a], dim=0)
    d = t.stack(x.unbind(1), dim=1)
    return c, d, t.chunk(x, 2)[1], x.tensor_split(3)[0]


@case(X)
def shapes_changed(x):
    y = x.reshape(2, 2, 3).permute(2, 0, 1).flatten(1)
    return (
        y,
        y.T,
        x.unsqueeze(0).squeeze(),
        x.expand(2, -1, -1).movedim(0, 1),
        x.unflatten(0, (2, 2)),
    )


@case(X)
def shape_arithmetic(x):
    b, c = x.shape
    heads = 3
    y = x.view(b, heads, c // heads)
    z = y.transpose(1, 2).reshape(b, -1)
    return z, x.numel() // b, [*x.shape, 1], x.shape[:-1] + (1,)


@case(X)
def sizes_as_values(x):
    s = x.size()
    return s[0] * s[-1], len(s), list(s), s.numel(), tuple(s) == (4, 3), x.stride(), x.ndim


@case(X)
def factories(x):
    a = t.zeros_like(x) + t.ones(3) + t.full((4, 1), 2.0)
    b = t.eye(3) + t.arange(3.0) + t.linspace(0, 1, 3)
    return a @ b, t.empty(0).shape, x.new_tensor([1, 2]), x.new_full((2,), 3)


@case(X)
def tensors_from_data(x):
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    return x @ t.tensor(rows).T, t.tensor(3), t.as_tensor([1, 2]), t.tensor([True, False])


@case(X)
def dtype_changes(x):
    return (
        x.double() + 1,
        x.to(t.int64),
        x.half().float(),
        x.bool(),
        x.type_as(t.ones(1, dtype=t.float64)),
        (x > 0).float(),
        t.result_type(x, 1.5),
    )


@case(X)
def promotions(x):
    i = t.arange(3)
    return x + i, i / 2, i * 2.5, i + True, (i > 1) + 1, t.tensor(2) * x, 2**i


@case(X, Y)
def comparisons_and_logic(x, y):
    m = (x > y) & (x < 1) | (y == 0)
    return m, t.logical_not(m), t.equal(x, x), t.maximum(x, y), x.ne(y), x.isfinite().all()


@case(X)
def reductions(x):
    v, i = x.max(dim=1)
    return v, i, x.mean(0), x.std(), x.var(0, unbiased=False), x.prod(1), x.norm(), x.amax((0, 1))


@case(X)
def sorted_and_counted(x):
    s = x.sort(dim=0, descending=True)
    top = x.topk(2)
    return s.values, s.indices, top[0], x.argmax(), x.cumsum(0), x.argsort(1), x.median()


@case(X, Y)
def products(x, y):
    return x @ y.T, t.einsum("ij,kj->ik", x, y), x.mm(y.T), t.outer(x[0], y[0]), t.dot(x[0], y[1])


@case(X)
def softmax_by_hand(x):
    e = (x - x.amax(-1, keepdim=True)).exp()
    p = e / e.sum(-1, keepdim=True)
    return p, -(p * p.log()).sum(-1)


@case(X, is_fused=True)
def attention_by_hand(x):
    q = k = v = x[None]
    scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
    mask = t.ones(4, 4, dtype=t.bool).tril()
    return F.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v


@case(X)
def rotary_embedding(x):
    half = x[:, :2]
    pos = t.arange(x.shape[0], dtype=x.dtype)[:, None]
    cos, sin = pos.cos(), pos.sin()
    a, b = half.chunk(2, -1)
    return t.cat([a * cos - b * sin, a * sin + b * cos], -1)


@case(X)
def losses(x):
    target = t.tensor([0, 1, 2, 0])
    return (
        F.cross_entropy(x, target),
        F.mse_loss(x, x + 1),
        F.binary_cross_entropy_with_logits(x, (x > 0).float()),
        F.smooth_l1_loss(x, -x, beta=0.5),
    )


@case(X)
def activations(x):
    return F.gelu(x), F.silu(x), F.leaky_relu(x, 0.2), F.softplus(x), x.sigmoid().tanh(), F.elu(x)


@case(X)
def normalizations(x):
    return F.layer_norm(x, (3,)), F.normalize(x, dim=1), (x - x.mean(0)) / (x.std(0) + 1e-5)


@case(t.randn(1, 2, 8, 8))
def convolutions_and_pools(x):
    w = t.ones(3, 2, 3, 3)
    y = F.conv2d(x, w, padding=1, stride=2)
    return (
        F.max_pool2d(y, 2),
        F.adaptive_avg_pool2d(y, 1).flatten(1),
        F.pad(y, (1, 1)),
        F.interpolate(x, scale_factor=2),
    )


@case(X)
def random_numbers_drawn(x):
    return (
        x + t.randn_like(x),
        t.rand(3),
        t.randint(0, 10, (4,)),
        t.randperm(5),
        t.bernoulli(x.sigmoid()),
    )


@case(X)
def random_seed_inside(x):
    t.manual_seed(5)
    a = t.rand(2)
    t.manual_seed(5)
    return x, t.equal(a, t.rand(2))


@case(X)
def random_generator_passed(x):
    g = t.Generator()
    g.manual_seed(3)
    return x + t.rand(4, 3, generator=g)


@case(X)
def dropout_in_training(x):
    return F.dropout(x, 0.5, training=True), F.dropout(x, 0.5, training=False)


@case(X)
def scatter_and_gather(x):
    index = t.tensor([[0, 1, 2], [2, 1, 0]])
    y = t.zeros(3, 3).scatter_add(0, index, t.ones(2, 3))
    one_hot = F.one_hot(t.tensor([0, 2]), 3)
    return y, one_hot, x.take_along_dim(index, 1) if False else x.gather(1, index)


@case(X)
def out_arguments(x):
    out = t.empty(4, 3)
    t.add(x, 1, out=out)
    return out, t.mul(out, 2)


@case(X)
def tensor_methods_with_numbers(x):
    return x.add(2).sub(1).mul(3).div(4).pow(2).neg().abs().clamp(0, 5).round(decimals=2)


@case(X)
def operators_reflected(x):
    return 1 - x, 2 / (x.abs() + 1), 2**x, -x, +x, 7 // (x.abs() + 1), 3 % (x.abs() + 1), abs(x)


@case(X)
def tensor_attributes(x):
    y = x.T
    return (
        y.is_contiguous(),
        y.stride(),
        x.device.type,
        x.is_floating_point(),
        x.requires_grad,
        y.mT,
        x.layout,
    )


@case(X)
def broadcasts(x):
    return x + x[:1] * x[:, :1], t.broadcast_tensors(x[0], x)[0], t.broadcast_shapes((4, 1), (3,))


@case(X)
def contiguity_kept(x):
    y = x.t().contiguous().view(-1)
    return y, x.t().reshape(-1), y.data_ptr() != x.data_ptr()


@case(X)
def detached_and_cloned(x):
    y = x.detach().clone().requires_grad_(False)
    y += 1
    return y, x.data.sum()


@case(X)
def meshes_and_grids(x):
    a, b = t.meshgrid(t.arange(3), t.arange(2), indexing="ij")
    return a * b, t.cartesian_prod(t.arange(2), t.arange(2)), t.tril_indices(3, 3), x.diagonal()


@case(X)
def histograms_and_bins(x):
    return t.bincount(t.tensor([0, 1, 1, 3]), minlength=5), t.bucketize(
        x, t.tensor([-1.0, 0.0, 1.0])
    )


@case(t.tensor(3))
def scalar_tensor_as_index(n):
    x = t.arange(5)
    return x[n], x + n, n * 2


@case(X, t.tensor([0.5]))
def scalar_tensors_mixed(x, s):
    return x * s + s.squeeze(), t.lerp(x, x + 1, 0.5), x.addcmul(x, x, value=0.1)


@case(X)
def padded_batches(x):
    rows = [x[0, :2], x[1], x[2, :1]]
    out = x.new_zeros(len(rows), max(r.shape[0] for r in rows))
    for i, r in enumerate(rows):
        out[i, : r.shape[0]] = r
    return out


@case(X)
def windows_unfolded(x):
    return (
        x.unfold(0, 2, 1),
        x.as_strided((2, 2), (3, 1)),
        t.roll(x, 1, 0),
        x.flip(0),
        x.repeat(1, 2),
    )


@case(t.tensor([[1, 2, 0], [3, 0, 0]]))
def padding_masks(ids):
    mask = ids != 0
    lengths = mask.sum(1)
    positions = mask.cumsum(1) - 1
    return (
        mask[:, None, None, :],
        lengths,
        positions.clamp(min=0),
        ids.eq(3).nonzero(as_tuple=True)[0].shape,
    )


@case(X)
def einsum_like_loops(x):
    out = t.zeros(4, 4)
    for i in range(4):
        for j in range(4):
            out[i, j] = (x[i] * x[j]).sum()
    return out


@case(X.clone().requires_grad_())
def gradients_inside(x):
    (g,) = t.autograd.grad((x**2).sum(), x)
    return g


@case(X.clone().requires_grad_())
def backward_inside(x):
    w = x.detach().clone().requires_grad_()
    (w * 2).sum().backward()
    return w.grad


@case(X)
def tolist_of_sizes(x):
    sizes = [v for v in x.shape]
    parts = t.split(t.arange(7), [1, 2, 4])
    return sizes, [p.sum() for p in parts]


@case(t.tensor([3, 1]), breaks=1)
def numbers_of_a_tensor(n):
    a, b = n.tolist()
    return t.ones(a, b)


@case(X, breaks=1)
def condition_inside_a_loop(x):
    steps = 0
    while x.abs().max() > 0.5 and steps < 3:
        x = x / 2
        steps += 1
    return x, steps


@case(X, breaks=1)
def early_return_by_data(x):
    y = x * 2
    if bool((y > 100).any()):
        return y
    return y + 1


@case(X)
def complex_tensors(x):
    z = t.complex(x, x + 1)
    return z.abs(), z.conj() * z, t.view_as_real(z), z.real


@case(X)
def typed_scalars(x):
    return t.tensor(1.5).dtype, t.tensor(2).dtype, t.get_default_dtype(), t.is_tensor(x), t.numel(x)
