"""Writes to memory that elements share, on a device that compiles kernels."""

import lowered_calls
import pytest

import taeda

SHARED = "more than one element of the written-to tensor refers to a single memory location"
MET = "some elements of the input tensor and the written-to tensor refer to a single"


@pytest.fixture(scope="module")
def device():
    return lowered_calls.load("interpreted")


def first_rows(x):
    return taeda.tensor([0, 1], device=x.device)


def places(x):
    return taeda.zeros(x.shape, dtype=taeda.int64, device=x.device)


REFUSED = {
    "add_": lambda x: x.add_(1),
    "mul_": lambda x: x.mul_(x),
    "copy_": lambda x: x.copy_(x.clone()),
    "uniform_": lambda x: x.uniform_(),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "cumsum_": lambda x: x.cumsum_(0),
    "index_add_": lambda x: x.index_add_(0, first_rows(x), x.clone()[:2]),
    "scatter_": lambda x: x.scatter_(0, places(x), 5.0),
    "add out": lambda x: taeda.add(x.clone(), 1, out=x),
    "sum out": lambda x: taeda.sum(x.clone().unsqueeze(0), 0, out=x),
    "gather out": lambda x: taeda.gather(x.clone(), 0, places(x), out=x),
    "tril out": lambda x: taeda.tril(x.clone(), out=x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_writes_to_an_expanded_tensor_are_refused(name, device):
    for place in ("cpu", device):
        x = taeda.arange(3.0, device=place).expand(4, 3)
        with pytest.raises(RuntimeError, match=SHARED):
            REFUSED[name](x)
        assert x[0].tolist() == [0, 1, 2]


MEETING = {
    "add_": lambda x: x[1:].add_(x[:-1]),
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "add out": lambda x: taeda.add(x[:-1], 1, out=x[1:]),
    "cumsum out": lambda x: taeda.cumsum(x[:-1], 0, out=x[1:]),
    "gather out": lambda x: taeda.gather(x[:-1], 0, places(x[:-1]), out=x[1:]),
    "index_add_": lambda x: x[:2].index_add_(0, first_rows(x), x[1:3]),
}


@pytest.mark.parametrize("name", MEETING)
def test_a_result_that_meets_an_input_is_refused(name, device):
    for place in ("cpu", device):
        x = taeda.arange(6.0, device=place)
        with pytest.raises(RuntimeError, match=MET):
            MEETING[name](x)
        assert x.tolist() == [0, 1, 2, 3, 4, 5]


ALLOWED = {
    "masked_fill_.Scalar": lambda x: x.masked_fill_(x > 1, 7),
    "masked_fill_.Tensor": lambda x: x.masked_fill_(x > 1, taeda.tensor(7.0, device=x.device)),
    "index_fill_.int_Scalar": lambda x: x.index_fill_(1, first_rows(x), 9),
    "tril_": lambda x: x.tril_(),
    "triu_": lambda x: x.triu_(1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALLOWED)
def test_fills_of_an_expanded_tensor_run_on_the_cpu(name, device):
    for view in (lambda x: x[:3].expand(4, 3), lambda x: x.as_strided((3, 3), (3, 0))):
        here, there = taeda.arange(1.0, 13), taeda.arange(1.0, 13, device=device)
        before = taeda._C._fallback_counts().get(name, 0)
        ALLOWED[name](view(here))
        ALLOWED[name](view(there))
        assert there.tolist() == here.tolist()
        assert taeda._C._fallback_counts()[name] == before + 1


def test_the_triangle_of_a_matrix_stays_on_the_device(device):
    before = taeda._C._fallback_counts().get("tril_", 0)
    assert taeda.ones(2, 2, device=device).tril_().tolist() == [[1, 0], [1, 1]]
    assert taeda._C._fallback_counts().get("tril_", 0) == before
