"""Programs of training scripts: settings, registries, schedules, optimizers by hand, averages."""

import collections
import contextlib
import dataclasses
import functools
import importlib
import itertools
import math
import re

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
func = importlib.import_module(f"{NAME}.func")

t.manual_seed(0)
X = t.randn(4, 3)
W = t.randn(3, 2).requires_grad_()


@dataclasses.dataclass(frozen=True)
class LayerConfig:
    width: int = 3
    activation: str = "relu"
    scale: float = 0.5


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    layers: tuple = (LayerConfig(), LayerConfig(activation="tanh", scale=2.0))
    residual: bool = True
    extras: tuple = (("bias", 1.0), ("other", None))


@case(X, ModelConfig())
def settings_nested(x, config):
    for layer in config.layers:
        y = getattr(t, layer.activation)(x) * layer.scale + dict(config.extras)["bias"]
        x = x + y if config.residual else y
    return (
        x,
        dataclasses.replace(config.layers[0], width=5).width,
        dataclasses.asdict(config.layers[1]),
    )


REGISTRY = {}


def register(name, **options):
    def note(function):
        REGISTRY[name] = functools.partial(function, **options)
        return function

    return note


@register("scale", by=3)
def _scale(x, by, plus=0):
    return x * by + plus


@register("norm", eps=1e-6)
def _norm(x, eps):
    return x / (x.norm(dim=-1, keepdim=True) + eps)


@case(X, ["scale", "norm", "scale"])
def functions_of_a_registry(x, names):
    for name in names:
        x = REGISTRY[name](x)
    return x, sorted(REGISTRY)


class Plugin:
    known = {}

    def __init_subclass__(cls, key=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.known[key or cls.__name__.lower()] = cls

    def __call__(self, x):
        raise NotImplementedError


class Twice(Plugin):
    def __call__(self, x):
        return x * 2


class Shift(Plugin, key="moved"):
    amount = 1

    def __call__(self, x):
        return x + self.amount


@case(X)
def plugins_made_by_name(x):
    for name in ("twice", "moved"):
        x = Plugin.known[name]()(x)
    return x, list(Plugin.known)


@case(X, {"lr": 0.1, "steps": 10, "warmup": 3})
def schedule_by_closure(x, options):
    def warm(step):
        return min(1.0, (step + 1) / options["warmup"])

    def cosine(step):
        done = step / options["steps"]
        return 0.5 * (1 + math.cos(math.pi * done))

    rates = [options["lr"] * warm(s) * cosine(s) for s in range(options["steps"])]
    return x * sum(rates), rates


class Adam:
    def __init__(self, parameters, lr=1e-2, betas=(0.9, 0.99), eps=1e-8):
        self.parameters = list(parameters)
        self.lr, self.betas, self.eps = lr, betas, eps
        self.state = collections.defaultdict(dict)
        self.steps = 0

    @t.no_grad()
    def step(self, gradients):
        self.steps += 1
        for i, (p, g) in enumerate(zip(self.parameters, gradients)):
            state = self.state[i]
            if not state:
                state["mean"], state["square"] = t.zeros_like(p), t.zeros_like(p)
            for (name, value), beta in zip((("mean", g), ("square", g * g)), self.betas):
                state[name].mul_(beta).add_(value, alpha=1 - beta)
            mean = state["mean"] / (1 - self.betas[0] ** self.steps)
            square = state["square"] / (1 - self.betas[1] ** self.steps)
            p.sub_(self.lr * mean / (square.sqrt() + self.eps))


@case(X, t.ones(3, 2), is_fused=True)
def adam_of_its_own(x, w):
    optimizer = Adam([w])
    for _ in range(2):
        gradient = x.T @ (x @ w - 1)
        optimizer.step([gradient])
    return w, optimizer.steps, optimizer.state[0]["mean"]


class Average:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.backup = {}

    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].lerp_(p.detach(), 1 - self.decay)

    @contextlib.contextmanager
    def applied(self, model):
        self.backup = {name: p.data for name, p in model.named_parameters()}
        yield self.shadow
        self.backup.clear()


LINEAR = nn.Linear(3, 2)


@case(LINEAR, Average(LINEAR, 0.9), X)
def average_applied_in_a_scope(model, average, x):
    average.update(model)
    with average.applied(model) as weights:
        y = func.functional_call(model, weights, (x,))
    return y, average.backup, average.shadow["bias"]


@case(X, W)
def penalty_on_gradients(x, w):
    x = x.clone().requires_grad_()
    y = (x @ w).tanh().sum()
    (g,) = t.autograd.grad(y, x, create_graph=True)
    return ((g.norm(dim=1) - 1) ** 2).mean()


@case(LINEAR, X)
def calls_with_other_weights(model, x):
    halved = {name: p * 0.5 for name, p in model.named_parameters()}
    return func.functional_call(model, halved, (x,)), model(x)


@case(X)
def rearranged_by_a_pattern(x):
    def rearrange(v, pattern, **sizes):
        left, right = (side.strip() for side in pattern.split("->"))
        names, shape = [], []
        for place, token in enumerate(re.findall(r"\([^)]*\)|\S+", left)):
            inner = token.strip("()").split()
            known = math.prod(sizes[n] for n in inner if n in sizes)
            for n in inner:
                names.append(n)
                shape.append(
                    sizes.get(n, v.shape[place] // known if len(inner) > 1 else v.shape[place])
                )
        v = v.reshape(shape)
        groups = [g.strip("()").split() for g in re.findall(r"\([^)]*\)|\S+", right)]
        flat = [n for g in groups for n in g]
        v = v.permute([names.index(n) for n in flat])
        lengths = dict(zip(names, shape))
        return v.reshape([math.prod(lengths[n] for n in g) for g in groups])

    return rearrange(x, "(a b) c -> b (c a)", a=2), rearrange(x, "r c -> c r")


@case(X)
def einsum_of_texts(x):
    letters = iter("abcdefgh")
    rows, columns = next(letters), next(letters)
    return t.einsum(f"{rows}{columns},{rows}{columns}->{rows}", x, x), next(letters)


class Meter:
    __slots__ = ("count", "name", "total")

    def __init__(self, name):
        self.name, self.total, self.count = name, 0.0, 0

    def __iadd__(self, value):
        self.total = self.total + value
        self.count += 1
        return self

    def __format__(self, spec):
        return f"{self.name}/{self.count:{spec or 'd'}}"

    @property
    def mean(self):
        return self.total / max(self.count, 1)


@case(X)
def meters_with_slots(x):
    meters = {name: Meter(name) for name in ("loss", "norm")}
    for row in x:
        meters["loss"] += row.sum()
        meters["norm"] += row.norm()
    return {name: meter.mean for name, meter in meters.items()}, f"{meters['loss']:03d}"


class StopError(Exception):
    def __init__(self, step, value):
        super().__init__(f"stopped at {step}")
        self.step, self.value = step, value


@case(X)
def stopped_by_an_exception(x):
    def run(v):
        for step in itertools.count():
            v = v * 0.5
            if step == 3:
                raise StopError(step, v)

    try:
        run(x)
    except StopError as stop:
        return stop.value, stop.step, str(stop)


@case(X)
def retried_until_it_fits(x):
    tries = []
    for size in (7, 5, 6, 1):
        try:
            tries.append(size)
            if x.numel() % size:
                raise ValueError(size)
            return x.view(-1, size), tries
        except ValueError:
            continue
        finally:
            tries.append("tried")
    return None, tries
