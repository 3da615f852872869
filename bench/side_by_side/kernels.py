"""Section `kernels`: large tensors, matrix products, attention and convolution."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from side_by_side.timing import Case, Clock


def cases(T: ModuleType, options: Namespace) -> Iterator[Case]:
    yield from Large(T, options.device).cases()
    for dtype in ("float32", "bfloat16"):
        yield from Products(T, options.device, dtype).cases()


class Large:
    """Operators on tensors that no cache holds; a tensor is made when the first case needs it."""

    def __init__(self, T: ModuleType, device: str) -> None:
        self.T, self.device, self.clock = T, device, Clock(T, device)
        size = 1 << (28 if device.startswith("cuda") else 24)
        self.makers: dict[str, Callable[[], Any]] = {
            "x": lambda: T.randn(size, device=device),
            "y": lambda: T.randn(size, device=device),
            "out": lambda: T.empty(size, device=device),
            "table": lambda: T.randn(4096, 4096, device=device),
            "weight": lambda: T.ones(4096, device=device),
            "rows": lambda: T.randint(0, 4096, (16384,), device=device),
        }
        self.made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("makers", {}):
            raise AttributeError(name)
        if name not in self.made:
            self.made[name] = self.makers[name]()
        return self.made[name]

    def cases(self) -> Iterator[Case]:
        for name, call in OPERATIONS.items():
            yield f"{name}_ms", lambda call=call: self.clock.milliseconds(lambda: call(self))


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "copy": lambda a: a.out.copy_(a.x),
    "add_out": lambda a: a.T.add(a.x, a.y, out=a.out),
    "add": lambda a: a.x + a.y,
    "exp": lambda a: a.x.exp(),
    "tanh": lambda a: a.x.tanh(),
    "gelu": lambda a: a.T.nn.functional.gelu(a.x),
    "where": lambda a: a.T.where(a.x > 0, a.x, a.y),
    "sum": lambda a: a.x.sum(),
    "sum_dim0": lambda a: a.table.sum(0),
    "sum_dim1": lambda a: a.table.sum(1),
    "argmax": lambda a: a.table.argmax(-1),
    "softmax": lambda a: a.table.softmax(-1),
    "layer_norm": lambda a: a.T.nn.functional.layer_norm(a.table, (4096,), a.weight, a.weight),
    "cumsum": lambda a: a.table.cumsum(-1),
    "transpose_copy": lambda a: a.table.t().contiguous(),
    "cat": lambda a: a.T.cat([a.table, a.table], 1),
    "sort": lambda a: a.x[: 1 << 20].sort(),
    "topk": lambda a: a.table.topk(16),
    "embedding": lambda a: a.T.nn.functional.embedding(a.rows, a.table),
    "index_select": lambda a: a.table.index_select(0, a.rows),
    "cross_entropy": lambda a: a.T.nn.functional.cross_entropy(a.table, a.rows[:4096]),
    "randn": lambda a: a.T.randn(1 << 22, device=a.device),
}

# Name: shape of the images, shape of the filters, arguments.
CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    "3x3": ((8, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
    "1x1": ((8, 256, 14, 14), (1024, 256, 1, 1), {}),
    "7x7s2": ((8, 3, 224, 224), (64, 3, 7, 7), {"stride": 2, "padding": 3}),
    "depthwise": ((8, 96, 56, 56), (96, 1, 3, 3), {"padding": 1, "groups": 96}),
}


class Products:
    """Operators whose time is in multiplications, in one dtype."""

    def __init__(self, T: ModuleType, device: str, dtype: str) -> None:
        self.T, self.device, self.dtype = T, device, dtype
        self.clock = Clock(T, device)
        self.side = 8192 if device.startswith("cuda") else 2048

    def cases(self) -> Iterator[Case]:
        dtype = self.dtype
        yield f"mm_{dtype}_gflops", self.mm
        for rows in (128, 1):
            name = f"linear_{rows}x768x3072_{dtype}_gflops"
            yield name, lambda rows=rows: self.linear(rows)
        yield f"bmm_48x128x64x128_{dtype}_ms", self.bmm
        yield f"sdpa_{dtype}_ms", lambda: self.attention(is_causal=False)
        yield f"sdpa_causal_{dtype}_ms", lambda: self.attention(is_causal=True)
        for name, case in CONVOLUTIONS.items():
            yield f"conv_{name}_{dtype}_ms", lambda case=case: self.convolution(*case)

    def random(self, *shape: int) -> Any:
        return self.T.randn(*shape, device=self.device).to(getattr(self.T, self.dtype))

    def gflops(self, operations: int, call: Callable[[], object]) -> float:
        return operations / self.clock.milliseconds(call) / 1e6

    def mm(self) -> float:
        a, b = self.random(self.side, self.side), self.random(self.side, self.side)
        return self.gflops(2 * self.side**3, lambda: a @ b)

    def linear(self, rows: int) -> float:
        x, weight, bias = self.random(rows, 768), self.random(3072, 768), self.random(3072)
        linear = self.T.nn.functional.linear
        return self.gflops(2 * rows * 768 * 3072, lambda: linear(x, weight, bias))

    def bmm(self) -> float:
        a = self.random(48, 128, 64)
        return self.clock.milliseconds(lambda: a @ a.transpose(1, 2))

    def attention(self, is_causal: bool) -> float:
        q = self.random(4, 12, 512, 64)
        attend = self.T.nn.functional.scaled_dot_product_attention
        return self.clock.milliseconds(lambda: attend(q, q, q, is_causal=is_causal))

    def convolution(
        self, images: tuple[int, ...], filters: tuple[int, ...], settings: dict[str, int]
    ) -> float:
        x, weight = self.random(*images), self.random(*filters)
        convolve = self.T.nn.functional.conv2d
        return self.clock.milliseconds(lambda: convolve(x, weight, **settings))
