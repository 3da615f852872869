"""Random nn models, trained three steps eagerly and compiled: losses, gradients and state
agree, and a model is captured without a break.

    compile_models.py --first 0 --count 100 [--backend inductor] [--native never] [--jobs 2]

A model is made from its number, so a number that differs can be looked at with --show.
"""

import argparse
import concurrent.futures
import copy
import importlib
import multiprocessing
import random
import sys
import traceback
import warnings

from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
optim = importlib.import_module(f"{NAME}.optim")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

ACTIVATIONS = (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.ELU, nn.Softplus, nn.LeakyReLU)


class Residual(nn.Module):
    def __init__(self, inner, scale):
        super().__init__()
        self.inner = inner
        self.scale = scale

    def forward(self, x):
        return x + self.inner(x) * self.scale


class Branches(nn.Module):
    """Several ways, summed with weights of their own."""

    def __init__(self, ways):
        super().__init__()
        self.ways = nn.ModuleList(ways)
        self.weights = nn.Parameter(t.ones(len(ways)))

    def forward(self, x):
        out = 0
        for weight, way in zip(self.weights, self.ways):
            out = out + weight * way(x)
        return out


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.both = nn.Linear(width, 2 * width)

    def forward(self, x):
        a, b = self.both(x).chunk(2, dim=-1)
        return a * b.sigmoid()


class Average(nn.Module):
    """Subtracts a moving average, which is a buffer."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("mean", t.zeros(width))

    def forward(self, x):
        if self.training:
            with t.no_grad():
                self.mean.lerp_(x.detach().reshape(-1, x.shape[-1]).mean(0), 0.1)
        return x - self.mean


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.heads, self.causal = heads, causal

    def forward(self, x):
        b, n, c = x.shape
        parts = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return out.transpose(1, 2).reshape(b, n, c)


class First(nn.Module):
    """The first result of a module that gives several."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


class Model(nn.Module):
    def __init__(self, body, head, pooled):
        super().__init__()
        self.body, self.head, self.pooled = body, head, pooled

    def forward(self, x):
        x = self.body(x)
        if self.pooled:
            x = x.flatten(2).mean(-1) if self.pooled == "image" else x.mean(1)
        return self.head(x)


class Maker:
    """Makes a model, its batches and its optimizer from a number."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.kind = self.random.choice(["flat", "flat", "sequence", "sequence", "image"])
        self.width = self.random.choice([4, 6, 8])

    def activation(self):
        return self.random.choice(ACTIVATIONS)()

    def flat(self, depth):
        r, w = self.random, self.width
        choices = [
            lambda: nn.Linear(w, w, bias=r.random() < 0.8),
            lambda: nn.Sequential(nn.Linear(w, 2 * w), self.activation(), nn.Linear(2 * w, w)),
            lambda: nn.LayerNorm(w, elementwise_affine=r.random() < 0.7),
            lambda: nn.RMSNorm(w),
            lambda: nn.Dropout(r.choice([0.1, 0.5])),
            lambda: Gate(w),
            lambda: Average(w),
            lambda: nn.Softmax(-1),
            lambda: nn.utils.parametrizations.weight_norm(nn.Linear(w, w)),
            self.activation,
        ]
        if depth < 2:
            choices += self.nested(self.flat, depth)
        return r.choice(choices)()

    def sequence(self, depth):
        r, w = self.random, self.width
        choices = [
            lambda: Attention(w, 2, r.random() < 0.5),
            lambda: First(nn.LSTM(w, w, batch_first=True)),
            lambda: First(nn.GRU(w, w, batch_first=True)),
            lambda: nn.TransformerEncoderLayer(w, 2, 2 * w, dropout=r.choice([0.0, 0.1]), batch_first=True),
            lambda: self.flat(2),
        ]  # fmt: skip
        if depth < 2:
            choices += self.nested(self.sequence, depth)
        return r.choice(choices)()

    def image(self, depth):
        r, w = self.random, self.width
        choices = [
            lambda: nn.Conv2d(w, w, 3, padding=1, groups=r.choice([1, 2])),
            lambda: nn.BatchNorm2d(w),
            lambda: nn.GroupNorm(2, w),
            lambda: nn.Sequential(nn.Conv2d(w, 2 * w, 1), self.activation(), nn.Conv2d(2 * w, w, 1)),
            lambda: nn.AvgPool2d(3, stride=1, padding=1),
            lambda: nn.MaxPool2d(3, stride=1, padding=1),
            lambda: nn.Dropout2d(0.3),
            self.activation,
        ]  # fmt: skip
        if depth < 2:
            choices += self.nested(self.image, depth)
        return r.choice(choices)()

    def nested(self, make, depth):
        r = self.random
        several = lambda: [make(depth + 1) for _ in range(r.randint(1, 3))]
        return [
            lambda: Residual(make(depth + 1), r.choice([0.5, 1.0])),
            lambda: nn.Sequential(*several()),
            lambda: Branches(several()),
        ]

    def model(self):
        make = getattr(self, self.kind)
        body = nn.Sequential(*(make(0) for _ in range(self.random.randint(1, 4))))
        pooled = None if self.kind == "flat" else self.kind
        return Model(body, nn.Linear(self.width, 3), pooled)

    def batches(self):
        r = self.random
        sizes = r.choice([(4, 4, 4), (4, 6, 3), (2, 5, 5)])
        length = r.choice([(5, 5, 5), (5, 7, 6)])
        for size, n in zip(sizes, length):
            inner = {
                "flat": (self.width,),
                "sequence": (n, self.width),
                "image": (self.width, n, n),
            }
            yield t.randn(size, *inner[self.kind]), t.randint(0, 3, (size,))

    def optimizer(self):
        name = self.random.choice(["SGD", "AdamW", "Adam", "RMSprop"])
        return lambda parameters: getattr(optim, name)(parameters, lr=0.01)


def trained(model, forward, make, batches, seed):
    """Losses, gradients of the last step and the state behind it."""
    t.manual_seed(seed)
    optimizer = make(model.parameters())
    found = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        found.append(loss.detach())
        found += [p.grad.clone() for p in model.parameters() if p.grad is not None]
        optimizer.step()
    return found + [v.clone() for v in model.state_dict().values()]


def differs(number, backend, options):
    """What differs for a model; None where nothing does."""
    t.manual_seed(number)
    maker = Maker(number)
    # In double precision a difference of rounding stays far from one of meaning.
    plain = maker.model().double()
    batches = [(x.double(), y) for x, y in maker.batches()]
    make = maker.optimizer()
    other = copy.deepcopy(plain)
    expected = trained(plain, plain, make, batches, number)
    t.compiler.reset()
    counters.clear()
    compiled = t.compile(other, backend=backend, **options)
    got = trained(other, compiled, make, batches, number)
    if not counters["stats"]["unique_graphs"]:
        return "nothing was compiled"
    if counters["graph_break"]:
        return f"breaks: {dict(counters['graph_break'])}"
    if len(expected) != len(got):
        return f"{len(expected)} tensors plainly, {len(got)} compiled"
    for at, (a, b) in enumerate(zip(expected, got)):
        if not t.allclose(a.double(), b.double(), rtol=1e-6, atol=1e-8, equal_nan=True):
            return f"tensor {at} of {len(got)}: {(a - b).abs().max().item():.3g} apart"
    return None


def run(job):
    number, backend, options = job
    warnings.simplefilter("ignore")
    try:
        found = differs(number, backend, options)
    except BaseException:
        found = traceback.format_exc()
    return number, found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--native", default="never", help="never, background or wait; of inductor")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int)
    given = parser.parse_args()
    options = {"options": {"native": given.native}} if given.backend == "inductor" else {}
    if given.show is not None:
        print(Maker(given.show).model())
        print(run((given.show, given.backend, options))[1])
        return 0
    jobs = [(given.first + i, given.backend, options) for i in range(given.count)]
    failures = 0
    # Unlike a Pool, which waits for good, an executor raises where a process died.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(given.jobs, context) as pool:
        for number, found in pool.map(run, jobs, chunksize=8):
            if found is not None:
                failures += 1
                print(f"model {number}: {found}", flush=True)
    print(f"{given.count} models, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
