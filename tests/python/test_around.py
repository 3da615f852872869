"""Modules beside tensors: versions, the build, switches of libraries, GPUs that are not there."""

import pytest
from under_test import t


def test_versions_compare_by_number():
    version = t.torch_version.TorchVersion("2.13.0")
    assert version > "2.9" and version > (2, 9, 1) and version == "2.13" and version >= "2.13.0a0"
    assert version < "2.13.1" and version < (3,) and version <= "2.13.0" and version != "2.12.0"
    assert t.torch_version.TorchVersion("2.13.0a0+git1") < version < "2.13.0.post1"
    assert t.torch_version.TorchVersion("2.13.0+cpu") > version
    assert isinstance(version, str) and hash(version) == hash("2.13.0") and str(version) == "2.13.0"
    assert version != "parrot"


def test_version_and_build():
    assert t.version.__version__ == str(t.__version__)
    assert t.version.cuda is None and t.version.hip is None and t.version.debug is False
    assert "CPU capability usage" in t.__config__.show()
    assert str(t.get_num_threads()) in t.__config__.parallel_info()


def test_libraries_that_are_not_used():
    backends = t.backends
    assert backends.cuda.is_built() is backends.mps.is_built() is False
    with pytest.raises(RuntimeError, match="without MPS backend"):
        backends.mps.is_macos_or_newer(13, 0)
    assert "none" in backends.quantized.supported_engines
    backends.quantized.engine = backends.quantized.engine
    with pytest.raises(RuntimeError, match="quantized engine"):
        backends.quantized.engine = "nothing"
    with backends.mkldnn.flags(enabled=False):
        assert backends.mkldnn.enabled is False
    assert backends.mkldnn.enabled is True
    with backends.nnpack.flags(enabled=False):
        pass


@pytest.mark.skipif(t.__name__ != "taeda", reason="what this build does not have")
def test_libraries_of_this_build():
    for name in ("mkl", "mkldnn", "nnpack", "kleidiai", "cusparselt", "opt_einsum"):
        assert getattr(t.backends, name).is_available() is False
    with (
        pytest.raises(RuntimeError, match="MKL"),
        t.backends.mkl.verbose(t.backends.mkl.VERBOSE_ON),
    ):
        pass


def test_no_accelerator():
    accelerator = t.accelerator
    assert accelerator.is_available() is False and accelerator.device_count() == 0
    assert accelerator.current_accelerator() is None
    for call in (
        accelerator.synchronize,
        accelerator.current_device_index,
        accelerator.memory_stats,
    ):
        with pytest.raises(RuntimeError, match="none is available"):
            call()
    with accelerator.device_index(None):
        pass


def test_gpus_that_are_not_there():
    with pytest.raises(RuntimeError, match="requires CUDA support"):
        t.cuda.Stream()
    for kind in (t.cuda.Event, t.cuda.CUDAGraph):
        with pytest.raises(RuntimeError, match="dummy base class"):
            kind()
    with t.cuda.stream(None):
        pass
    assert t.cuda.random.get_rng_state_all() == []
    assert t.xpu.memory_allocated() == 0 and t.xpu.is_bf16_supported() is False
    with pytest.raises(AssertionError, match="not compiled with XPU"):
        t.xpu.synchronize()
    assert t.mps.is_available() is False
    with pytest.raises(RuntimeError, match="without MPS backend"):
        t.mps.empty_cache()


@pytest.mark.skipif(t.__name__ != "taeda", reason="this build has no distribution")
def test_distribution():
    assert t.distributed.is_available() is t.distributed.is_initialized() is False
    with pytest.raises(AttributeError, match="init_process_group"):
        t.distributed.init_process_group()


def test_names_of_scripts():
    jit = t.jit
    assert jit.is_scripting() is False and jit.is_tracing() is False

    @jit.ignore
    def first(x):
        return x + 1

    @jit.ignore(drop=True)
    def second(x):
        return x + 1

    @jit.unused
    def third(x):
        return x + 1

    assert first(1) == second(1) == third(1) == 2
    assert jit.annotate(list[int], [1]) == [1]
    assert jit.isinstance([1, 2], list[int]) and not jit.isinstance([1, "a"], list[int])
    assert jit.isinstance({"a": t.ones(1)}, dict[str, t.Tensor])
    assert jit.isinstance((1, "a"), tuple[int, str])
    assert isinstance(jit.script_if_tracing(first)(1), int)


@pytest.mark.skipif(t.__name__ != "taeda", reason="PyTorch with PYTORCH_JIT=0 does this")
def test_scripts_stay_python():
    class Net(t.nn.Module):
        def forward(self, x):
            return x * 2

    net = Net()
    assert t.jit.script(net) is net and t.jit.trace(net, t.ones(1)) is net
    assert not isinstance(net, t.jit.ScriptModule)


def test_types():
    assert isinstance(1.5, t.types.Number) and isinstance(True, t.types.Number)
    assert isinstance("cpu", t.types.Device)
