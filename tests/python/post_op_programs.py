"""Programs whose work behind a product or a convolution is a list of post-ops of a library.

As a script: runs each with the library that TAEDA_ONEDNN names and prints what happened as JSON.
"""

import json

from taeda._inductor import compile
from taeda.fx.experimental.proxy_tensor import make_fx

import taeda as t
import taeda.nn.functional as F

# Of x, w, a residual and a row; with the words that the work has.
PRODUCTS = {
    "relu": (lambda x, w, r, b: t.relu(x @ w), ["relu"]),
    "gelu": (lambda x, w, r, b: F.gelu(t.addmm(b, x, w)), ["gelu"]),
    "tanh gelu": (lambda x, w, r, b: F.gelu(x @ w + b, approximate="tanh"), ["add", "gelu_tanh"]),
    "silu": (lambda x, w, r, b: F.silu(x @ w) * b, ["silu", "mul"]),
    "residual": (lambda x, w, r, b: r + t.addmm(b, x, w) * 0.5, ["linear", "add"]),
    "subtracted": (lambda x, w, r, b: r - x @ w, ["linear", "add"]),
    "tanh": (lambda x, w, r, b: t.tanh((x @ w) / 3 - b), ["linear", "sub", "tanh"]),
    "factors": (lambda x, w, r, b: -(x @ w * 1e38 + 2) * 1e-38, ["linear", "linear"]),
    "sigmoid": (lambda x, w, r, b: t.sigmoid(x @ w - 1) / b, ["linear", "sigmoid", "div"]),
}

# Of an image, filters, a residual and four vectors.
CONVOLUTIONS = {
    "scaled": (
        lambda x, w, r, m, v, s, b: F.silu(F.conv2d(x, w, m, padding=1) * s[:, None, None]),
        ["mul", "silu"],
    ),
    "batch norm": (
        lambda x, w, r, m, v, s, b: F.silu(F.batch_norm(F.conv2d(x, w, padding=1), m, v, s, b)),
        ["sub", "mul", "add", "silu"],
    ),
    "strided": (
        lambda x, w, r, m, v, s, b: F.gelu(F.conv2d(x, w, m, stride=2)) * 2,
        ["gelu", "linear"],
    ),
}
RESIDUAL = (
    lambda x, w, r, m, v, s, b: F.gelu(F.conv2d(x, w, m, padding=1) + r),
    ["add", "gelu"],
)

# Work that no list of post-ops says.
OTHERS = {
    "where": lambda x, w, r, b: t.where(r > 0, x @ w, 0.0),
    "dropout": lambda x, w, r, b: F.dropout(x @ w, 0.5),
    "two results": lambda x, w, r, b: (lambda p: (p, t.tanh(p)))(x @ w),
    "twice": lambda x, w, r, b: (lambda p: p * t.cos(p))(x @ w),
    "another dtype": lambda x, w, r, b: (x @ w).double() + 1,
    "rounded": lambda x, w, r, b: t.relu((x @ w).half().float()),
    "divided by next to nothing": lambda x, w, r, b: (x @ w) / 1e-40,
}


def matrices(dtype=t.float32, rows=96):
    t.manual_seed(rows)
    return [(t.randn(*s) / 4).to(dtype) for s in ((rows, 130), (130, 160), (rows, 160), (160,))]


def images(form=t.contiguous_format):
    t.manual_seed(3)
    large = [t.randn(2, 16, 20, 18), t.randn(32, 16, 3, 3) / 8, t.randn(2, 32, 20, 18)]
    return [x.contiguous(memory_format=form) for x in large] + [t.rand(32) + 0.5 for _ in range(4)]


def captured(f, inputs, **options):
    gm = make_fx(f, tracing_mode="symbolic", pre_dispatch=True)(*inputs)
    return compile(gm, inputs, **({"native": "never"} | options))


def product_step(compiled):
    """The step of the product or convolution."""
    return next(s for s in compiled.report()[0]["steps"] if s["kind"] == "call")


def outcomes():
    """By program: the largest relative error, and whether the library did the work."""
    programs = {name: (f, matrices()) for name, (f, _) in PRODUCTS.items()}
    for form, called in ((t.contiguous_format, "planes"), (t.channels_last, "channels last")):
        for name, (f, _) in CONVOLUTIONS.items():
            programs[f"{name}, {called}"] = (f, images(form))
    programs["residual, channels last"] = (RESIDUAL[0], images(t.channels_last))
    found = {}
    for name, (f, inputs) in programs.items():
        compiled = captured(f, inputs)
        for _ in range(2):  # the second time with kept primitives
            got, want = compiled(*inputs), f(*inputs)
        assert got.stride() == want.stride() and got.dtype == want.dtype
        error = ((got - want).abs().max() / want.abs().max()).item()
        found[name] = (error, product_step(compiled)["finished_by_library"])
    for rows in (50, 70):  # other sizes of one program, and one that the library does not take
        f, inputs = PRODUCTS["silu"][0], matrices(rows=rows)
        compiled = captured(f, matrices())
        assert t.allclose(compiled(*inputs), f(*inputs), atol=1e-5)
        small = matrices(rows=2)
        assert t.equal(compiled(*small), f(*small))
        assert not product_step(compiled)["finished_by_library"]
    special = matrices()
    special[0][0], special[0][1], special[0][2] = float("nan"), float("inf"), -float("inf")
    special[1].abs_()
    for name in ("relu", "gelu", "tanh gelu", "silu", "tanh", "sigmoid"):
        f = PRODUCTS[name][0]
        assert t.allclose(captured(f, special)(*special), f(*special), atol=1e-5, equal_nan=True)
    return found


if __name__ == "__main__":
    print(json.dumps(outcomes()))
