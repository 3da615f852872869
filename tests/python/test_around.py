"""Modules beside tensors: versions, the build, switches of libraries, GPUs that are not there."""

import importlib

import pytest
from under_test import NAME, t


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
    assert t.backends.quantized.supported_engines == ["none"]
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
        accelerator.current_device_idx,
        accelerator.memory_stats,
        accelerator.memory.empty_host_cache,
        accelerator.Graph,
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
    for call in (t.mps.empty_cache, t.mps.get_rng_state):
        with pytest.raises(RuntimeError, match="without MPS backend"):
            call()
    with pytest.raises(TypeError, match="must be `float`"):
        t.mps.set_per_process_memory_fraction(1)


@pytest.mark.parametrize(("kind", "title"), [("cuda", "CUDA"), ("xpu", "XPU")])
def test_both_kinds_of_absent_gpus_answer_alike(kind, title):
    gpu = getattr(t, kind)
    assert gpu.device_count() == gpu.max_memory_reserved() == 0
    assert gpu.is_available() is gpu.is_initialized() is gpu.is_tf32_supported() is False
    assert gpu.get_arch_list() == gpu.get_rng_state_all() == [] and gpu.default_generators == ()
    assert gpu.memory_stats_as_nested_dict() == {} and gpu.get_gencode_flags() == ""
    for call in (
        gpu.init,
        gpu.current_device,
        gpu.mem_get_info,
        gpu.initial_seed,
        gpu.get_per_process_memory_fraction,
        lambda: gpu.set_per_process_memory_fraction(0.5),
        lambda: gpu.can_device_access_peer(0, 1),
    ):
        with pytest.raises(AssertionError, match=f"Torch not compiled with {title} enabled"):
            call()
    for made in ("Event", "MemPool", f"{title}Graph"):
        with pytest.raises(RuntimeError, match=f"dummy base class {made}"):
            getattr(gpu, made)()
    if t.__name__ == "taeda":  # PyTorch's for Intel raise here
        with gpu.device(-1), gpu.device(None), gpu.device_of(t.zeros(1)):
            pass
    with gpu.stream(None):
        pass
    with pytest.raises(ValueError, match=f"Expected a {kind} device"):
        gpu.device("cpu")
    assert issubclass(gpu.device_of, gpu.device) and gpu.current_device.__name__ == "current_device"


def test_marks_for_profilers_need_cuda():
    for call in (lambda: t.cuda.nvtx.range_push("a"), lambda: t.cuda.nvtx.mark("a")):
        with pytest.raises(RuntimeError, match="NVTX functions not installed"):
            call()
    with pytest.raises(RuntimeError, match="NVTX"), t.cuda.nvtx.range("part {}", 1):
        pass


def test_paths_of_cuda():
    assert t.cuda.memory.memory_allocated is t.cuda.memory_allocated
    assert t.cuda.graphs.CUDAGraph is t.cuda.CUDAGraph
    assert t.cuda.memory_cached() == t.cuda.max_memory_cached() == 0


def test_switches_of_attention():
    cuda = t.backends.cuda
    assert cuda.fp16_bf16_reduction_math_sdp_allowed() is False
    cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert cuda.fp16_bf16_reduction_math_sdp_allowed() is True
    cuda.allow_fp16_bf16_reduction_math_sdp(False)
    assert cuda.is_flash_attention_available() is cuda.is_ck_sdpa_available() is False


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


@pytest.mark.skipif(t.__name__ != "taeda", reason="the place of the function")
def test_classes_of_tests_with_settings():
    from types import SimpleNamespace
    from unittest import TestCase

    from taeda.testing.patched_classes import make_test_cls_with_patches

    settings, seen = SimpleNamespace(depth=1), []

    class Tests(TestCase):
        limit = 3

        def test_it(self):
            seen.append((settings.depth, self.limit))

    made = make_test_cls_with_patches(Tests, "Deep", "_deep", (settings, "depth", 2))
    assert made.__name__ == "DeepTests" and not hasattr(made, "test_it")
    made("test_it_deep").test_it_deep()
    assert seen == [(2, 3)] and settings.depth == 1


def test_modules_of_devices():
    assert t.get_device_module("cpu") is t.get_device_module() is t.cpu
    assert t.get_device_module("cuda:0") is t.get_device_module(t.device("cuda")) is t.cuda
    with pytest.raises(RuntimeError, match="Device 'meta' does not have a corresponding module"):
        t.get_device_module("meta")
    with pytest.raises(RuntimeError, match="Invalid value of device '3'"):
        t.get_device_module(3)


def test_errors_of_devices():
    assert issubclass(t.OutOfMemoryError, RuntimeError)
    assert t.cuda.OutOfMemoryError is t.OutOfMemoryError
    assert issubclass(t.AcceleratorError, RuntimeError)
    assert str(t.OutOfMemoryError).endswith(f"{t.__name__}.OutOfMemoryError'>")


def test_streams_of_the_cpu():
    stream, event = t.cpu.Stream(), t.cpu.Event()
    assert event.query() is True and event.record() is event.synchronize() is event.wait() is None
    assert stream.wait_stream(t.cpu.current_stream()) is stream.record_event() is None
    with t.cpu.stream(stream):
        assert t.cpu.current_stream() is stream
        with t.cpu.stream(None):
            assert t.cpu.current_stream() is stream
    assert t.cpu.current_stream() is not stream
    assert t.cpu.set_device("cpu") is None


def test_what_a_report_tells_of_the_machine():
    collected = importlib.import_module(f"{t.__name__}.utils.collect_env")
    info = collected.get_env_info()
    assert info.torch_version == str(t.__version__) and info.is_cuda_available in (False, "False")
    text = collected.pretty_str(info)
    for title in ("PyTorch version: ", "OS: ", "GCC version: ", "Python platform: "):
        assert title in text
    assert any(name.startswith("numpy==") for name in info.pip_packages) or NAME != "taeda"


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch says other words")
def test_what_cannot_be_found_out_is_said(monkeypatch):
    collected = importlib.import_module("taeda.utils.collect_env")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("TAEDA_COMPILE_TIMEOUT", "7")
    text = collected.get_pretty_env_info()
    assert "GCC version: Could not collect" in text and "\n  TAEDA_COMPILE_TIMEOUT=7" in text


def test_modules_that_objects_say():
    def function():
        pass

    t.utils.set_module(function, "elsewhere")
    assert function.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="should be a string"):
        t.utils.set_module(function, 3)
