"""Tests of a device plug-in loaded by path: its own kernels, copies, the CPU fallback, names, training."""

import ctypes
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="PyTorch has no such plug-in")

if NAME == "taeda":
    PLUGIN = Path(t._C.__file__).resolve().parents[2] / "tests" / "libcounting_device.so"
    DEVICE = "privateuseone"


@pytest.fixture(scope="module")
def plugin():
    if not PLUGIN.exists():
        pytest.skip("the plug-in is built with the C++ tests")
    assert t._C._load_device(str(PLUGIN)) == DEVICE
    library = ctypes.CDLL(str(PLUGIN))
    library.counting_device_calls.restype = ctypes.c_int64
    library.counting_device_blocks.restype = ctypes.c_int64
    return library


@pytest.fixture
def calls(plugin):
    def since(name, run):
        before = plugin.counting_device_calls(name.encode())
        result = run()
        return result, plugin.counting_device_calls(name.encode()) - before

    return since


def fallbacks(name, run):
    before = t._C._fallback_counts().get(name, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run()
    return result, t._C._fallback_counts().get(name, 0) - before


def test_factories_and_transfers(plugin):
    x = t.ones(2, 3, device=DEVICE)
    assert x.device == t.device(DEVICE, 0) and x.device.type == DEVICE
    assert t.zeros(2, device=DEVICE).tolist() == [0, 0]
    y = t.tensor([[1.0, 2.0], [3.0, 4.0]]).to(DEVICE)
    assert y.to("cpu").tolist() == [[1, 2], [3, 4]]
    assert y.cpu().device.type == "cpu" and y[1, 0].item() == 3


def test_own_kernels_run(calls):
    x = t.ones(2, 3, device=DEVICE)
    y, added = calls("add.out", lambda: x + x)
    assert added == 1 and y.cpu().tolist() == [[2, 2, 2]] * 2
    z, multiplied = calls("mm.out", lambda: t.mm(x, y.transpose(0, 1)))
    assert multiplied == 1 and z.cpu().tolist() == [[6, 6]] * 2
    _, multiplied = calls("mm.out", lambda: x @ y.transpose(0, 1))
    assert multiplied == 1


def test_missing_operator_warns_once_and_counts(plugin):
    x = t.ones(3, device=DEVICE)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y, z = x.sub(x), x.sub(2 * x)
    ours = [w for w in seen if "aten::sub.out" in str(w.message)]
    assert len(ours) == 1 and "runs on the CPU" in str(ours[0].message)
    assert y.device.type == DEVICE and z.cpu().tolist() == [-1, -1, -1]
    _, counted = fallbacks("sub.out", lambda: x.sub(x))
    assert counted == 1


def test_fallback_writes_arguments_back(plugin):
    x = t.arange(6.0).to(DEVICE).view(2, 3)
    _, counted = fallbacks("mul.out", lambda: x.mul_(2))
    assert counted == 1 and x.cpu().tolist() == [[0, 2, 4], [6, 8, 10]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x[:, 1] += 1
    assert x.cpu().tolist() == [[0, 3, 4], [6, 9, 10]]
    out = t.empty(0, device=DEVICE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert t.mul(x, x, out=out) is out
    assert out.shape == (2, 3) and out.cpu()[1, 2] == 100


def test_views_share_device_memory(calls):
    x = t.zeros(2, 2, device=DEVICE)
    _, host_copies = calls("copy_to_host", lambda: x.view(4).view(2, 2).transpose(0, 1)[1:])
    assert host_copies == 0
    x.view(4)[3:].fill_(5)
    assert x.cpu().tolist() == [[0, 0], [0, 5]]


def test_printing(plugin):
    text = repr(t.ones(2, device=DEVICE))
    assert text == f"tensor([1., 1.], device='{DEVICE}:0')"


def test_memory_is_given_back(plugin):
    before = plugin.counting_device_blocks()
    x = t.ones(5, device=DEVICE)
    y = x + x
    assert plugin.counting_device_blocks() == before + 2
    del x, y
    assert plugin.counting_device_blocks() == before


def test_second_device(plugin):
    x = t.ones(2, device=f"{DEVICE}:1")
    assert x.device.index == 1 and (x + x).cpu().tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="invalid device ordinal 7"):
        t.ones(2, device=f"{DEVICE}:7")


def test_training_a_linear_model(plugin):
    def train(device):
        x = t.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.25]]).to(device)
        target = x @ t.tensor([[2.0], [-1.0]]).to(device)
        weight = t.zeros(1, 2).to(device).requires_grad_()
        bias = t.zeros(1).to(device).requires_grad_()
        losses = []
        for _ in range(20):
            error = t.nn.functional.linear(x, weight, bias) - target
            loss = (error * error).sum()
            loss.backward()
            losses.append(loss.item())
            with t.no_grad():
                for p in (weight, bias):
                    p -= 0.1 * p.grad
                    p.grad = None
        return losses, weight.detach().cpu().tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses, weight = train(DEVICE)
    assert losses[-1] < 0.2 * losses[0]
    expected_losses, expected_weight = train("cpu")
    assert losses == pytest.approx(expected_losses, rel=1e-4)
    assert weight[0] == pytest.approx(expected_weight[0], rel=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_results_that_lie_between_each_other(plugin):
    both = t.zeros(3, 2, dtype=t.int64, device=DEVICE)
    t.sort(t.tensor([30, 10, 20], device=DEVICE), out=(both[:, 0], both[:, 1]))
    assert both.cpu().tolist() == [[10, 1], [20, 2], [30, 0]]


def test_errors_name_the_problem(plugin, tmp_path):
    with pytest.raises(RuntimeError, match="cannot load device plug-in"):
        t._C._load_device(str(tmp_path / "missing.so"))
    with pytest.raises(RuntimeError, match="does not export taeda_device_init"):
        t._C._load_device(str(PLUGIN.parents[1] / "python" / "taeda" / "libtaeda.so"))
    with pytest.raises(RuntimeError, match="no device is registered for 'maia'"):
        t.ones(2, device="maia")


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_loaded_by_environment_and_renamed(plugin):
    code = """
        import taeda as t
        t.utils.rename_privateuse1_backend("npu")
        x = t.ones(2, device="npu")
        print(x + x, x.device, t.zeros(1).to("npu").device.type)
        try:
            t.utils.rename_privateuse1_backend("tpu")
        except RuntimeError as error:
            print(error)
    """
    lines = run(code, TAEDA_DEVICES=str(PLUGIN)).splitlines()
    assert lines[0] == "tensor([2., 2.], device='npu:0') npu:0 npu"
    assert "already been set" in lines[1]


def test_methods_and_a_module_of_its_own_name(plugin):
    code = """
        import sys, types, warnings
        import taeda as t
        warnings.simplefilter("ignore")
        t.utils.rename_privateuse1_backend("npu")
        t.utils.generate_methods_for_privateuse1_backend()
        x = t.ones(2).npu()
        assert x.device == t.device("npu:0") and x.is_npu and not t.ones(2).is_npu
        assert x.npu() is x and x.npu(0) is x and t.ones(1).npu("npu:0").is_npu
        assert t.nn.Linear(2, 2).npu().weight.is_npu
        module = types.ModuleType("my_npu")
        t._register_device_module("npu", module)
        assert t.npu is module and sys.modules["taeda.npu"] is module
        for call in (
            t.utils.generate_methods_for_privateuse1_backend,
            lambda: t._register_device_module("npu", module),
            lambda: t._register_device_module("cpu", module),
            lambda: x.npu("cpu"),
        ):
            try:
                call()
            except RuntimeError as error:
                print(error)
    """
    lines = run(code, TAEDA_DEVICES=str(PLUGIN)).splitlines()
    assert "has already been registered with is_npu" in lines[0]
    assert (
        lines[1]
        == "The runtime module of 'npu' has already been registered with '<module 'my_npu'>'"
    )
    assert lines[2].startswith("The runtime module of 'cpu' has already been registered with")
    assert lines[3] == "Invalid device, must be npu device"


@pytest.mark.filterwarnings("ignore")
def test_autocast_takes_the_accelerators_classes(plugin):
    x = t.ones(2, 2, device=DEVICE)
    with t.autocast(DEVICE):
        product = x @ x
        assert product.dtype == t.float16
        assert (t.ones(2, 2) @ t.ones(2, 2)).dtype == t.float32
        assert product.exp().dtype == t.float32 and product.sum().dtype == t.float32
        assert product.sum(0, dtype=t.float16).dtype == t.float16
        assert t.addcmul(product, x, product).dtype == t.float32
        assert (product + product).dtype == t.float16
    with t.autocast("cpu"):
        assert (x @ x).dtype == t.float32
    assert product.cpu().tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_errors_may_quote_bytes_that_are_no_text():
    """A path from the environment, for one."""
    code = f"import {NAME} as t\ntry:\n    t._C._registered_devices()\n"
    code += "except RuntimeError as error:\n    print(ascii(str(error)))\n"
    path = os.fsdecode(b"/nowhere/\xff.so")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TAEDA_DEVICES": path},
        capture_output=True,
        text=True,
    )
    assert "cannot load device plug-in '/nowhere/" in done.stdout, done.stderr
    assert "xff.so" in done.stdout


# ---- by PyTorch's names ----
@pytest.mark.slow
def test_kernels_of_a_device_by_pytorchs_names(plugin):
    # In a process of its own: the fallback and the name stay.
    source = Path(__file__).with_name("extensions") / "device_fallback.cpp"
    program = f"""
        import warnings
        import taeda as t
        from taeda.utils.cpp_extension import load
        warnings.simplefilter("ignore")
        t._C._load_device({str(PLUGIN)!r})
        module = load("taeda_test_fallback", [{str(source)!r}])
        x = t.tensor([2.0, 3.0]).to("privateuseone")
        ops = t.ops.test_fallback
        assert ops.own(x, x).cpu().tolist() == [1.0, 1.0]
        before = module.fallen_back()
        assert ops.missing(x, x).cpu().tolist() == [4.0, 6.0]
        assert module.fallen_back() == before + 1
        assert module.rename() == "npuNPU"
        assert ops.missing(x, x).device == t.device("npu:0")
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
    )
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[t.zeros(1, dtype=t.int64, device="meta")],
        lambda x: x.index_put((t.zeros(1, dtype=t.int64, device="meta"),), t.ones(1)),
        lambda x: x.index_put(
            (t.zeros(1, dtype=t.int64, device=DEVICE),), t.ones(1, device="meta")
        ),
        lambda x: t.sort(x, out=(t.empty(3), t.empty(3, dtype=t.int64))),
        lambda x: t.cat([x, x], out=t.empty(6)),
    ],
    ids=["index", "index_put", "value", "sort_out", "cat_out"],
)
@pytest.mark.filterwarnings("ignore")
def test_the_fallback_takes_no_tensors_of_a_third_device(plugin, call):
    with pytest.raises(RuntimeError, match="device"):
        call(t.ones(3, device=DEVICE))
