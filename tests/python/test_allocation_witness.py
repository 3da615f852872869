"""Forms that write into given memory take no tensor memory of their own."""

import pytest

import taeda as t


def stats():
    return t._C._dispatch._allocator_stats()


N = 96  # rows and columns: large enough that a hidden copy would show


def data():
    values = t.arange(N * N, dtype=t.float32).reshape(N, N)
    index = t.arange(N * N).reshape(N, N) * 7 % N
    return values.sin(), index


def outputs(*dtypes):
    return tuple(t.empty(N, N, dtype=d) for d in dtypes)


x, index = data()
y = x.cos()
row = index[0].clone()
mask = x > 0
one = outputs(t.float32)[0]
twice = t.empty(2 * N, N)
pair = outputs(t.float32, t.int64)
batch = x.reshape(4, N // 4, N)
few = (t.empty(N, 8), t.empty(N, 8, dtype=t.int64))
halves = x.to(t.bfloat16)

CASES = {
    "cat": lambda: t.cat((x, y), out=twice),
    "stack": lambda: t.stack((x, y), out=twice.view(2, N, N)),
    "gather": lambda: t.gather(x, 1, index, out=one),
    "index_select rows": lambda: t.index_select(x, 0, row, out=one),
    "index_select columns": lambda: t.index_select(x, 1, row, out=one),
    "take": lambda: t.take(x, index, out=one),
    "where": lambda: t.where(mask, x, y, out=one),
    "exp of halves": lambda: t.exp(halves, out=one),
    "add of transposed halves": lambda: t.add(halves.T, halves, out=one),
    "cumsum": lambda: t.cumsum(x, 1, out=one),
    "cumsum columns": lambda: t.cumsum(x, 0, out=one),
    "cumprod": lambda: t.cumprod(x, 1, out=one),
    "sort": lambda: t.sort(x, 1, out=pair),
    "argmax": lambda: t.argmax(x, 1, out=row),
    "max": lambda: t.max(x, 1, out=(one[0], row)),
    "topk": lambda: t.topk(x, 8, 1, out=few),
    "mm": lambda: t.mm(x, y, out=one),
    "mm transposed": lambda: t.mm(x.T, y, out=one),
    "addmm": lambda: t.addmm(x[0], x, y, out=one),
    "bmm": lambda: t.bmm(
        batch, batch.transpose(1, 2), out=twice.view(-1)[: 4 * 24 * 24].view(4, 24, 24)
    ),
    "matmul": lambda: t.matmul(x, y, out=one),
    "mv": lambda: t.mv(x, y[0], out=one[0]),
    "softmax": lambda: t.softmax(x, 1, out=one),
    "log_softmax": lambda: t.log_softmax(x, 0, out=one),
    "logsumexp": lambda: t.logsumexp(x, 1, out=one[0]),
    "kron": lambda: t.kron(x[:12], x[0, :8].view(8, 1), out=one),
    "diff": lambda: t.diff(x, prepend=None, dim=0, out=one[1:]),
    "addr": lambda: t.addr(y, x[0], x[1], out=one),
    "addr scaled": lambda: t.addr(y, x[0], x[1], beta=2, out=one),
    "addr_": lambda: one.addr_(x[0], x[1], beta=0.5),
    "multi_dot": lambda: t.linalg.multi_dot([x, y], out=one),
    "matrix_power": lambda: t.linalg.matrix_power(x, 2, out=one),
    "diag": lambda: t.diag(x[0], out=one),
    "diag of a matrix": lambda: t.diag(x, out=one[0]),
    "put": lambda: t.ops.aten.put.out(x, row[:2], y[0, :2], out=one),
    "chunks": lambda: t.ops.aten._chunk_cat.out([x, y], 0, 2, out=twice.view(2, -1)),
    "tensordot": lambda: t.tensordot(x, y, 1, out=one),
    "tensordot of more": lambda: t.tensordot(batch, y, 1, out=one.view(batch.shape)),
    "inner": lambda: t.inner(x, y, out=one),
    "adaptive_avg_pool2d": lambda: t._C._nn.adaptive_avg_pool2d(
        x.view(1, N, N), (N // 2, N), out=twice[: N // 2].view(1, N // 2, N)
    ),
    "avg_pool1d": lambda: t.ops.aten.avg_pool1d.out(x.view(1, N, N), [1], out=one.view(1, N, N)),
    "adaptive_avg_pool1d": lambda: t.ops.aten.adaptive_avg_pool1d.out(
        x.view(1, N, N), [N // 2], out=twice[: N // 2].view(1, N, N // 2)
    ),
    "index_fill_": lambda: one.index_fill_(0, row, 1.0),
    "index_add_": lambda: one.index_add_(0, row, x),
    "index_copy_": lambda: one.index_copy_(0, row, x),
    "scatter_": lambda: one.scatter_(1, index, x),
    "scatter_add_": lambda: one.scatter_add_(1, index, x),
    "masked_fill_": lambda: one.masked_fill_(mask, 0.0),
    "copy_": lambda: one.copy_(x.T),
    "addmm_": lambda: one.addmm_(x, y),
    "cumsum_": lambda: one.cumsum_(1),
}
# What the call's own small tensors may take: a number as a tensor, indices; a view has none.
NUMBERS = 64


@pytest.mark.parametrize("name", CASES)
def test_writes_into_given_memory(name):
    call = CASES[name]
    call()  # resizes nothing from here on
    t._C._dispatch._reset_peak_stats()
    before = stats()
    call()
    after = stats()
    assert after["allocated_bytes"] == before["allocated_bytes"]
    assert after["allocated_peak"] - before["allocated_bytes"] <= NUMBERS
