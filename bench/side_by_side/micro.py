"""Section `micro`: what a call costs beside its arithmetic, on four elements and one thread."""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from types import ModuleType

from side_by_side.timing import Case, microseconds, settle

Call = Callable[[], object]


def cases(T: ModuleType, options: Namespace) -> Iterator[Case]:
    T.set_num_threads(1)
    for name, operation in OPERATIONS.items():
        yield f"{name}_us", lambda operation=operation: on_four(T, options.device, operation)
    for name, (make, count) in PROGRAMS.items():
        yield (
            f"{name}_us",
            lambda make=make, count=count: microseconds(make(T, options.device), count),
        )
    yield "compiled", lambda: compiled(T, options.device)


def on_four(T: ModuleType, device: str, operation: Callable) -> float:
    x, y = T.ones(4, device=device), T.ones(4, device=device)
    return microseconds(lambda: operation(x, y))


OPERATIONS = {
    "add": lambda x, y: x + y,
    "mul_scalar": lambda x, y: x * 2.0,
    "add_inplace": lambda x, y: x.add_(0),
    "view": lambda x, y: x.view(2, 2),
    "index": lambda x, y: x[1],
    "sum": lambda x, y: x.sum(),
    "shape": lambda x, y: x.shape,
    "item": lambda x, y: x[0].item(),
}


def empty(T: ModuleType, device: str) -> Call:
    return lambda: T.empty(4, device=device)


def matmul(T: ModuleType, device: str) -> Call:
    w = T.randn(4, 4, device=device)
    return lambda: w @ w


def add_grad(T: ModuleType, device: str) -> Call:
    x, y = T.ones(4, device=device, requires_grad=True), T.ones(4, device=device)
    return lambda: x + y


def backward(T: ModuleType, device: str) -> Call:
    x, y = T.ones(4, device=device, requires_grad=True), T.ones(4, device=device)
    return lambda: (x * y).sum().backward()


def linear_module(T: ModuleType, device: str) -> Call:
    linear, row = T.nn.Linear(4, 4).to(device), T.randn(2, 4, device=device)
    return lambda: linear(row)


def train_step(T: ModuleType, device: str) -> Call:
    row = T.randn(2, 4, device=device)
    model = T.nn.Sequential(T.nn.Linear(4, 4), T.nn.ReLU(), T.nn.Linear(4, 1)).to(device)
    optimizer = T.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(row).sum().backward()
        optimizer.step()

    return step


PROGRAMS = {
    "empty": (empty, 10_000),
    "matmul": (matmul, 10_000),
    "add_grad": (add_grad, 10_000),
    "mul_sum_backward": (backward, 1_000),
    "linear_module": (linear_module, 10_000),
    "mlp_train_step": (train_step, 1_000),
}


def compiled(T: ModuleType, device: str) -> dict[str, float]:
    x, y = T.ones(4, device=device), T.ones(4, device=device)
    start = time.perf_counter()
    function = T.compile(lambda p, q: (p + q) * 2)
    function(x, y)
    first = time.perf_counter() - start
    settle(T)
    settled = time.perf_counter() - start
    return {
        "compile_first_ms": first * 1e3,
        "compile_settled_first_ms": settled * 1e3,
        "compiled_call_us": microseconds(lambda: function(x, y), 3_000),
    }
