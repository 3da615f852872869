"""Tests of device names: those of PyTorch's other backends can be written down, not used."""

import pickle

import pytest
from under_test import NAME, t

OTHERS = ["ipu", "xpu", "mkldnn", "opengl", "ideep", "hip", "ve", "fpga", "maia", "xla"]
OTHERS += ["vulkan", "mps", "hpu", "mtia"]


@pytest.mark.parametrize("name", OTHERS)
def test_is_parsed_and_printed(name):
    device = t.device(f"{name}:1")
    assert (device.type, device.index, str(device)) == (name, 1, f"{name}:1")
    assert repr(t.device(name)) == f"device(type='{name}')"
    assert (
        device == t.device(name, 1) != t.device(name)
        and pickle.loads(pickle.dumps(device)) == device
    )
    assert len({t.device(other, 1) for other in OTHERS}) == len(OTHERS)


def test_an_unknown_name_is_told_with_all_known_ones():
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, .*mps.* device string: xpux"):
        t.device("xpux")


@pytest.mark.skipif(NAME == "torch", reason="PyTorch has an error of its own for each device")
@pytest.mark.parametrize(
    "make",
    [
        lambda d: t.empty(2, device=d),
        lambda d: t.ones(2).to(d),
        lambda d: t.tensor([1.0], device=d),
        lambda d: t.ones(2).new_zeros(3, device=d),
    ],
)
def test_no_tensor_lies_there(make):
    for name in OTHERS:
        refusal = f"no device is registered for '{name}'"
        with pytest.raises((RuntimeError, AssertionError), match=refusal):
            make(name)


@pytest.mark.skipif(NAME == "torch", reason="PyTorch has autocast for some of them")
def test_no_autocast_there():
    assert not t.amp.is_autocast_available("mps")
    with pytest.raises(RuntimeError, match="mps"), t.autocast("mps"):
        pass


def test_as_the_default_it_refuses_factories():
    with pytest.raises(Exception, match=r"mps|MPS"), t.device("mps"):
        t.ones(2)
    assert t.ones(2).device.type == "cpu"
