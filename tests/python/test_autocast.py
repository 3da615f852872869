"""Tests of autocast regions: which dtype operators run in, nesting, the cast cache, gradients."""

import pathlib
import subprocess
import sys
import threading
import tomllib
import warnings

import pytest
from under_test import NAME, t

RECORDS = pathlib.Path(__file__).parents[2] / "taeda/ops"
LOWER = [t.bfloat16, t.float16]
needs_taeda = pytest.mark.skipif(NAME != "taeda", reason="asks for what PyTorch does not do")


def F(m):
    return m.nn.functional


# One call per operator with an autocast class on the CPU; `x` makes a float tensor of a dtype.
CALLS = {
    "conv1d.padding": lambda m, x: m.conv1d(x(1, 2, 5), x(3, 2, 3), padding="same"),
    "conv2d.padding": lambda m, x: m.conv2d(x(1, 2, 5, 5), x(3, 2, 3, 3), padding="same"),
    "conv3d.padding": lambda m, x: m.conv3d(x(1, 2, 3, 3, 3), x(3, 2, 3, 3, 3), padding="same"),
    "mm": lambda m, x: m.mm(x(3, 4), x(4, 5)),
    "bmm": lambda m, x: m.bmm(x(2, 3, 4), x(2, 4, 5)),
    "addmm": lambda m, x: m.addmm(x(5), x(3, 4), x(4, 5)),
    "baddbmm": lambda m, x: m.baddbmm(x(2, 3, 5), x(2, 3, 4), x(2, 4, 5)),
    "addbmm": lambda m, x: m.addbmm(x(3, 5), x(2, 3, 4), x(2, 4, 5)),
    "matmul": lambda m, x: m.matmul(x(3, 4), x(4)),
    "_batched_matmul": lambda m, x: m.matmul(x(2, 1, 3, 4), x(5, 4, 2)),
    "linear": lambda m, x: F(m).linear(x(2, 3, 4), x(5, 4), x(5)),
    "prod": lambda m, x: m.prod(x(3)),
    "prod.dim_int": lambda m, x: m.prod(x(3, 4), 1),
    "mse_loss": lambda m, x: F(m).mse_loss(x(3), x(3)),
    "l1_loss": lambda m, x: F(m).l1_loss(x(3), x(3)),
    "smooth_l1_loss": lambda m, x: F(m).smooth_l1_loss(x(3), x(3)),
    "huber_loss": lambda m, x: F(m).huber_loss(x(3), x(3)),
    "soft_margin_loss": lambda m, x: F(m).soft_margin_loss(x(3), x(3)),
    "binary_cross_entropy": lambda m, x: F(m).binary_cross_entropy(x(3).sigmoid(), x(3)),
    "binary_cross_entropy_with_logits": lambda m, x: F(m).binary_cross_entropy_with_logits(
        x(3), x(3)
    ),
    "kl_div": lambda m, x: F(m).kl_div(x(3), x(3).exp(), reduction="sum"),
    "poisson_nll_loss": lambda m, x: F(m).poisson_nll_loss(x(3), x(3)),
    "hinge_embedding_loss": lambda m, x: F(m).hinge_embedding_loss(x(3), x(3)),
    "margin_ranking_loss": lambda m, x: F(m).margin_ranking_loss(x(3), x(3), x(3)),
    "cosine_embedding_loss": lambda m, x: F(m).cosine_embedding_loss(x(2, 3), x(2, 3), x(2)),
    "triplet_margin_loss": lambda m, x: F(m).triplet_margin_loss(x(2, 3), x(2, 3), x(2, 3)),
    "nll_loss": lambda m, x: m._C._nn.nll_loss(x(2, 3), m.tensor([0, 2])),
    "nll_loss2d": lambda m, x: m._C._nn.nll_loss2d(x(1, 3, 2, 2), m.zeros(1, 2, 2, dtype=m.int64)),
    "cross_entropy_loss": lambda m, x: F(m).cross_entropy(x(2, 3), m.tensor([0, 2])),
    "view_as_complex": lambda m, x: m.view_as_complex(x(3, 2)),
    "cat": lambda m, x: m.cat([x(2), x(3)]),
    "stack": lambda m, x: m.stack([x(2), x(2)]),
    "index_copy": lambda m, x: x(3, 2).index_copy(0, m.tensor([1]), x(1, 2)),
    "cdist": lambda m, x: m.cdist(x(2, 3), x(4, 3)),
    "geqrf": lambda m, x: m.geqrf(x(3, 2))[0],
    "linalg_householder_product": lambda m, x: m.linalg.householder_product(x(3, 2), x(2)),
    "linalg_qr": lambda m, x: m.linalg.qr(x(3, 2))[0],
    "linalg_solve": lambda m, x: m.linalg.solve(m.eye(2).to(x(1).dtype), x(2, 2)),
    "orgqr": lambda m, x: m.orgqr(x(3, 2), x(2)),
    "qr": lambda m, x: m.qr(x(3, 2))[0],
    "linalg_cholesky": lambda m, x: m.linalg.cholesky(m.eye(2).to(x(1).dtype)),
    "linalg_cholesky_ex": lambda m, x: m.linalg.cholesky_ex(m.eye(2).to(x(1).dtype))[0],
    "cholesky": lambda m, x: m.cholesky(m.eye(2).to(x(1).dtype)),
    "cholesky_inverse": lambda m, x: m.cholesky_inverse(m.eye(2).to(x(1).dtype)),
    "cholesky_solve": lambda m, x: m.cholesky_solve(x(2, 1), m.eye(2).to(x(1).dtype)),
    "linalg_inv": lambda m, x: m.linalg.inv(m.eye(2).to(x(1).dtype)),
    "linalg_inv_ex": lambda m, x: m.linalg.inv_ex(m.eye(2).to(x(1).dtype))[0],
    "inverse": lambda m, x: m.inverse(m.eye(2).to(x(1).dtype)),
    "triangular_solve": lambda m, x: m.triangular_solve(x(2, 1), m.eye(2).to(x(1).dtype))[0],
    "conv1d": lambda m, x: m.conv1d(x(1, 2, 5), x(3, 2, 3)),
    "conv2d": lambda m, x: m.conv2d(x(1, 2, 5, 5), x(3, 2, 3, 3)),
    "conv3d": lambda m, x: m.conv3d(x(1, 2, 3, 3, 3), x(3, 2, 3, 3, 3)),
    "conv_tbc": lambda m, x: m.conv_tbc(x(5, 1, 2), x(3, 2, 4), x(4)),
    "conv_transpose1d": lambda m, x: m.conv_transpose1d(x(1, 2, 5), x(2, 3, 3)),
    "conv_transpose2d.input": lambda m, x: m.conv_transpose2d(x(1, 2, 3, 3), x(2, 3, 3, 3)),
    "conv_transpose3d.input": lambda m, x: m.conv_transpose3d(x(1, 2, 3, 3, 3), x(2, 3, 3, 3, 3)),
    "ctc_loss.IntList": lambda m, x: m.ctc_loss(
        x(4, 1, 3).log_softmax(2), m.tensor([[1, 2]]), [4], [2]
    ),
    "ctc_loss.Tensor": lambda m, x: m.ctc_loss(
        x(4, 1, 3).log_softmax(2), m.tensor([[1, 2]]), m.tensor([4]), m.tensor([2])
    ),
    "multi_margin_loss": lambda m, x: F(m).multi_margin_loss(x(2, 3), m.tensor([0, 2])),
    "multilabel_margin_loss": lambda m, x: F(m).multilabel_margin_loss(
        x(1, 3), m.tensor([[0, 2, -1]])
    ),
    "multilabel_margin_loss_forward": lambda m, x: m.ops.aten.multilabel_margin_loss_forward(
        x(1, 3), m.tensor([[0, 2, -1]]), 1
    )[0],
    "prelu": lambda m, x: m.prelu(x(2, 3), x(3)),
    "linalg_vecdot": lambda m, x: m.linalg.vecdot(x(2, 3), x(2, 3)),
    "trace": lambda m, x: m.trace(x(3, 3)),
    "polar": lambda m, x: m.polar(x(3), x(3)),
    "quantile": lambda m, x: m.quantile(x(3), x(1)),
    "quantile.scalar": lambda m, x: m.quantile(x(3), 0.5),
    "nanquantile": lambda m, x: m.nanquantile(x(3), x(1)),
    "nanquantile.scalar": lambda m, x: m.nanquantile(x(3), 0.5),
    "avg_pool3d": lambda m, x: F(m).avg_pool3d(x(1, 2, 4, 4, 4), 2),
    "max_pool3d": lambda m, x: m.max_pool3d(x(1, 2, 4, 4, 4), 2),
    "adaptive_avg_pool3d": lambda m, x: F(m).adaptive_avg_pool3d(x(1, 2, 4, 4, 4), 2),
    "adaptive_max_pool3d": lambda m, x: m._C._nn.adaptive_max_pool3d(x(1, 2, 4, 4, 4), (2, 2, 2))[
        0
    ],
    "fractional_max_pool2d": lambda m, x: m._C._nn.fractional_max_pool2d(
        x(1, 2, 5, 5), (2, 2), (2, 2), x(1, 2, 2) * 0.3
    )[0],
    "fractional_max_pool3d": lambda m, x: m._C._nn.fractional_max_pool3d(
        x(1, 2, 5, 5, 5), (2, 2, 2), (2, 2, 2), x(1, 2, 3) * 0.3
    )[0],
    "max_unpool2d": lambda m, x: m._C._nn.max_unpool2d(
        x(1, 1, 2, 2), m.tensor([[[[0, 3], [8, 15]]]]), (4, 4)
    ),
    "max_unpool3d": lambda m, x: m._C._nn.max_unpool3d(
        x(1, 1, 1, 1, 2), m.tensor([[[[[0, 7]]]]]), (2, 2, 2), (2, 2, 2), (0, 0, 0)
    ),
    "grid_sampler": lambda m, x: m.grid_sampler(x(1, 1, 3, 3), x(1, 2, 2, 2), 0, 0, False),
    "grid_sampler_2d": lambda m, x: m.grid_sampler_2d(x(1, 1, 3, 3), x(1, 2, 2, 2), 0, 0, False),
    "grid_sampler_3d": lambda m, x: m.grid_sampler_3d(
        x(1, 1, 3, 3, 3), x(1, 2, 2, 2, 3), 0, 0, False
    ),
    "reflection_pad1d": lambda m, x: m._C._nn.reflection_pad1d(x(1, 2, 4), (1, 2)),
    "reflection_pad2d": lambda m, x: m._C._nn.reflection_pad2d(x(1, 2, 4, 4), (1, 2, 1, 0)),
    "replication_pad1d": lambda m, x: m._C._nn.replication_pad1d(x(1, 2, 4), (1, 2)),
    "replication_pad2d": lambda m, x: m._C._nn.replication_pad2d(x(1, 2, 4, 4), (1, 2, 1, 0)),
    "replication_pad3d": lambda m, x: m._C._nn.replication_pad3d(
        x(1, 2, 3, 3, 3), (1, 2, 1, 0, 1, 1)
    ),
    "_native_multi_head_attention": lambda m, x: m._native_multi_head_attention(
        *[x(2, 3, 4)] * 3, 4, 2, x(12, 4), x(12), x(4, 4), x(4)
    )[0],
    "scaled_dot_product_attention": lambda m, x: F(m).scaled_dot_product_attention(
        x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4)
    ),
}
# Operators without a class that reach one with a class, or none.
OTHERS = {
    "einsum": lambda m, x: m.einsum("bij,bjk->bik", x(2, 3, 4), x(2, 4, 5)),
    "einsum of matrices": lambda m, x: m.einsum("ij,jk->ik", x(3, 4), x(4, 5)),
    "tensordot": lambda m, x: m.tensordot(x(3, 4), x(4, 5), 1),
    "inner": lambda m, x: m.inner(x(3, 4), x(5, 4)),
    "operator": lambda m, x: x(3, 4) @ x(4, 5),
    "mv": lambda m, x: m.mv(x(3, 4), x(4)),
    "dot": lambda m, x: m.dot(x(4), x(4)),
    "outer": lambda m, x: m.outer(x(4), x(4)),
    "exp": lambda m, x: x(4).exp(),
    "sum": lambda m, x: x(4).sum(),
    "softmax": lambda m, x: m.softmax(x(3, 4), 1),
    "layer_norm": lambda m, x: F(m).layer_norm(x(3, 4), (4,)),
    "hstack": lambda m, x: m.hstack([x(3), x(4)]),
    "concat": lambda m, x: m.concat([x(3), x(4)]),
    "in place": lambda m, x: x(3, 3).addmm_(x(3, 4), x(4, 3)),
    "out": lambda m, x: m.mm(x(3, 4), x(4, 5), out=x(3, 5)),
}


def cpu_classes():
    """Operator -> autocast class on the CPU, from the records."""
    found = {}
    for path in sorted(RECORDS.glob("*/records.toml")):
        for key, record in tomllib.loads(path.read_text()).items():
            given = record.get("autocast", {})
            given = {"cpu": given} if isinstance(given, str) else given
            if "cpu" in given:
                found[key] = given["cpu"]
    return found


def outcome(m, call, dtype, region_dtype):
    """The result's dtype under autocast, or the type of the error."""

    def make(*size):
        return m.ones(*size, dtype=getattr(m, dtype))

    with m.autocast("cpu", dtype=getattr(m, region_dtype)):
        try:
            return str(call(m, make).dtype)
        except RuntimeError as error:
            return type(error).__name__


def test_every_record_with_a_class_has_a_call():
    """Dtypes of an LSTM, which PyTorch's processor may lack in float16, are in test_recurrent.py."""
    assert sorted(cpu_classes()) == sorted([*CALLS, "lstm.input"])


@pytest.mark.parametrize("region_dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", [*CALLS, *OTHERS])
def test_result_dtypes_are_pytorchs(torch, name, dtype, region_dtype):
    call = {**CALLS, **OTHERS}[name]
    assert outcome(t, call, dtype, region_dtype) == outcome(torch, call, dtype, region_dtype)


@needs_taeda
def test_cpu_classes_name_pytorchs_operators(torch):
    theirs = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    theirs = {name.removeprefix("aten::") for name in theirs}
    known = set()
    for path in RECORDS.glob("*/records.toml"):
        known |= set(tomllib.loads(path.read_text()))
    assert "mkldnn_rnn_layer" in theirs  # what lstm.input is in PyTorch
    assert set(cpu_classes()) - {"_batched_matmul", "lstm.input"} == theirs & known


@needs_taeda
def test_accelerator_classes_name_pytorchs_operators(torch):
    theirs = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    theirs = {name.removeprefix("aten::") for name in theirs}
    ours, known = set(), set()
    for path in RECORDS.glob("*/records.toml"):
        for key, record in tomllib.loads(path.read_text()).items():
            known.add(key)
            given = record.get("autocast", {})
            if isinstance(given, str) or "accelerator" in given:
                ours.add(key)
    refused = {"binary_cross_entropy"}  # by PyTorch on GPUs, where it tells to use logits
    assert ours - {"_batched_matmul"} == (theirs & known) - refused


@pytest.mark.parametrize("dtype", LOWER)
def test_gradients_arrive_in_the_leafs_dtype(dtype):
    x = t.randn(5, 4)
    weight = t.randn(3, 4, requires_grad=True)
    bias = t.zeros(3, requires_grad=True)
    with t.autocast("cpu", dtype=dtype):
        hidden = t.nn.functional.linear(x, weight, bias)
        loss = t.nn.functional.mse_loss(hidden, t.zeros(5, 3))
    assert hidden.dtype == dtype and loss.dtype == t.float32
    loss.backward()
    assert weight.grad.dtype == t.float32 and bias.grad.dtype == t.float32
    expected = 2 / 15 * (x @ weight.detach().T).T @ x
    assert t.allclose(weight.grad, expected, rtol=0.05, atol=0.05)


def test_float64_and_integers_are_left_alone():
    with t.autocast("cpu"):
        assert t.mm(t.ones(2, 2).double(), t.ones(2, 2).double()).dtype == t.float64
        assert t.mm(t.ones(2, 2).long(), t.ones(2, 2).long()).dtype == t.int64
        assert t.cat([t.ones(2).int(), t.ones(2).bfloat16()]).dtype == t.bfloat16
        assert t.cat([t.ones(2).double(), t.ones(2).bfloat16()]).dtype == t.float64


def test_promotion_takes_the_widest():
    low, single = t.ones(2).bfloat16(), t.ones(2)
    with t.autocast("cpu"):
        assert t.cat([low, single]).dtype == t.float32
        assert t.stack([low, low]).dtype == t.bfloat16


def test_nested_regions():
    x = t.ones(2, 2)
    kinds = []
    with t.autocast("cpu", dtype=t.bfloat16):
        kinds.append((x @ x).dtype)
        with t.autocast("cpu", enabled=False):
            kinds.append((x @ x).dtype)
            with t.autocast("cpu", dtype=t.float16):
                kinds.append((x @ x).dtype)
            kinds.append((x @ x).dtype)
        kinds.append((x @ x).dtype)
    kinds.append((x @ x).dtype)
    assert kinds == [t.bfloat16, t.float32, t.float16, t.float32, t.bfloat16, t.float32]
    assert not t.is_autocast_enabled("cpu") and t.get_autocast_dtype("cpu") == t.bfloat16


def test_region_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), t.autocast("cpu", dtype=t.float16):
        raise ZeroDivisionError
    assert not t.is_autocast_enabled("cpu") and t.get_autocast_dtype("cpu") == t.bfloat16
    assert t.autocast_increment_nesting() == 1 and t.autocast_decrement_nesting() == 0


def test_decorator():
    @t.autocast("cpu")
    def product(x):
        """Doc."""
        return x @ x

    assert product(t.ones(2, 2)).dtype == t.bfloat16
    assert product.__name__ == "product" and product.__doc__ == "Doc."
    assert not t.is_autocast_enabled("cpu")


@needs_taeda
def test_decorated_function_may_call_itself():
    region = t.autocast("cpu")

    @region
    def countdown(n):
        return countdown(n - 1) if n else t.is_autocast_enabled("cpu")

    assert countdown(3) and not t.is_autocast_enabled("cpu")


def test_state_belongs_to_the_thread():
    seen = []
    with t.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(t.is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert seen == [False]


def cast_node(result):
    """The node of the cast of the second argument."""
    return result.grad_fn.next_functions[1][0]


def test_weights_are_cast_once_a_region():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        first, second = t.mm(x, weight), t.mm(x, weight)
        with t.autocast("cpu"):
            inner = t.mm(x, weight)
        after = t.mm(x, weight)
    with t.autocast("cpu"):
        other = t.mm(x, weight)
    assert cast_node(first) is cast_node(second) is cast_node(inner) is cast_node(after)
    assert cast_node(first) is not cast_node(other)


def test_cache_can_be_off():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu", cache_enabled=False):
        assert not t.is_autocast_cache_enabled()
        assert cast_node(t.mm(x, weight)) is not cast_node(t.mm(x, weight))
    assert t.is_autocast_cache_enabled()


def test_cleared_cache_casts_again():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        first = t.mm(x, weight)
        t.clear_autocast_cache()
        assert cast_node(t.mm(x, weight)) is not cast_node(first)


def test_a_cast_made_in_no_grad_serves_recording_calls():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        with t.no_grad():
            assert not t.mm(x, weight).requires_grad
        result = t.mm(x, weight)
    assert result.requires_grad
    result.float().sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_inference_mode_inside_a_region():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        with t.inference_mode():
            assert t.mm(x, weight).dtype == t.bfloat16
        assert t.mm(x, weight).requires_grad


@needs_taeda
def test_a_weight_written_to_is_cast_again():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        t.mm(x, weight)
        with t.no_grad():
            weight.zero_()
        assert t.mm(x, weight).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@needs_taeda
def test_an_inner_region_of_another_dtype_casts_again():
    x, weight = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu", dtype=t.bfloat16):
        t.mm(x, weight)
        with t.autocast("cpu", dtype=t.float16):
            assert t.mm(x, weight).dtype == t.float16


def test_a_meta_tensor_passes_through():
    x = t.ones(2, 2, device="meta")
    with t.autocast("cpu"):
        assert t.mm(x, x).dtype == t.float32


def test_unsupported_dtype_warns_and_disables():
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        region = t.autocast("cpu", dtype=t.float32)
    with region:
        assert not t.is_autocast_enabled("cpu")


def test_cuda_without_a_device_warns_and_disables():
    if "cuda" in getattr(t._C, "_registered_devices", list)():
        pytest.skip("there is one")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        region = t.autocast("cuda")
    with region:
        assert not t.is_autocast_enabled("cuda")


def test_queries():
    assert t.amp.is_autocast_available("cpu") and not t.amp.is_autocast_available("meta")
    assert t.get_autocast_dtype("cpu") == t.bfloat16 and t.get_autocast_dtype("cuda") == t.float16
    assert t.is_autocast_enabled() is False
    t.set_autocast_enabled("cpu", True)
    try:
        assert t.is_autocast_enabled("cpu") and (t.ones(2, 2) @ t.ones(2, 2)).dtype == t.bfloat16
    finally:
        t.set_autocast_enabled("cpu", False)


def test_deprecated_names():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        region = t.cpu.amp.autocast(dtype=t.float16)
    assert isinstance(region, t.amp.autocast) and region.fast_dtype == t.float16
    with pytest.warns(FutureWarning, match="is deprecated"):
        t.cpu.amp.autocast()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert t.is_autocast_cpu_enabled() is False and t.get_autocast_cpu_dtype() == t.bfloat16


def product_function(cast_inputs):
    """A Function of a product, its states in `seen`."""
    seen = []

    class Product(t.autograd.Function):
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, t.is_autocast_enabled("cpu")))
            return a @ b

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad.dtype, t.is_autocast_enabled("cpu")))
            return grad @ b.T, a.T @ grad

    return Product, seen


def test_custom_functions_in_the_callers_region():
    Product, seen = product_function(None)
    a = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        result = Product.apply(a, t.ones(2, 2))
    assert result.dtype == t.bfloat16
    result.sum().backward()
    assert seen == [(t.float32, True), (t.bfloat16, True)] and a.grad.dtype == t.float32


def test_custom_functions_with_cast_inputs():
    Product, seen = product_function(t.float16)
    a = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        result = Product.apply(a, t.ones(2, 2))
    result.sum().backward()
    assert seen == [(t.float16, False), (t.float16, False)]
    assert result.dtype == t.float16 and a.grad.dtype == t.float32


def test_custom_functions_outside_a_region():
    Product, seen = product_function(t.float16)
    Product.apply(t.ones(2, 2, requires_grad=True), t.ones(2, 2)).sum().backward()
    assert seen == [(t.float32, False), (t.float32, False)]


@needs_taeda
def test_import_does_not_load_amp():
    code = "import sys, taeda; print([m for m in sys.modules if m.startswith('taeda.amp')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@needs_taeda
def test_regions_apply_to_fake_tensors():
    from taeda._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b = t.ones(3, 4), t.ones(4, 3)
    with t.autocast("cpu", dtype=t.bfloat16):
        assert (a @ b).dtype is t.bfloat16
        assert t.nn.functional.linear(a, a).dtype is t.bfloat16
    with t.autocast("cuda", enabled=False):
        assert (a @ b).dtype is t.float32
    assert (a @ b).dtype is t.float32


LAYERS_OF_OTHERS = [("CircularPad1d(1)", 3), ("CircularPad2d(1)", 4), ("LocalResponseNorm(3)", 3)]
LAYERS_OF_OTHERS += [("LocalResponseNorm(3)", 4), ("LocalResponseNorm(3)", 5)]


@pytest.mark.parametrize("layer, ndim", LAYERS_OF_OTHERS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_layers_made_of_others_have_pytorchs_dtype(torch, layer, ndim, dtype):
    def call(m, x):
        return eval(f"m.nn.{layer}", {"m": m})(x(*(2, 3, 4, 2, 2)[:ndim]))

    assert outcome(t, call, dtype, "bfloat16") == outcome(torch, call, dtype, "bfloat16")
