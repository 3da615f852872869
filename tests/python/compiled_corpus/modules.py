"""Programs around nn.Module: containers, buffers, hooks, parametrizations, attributes, state."""

import importlib

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
parametrize = importlib.import_module(f"{NAME}.nn.utils.parametrize")

t.manual_seed(0)
X = t.randn(4, 3)


class Block(nn.Module):
    def __init__(self, width, act=None):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.act = act or nn.ReLU()
        self.scale = 0.5

    def forward(self, x, *, gain=1.0):
        return self.act(self.linear(x)) * self.scale * gain + x


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(3) for _ in range(3))
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 1)})
        self.gains = nn.ParameterList([nn.Parameter(t.ones(3) * i) for i in range(3)])

    def forward(self, x, head="a"):
        for block, gain in zip(self.blocks, self.gains):
            x = block(x) + gain
        return self.heads[head](x)


@case(Stack(), X)
def containers_of_modules(m, x):
    return m(x), m(x, head="b"), len(m.blocks), list(m.heads)


@case(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)), X)
def sequential_sliced(m, x):
    return m(x), m[:2](x), m[0].in_features, len(m)


@case(Block(3), X)
def keyword_arguments(m, x):
    return m(x, gain=2.0) + m(x)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", t.zeros((), dtype=t.long))
        self.register_buffer("mean", t.zeros(3), persistent=False)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen += x.shape[0]
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.mean


@case(Counting(), X)
def buffers_written(m, x):
    m(x)
    return m(x), m.seen, m.calls


class Late(nn.Module):
    def forward(self, x):
        if not hasattr(self, "cache"):
            self.register_buffer("cache", x.mean(0))
        return x - self.cache


@case(Late(), X)
def buffer_registered_inside(m, x):
    return m(x), "cache" in dict(m.named_buffers())


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []
        self.last = None
        self.table = {}

    def forward(self, x):
        self.history.append(x.shape[0])
        self.last = x * 2
        self.table[len(self.history)] = self.last
        return self.last + len(self.history)


@case(Memory(), X)
def attributes_written(m, x):
    m(x)
    return m(x), m.history, len(m.table)


@case(nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3)), X)
def training_and_evaluation(m, x):
    a = m.eval()(x)
    b = m.training
    m.train()
    return a, b, m(x), m[0].training


@case(nn.BatchNorm1d(3), X)
def batch_norm_statistics(m, x):
    y = m(x)
    return y, m.running_mean, m.num_batches_tracked


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        return self.out(self.embed(ids))


@case(Shared(), t.tensor([[1, 2], [3, 4]]))
def weights_tied(m, ids):
    return m(ids), m.out.weight is m.embed.weight


def with_hooks():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    m[0].register_forward_pre_hook(lambda mod, args: (args[0] * 2,))
    m[0].register_forward_hook(lambda mod, args, out: out + args[0])
    m.register_forward_hook(
        lambda mod, args, kwargs, out: out * 3, with_kwargs=True, always_call=False
    )
    return m


@case(X)
def forward_hooks(x, m=with_hooks()):
    return m(x)


@case(nn.Linear(3, 3), X, [])
def hook_added_and_removed(m, x, log):
    handle = m.register_forward_hook(lambda mod, args, out: log.append(out.shape[0]))
    a = m(x)
    handle.remove()
    return a + m(x), log


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        self.features = {}
        for name, layer in self.net.named_children():
            layer.register_forward_hook(self.keep(name))

    def keep(self, name):
        def hook(module, args, output):
            self.features[name] = output

        return hook

    def forward(self, x):
        return self.net(x)


@case(X)
def features_kept_by_hooks(x, m=Features()):
    y = m(x)
    return y, {k: v.sum() for k, v in m.features.items()}


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


def parametrized():
    m = nn.Linear(3, 3)
    parametrize.register_parametrization(m, "weight", Symmetric())
    return m


@case(X)
def parametrized_weight(x, m=parametrized()):
    return m(x), parametrize.is_parametrized(m)


@case(X)
def weight_normed(x, m=nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))):
    return m(x)


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = "wide"
        self.wide = nn.Linear(3, 6)
        self.thin = nn.Linear(3, 2)

    def forward(self, x):
        return getattr(self, self.kind)(x)


@case(Router(), X)
def submodule_by_name(m, x):
    a = m(x)
    m.kind = "thin"
    return a, m(x)


class Nested(nn.Module):
    class Inner(nn.Module):
        def forward(self, x):
            return {"out": x + 1, "aux": [x]}

    def __init__(self):
        super().__init__()
        self.inner = self.Inner()

    def forward(self, x):
        got = self.inner(x)
        return got["out"] * 2 + got["aux"][0]


@case(Nested(), X)
def modules_giving_dicts(m, x):
    return m(x)


@case(Stack(), X)
def parameters_iterated(m, x):
    norm = sum((p**2).sum() for p in m.parameters())
    names = [n for n, _ in m.named_parameters() if n.endswith("bias")]
    return x * norm, names


@case(Stack(), X)
def modules_iterated(m, x):
    kinds = [type(c).__name__ for c in m.modules()]
    linear = [n for n, c in m.named_modules() if isinstance(c, nn.Linear)]
    return x + len(kinds), linear, [n for n, _ in m.named_children()]


@case(nn.Linear(3, 2), X)
def parameters_by_hand(m, x):
    return F.linear(x, m.weight, m.bias) + m(x), m.weight.shape, m.bias is not None


@case(nn.Linear(3, 2, bias=False), X)
def missing_bias(m, x):
    return m(x) if m.bias is None else x


@case(nn.LSTM(3, 4, batch_first=True), X[None])
def recurrent_layer(m, x):
    out, (h, c) = m(x)
    return out, h, c


@case(nn.GRUCell(3, 4), X)
def recurrent_cell_in_a_loop(cell, x):
    h = x.new_zeros(1, 4)
    out = []
    for row in x:
        h = cell(row[None], h)
        out.append(h)
    return t.cat(out)


@case(nn.MultiheadAttention(4, 2, batch_first=True), t.randn(2, 3, 4))
def attention_layer(m, x):
    out, weights = m(x, x, x)
    return out, weights


@case(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), t.randn(2, 3, 4))
def encoder_layer(m, x):
    return m(x)


@case(
    nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(18, 2),
    ),
    t.randn(2, 1, 8, 8),
)
def image_classifier(m, x):
    return m(x)


@case(nn.EmbeddingBag(6, 3), t.tensor([1, 2, 4]), t.tensor([0, 2]))
def embedding_bag(m, ids, offsets):
    return m(ids, offsets)


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


@case(Residual(Residual(nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3)))), X)
def wrapped_modules(m, x):
    return m(x)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        return self.post(self.a(x))

    def post(self, x):
        return x


class Derived(Base):
    def post(self, x):
        return super().post(x).relu() + 1

    def __getattr__(self, name):
        if name == "made_up":
            return 3
        return super().__getattr__(name)


@case(Derived(), X)
def inherited_modules(m, x):
    return m(x) * m.made_up


@case(Derived(), X)
def submodule_replaced(m, x):
    a = m(x)
    m.a = nn.Identity()
    return a, m(x)


@case(nn.Linear(3, 3), X)
def requires_grad_switched(m, x):
    m.weight.requires_grad_(False)
    return m(x).requires_grad, m.weight.requires_grad


@case(nn.ModuleDict({"relu": nn.ReLU(), "gelu": nn.GELU()}), X)
def activations_from_a_dict(m, x):
    out = x
    for name, act in m.items():
        out = act(out) + len(name)
    return out, "relu" in m


@case(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), X)
def module_method_called(m, x):
    return m.forward(x), m[0].__call__(x), nn.Sequential.forward(m, x)


@case(Stack(), X)
def state_dict_read(m, x):
    state = m.state_dict()
    return x * len(state), sorted(state)[0]


@case(nn.Linear(3, 2), X)
def loss_module(m, x):
    return nn.CrossEntropyLoss(label_smoothing=0.1)(m(x), t.tensor([0, 1, 0, 1]))


@case(X)
def functional_module(x, m=nn.Linear(3, 3)):
    return nn.functional.relu(m(x)).sum(), m.extra_repr()


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 2)
        self.experts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outs = t.stack([e(x) for e in self.experts], -1)
        return (outs * weights[:, None]).sum(-1)


@case(Mixture(), X)
def mixture_of_experts(m, x):
    return m(x)


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(3, 3)
        self.keys = None

    def forward(self, x):
        k = self.q(x)
        self.keys = k if self.keys is None else t.cat([self.keys, k], 0)
        return x @ self.keys.T


@case(Cache().requires_grad_(False), X)
def cache_grows(m, x):
    return m(x), m(x[:1]), m.keys.shape
