"""A program that asks for CUDA on a build without it: the answers and errors PyTorch gives."""

import pytest
from under_test import t


def test_nothing_is_available():
    assert t.cuda.is_available() is False
    assert t.cuda.device_count() == 0
    assert t.cuda.is_initialized() is False
    assert t.cuda.is_bf16_supported() is False
    assert t.cuda.get_arch_list() == []
    assert t.backends.cuda.is_built() is False
    assert t.backends.cudnn.is_available() is False
    assert t.backends.mps.is_available() is False


def test_seeds_and_statistics_of_no_device():
    t.cuda.manual_seed(1)
    t.cuda.manual_seed_all(1)
    t.cuda.empty_cache()
    assert t.cuda.memory_allocated() == t.cuda.max_memory_reserved() == 0
    assert t.cuda.memory_stats() == {}
    assert t.cuda.get_rng_state_all() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: t.cuda.current_device(),
        lambda: t.cuda.synchronize(),
        lambda: t.cuda.get_device_name(0),
        lambda: t.cuda.get_device_properties(0),
        lambda: t.cuda.mem_get_info(),
        lambda: t.cuda.init(),
        lambda: t.empty(1, device="cuda"),
        lambda: t.zeros(2).to("cuda:0"),
        lambda: t.zeros(2).cuda(),
    ],
)
def test_what_needs_a_device_says_so(call):
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        call()


def test_entering_a_device():
    with t.cuda.device(-1), t.cuda.device_of(t.zeros(1)), t.cuda.stream(None):
        pass
    with pytest.raises(RuntimeError, match="compiled without CUDA support"), t.cuda.device(0):
        pass


def test_switches_hold_what_is_set():
    assert t.backends.cudnn.benchmark is False
    t.backends.cudnn.benchmark = True
    assert t.backends.cudnn.benchmark is True
    t.backends.cudnn.benchmark = False
    with t.backends.cudnn.flags(enabled=False):
        assert t.backends.cudnn.enabled is False
    assert t.backends.cudnn.enabled is True


def test_cpu_capability():
    assert t.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


def test_types_of_gpu_tensors():
    message = "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled"
    with pytest.raises(TypeError, match=message):
        t.cuda.FloatTensor()
    with pytest.raises(TypeError, match=message):
        t.set_default_tensor_type(t.cuda.FloatTensor)
    assert not isinstance(t.ones(1), t.cuda.FloatTensor)
    with pytest.raises(RuntimeError, match="Not available for CUDA storage"):
        t.cuda.ByteStorage.from_buffer()
    with pytest.raises(AttributeError):
        _ = t.cuda.NoTensor
