"""Programs as they stand in training and inference scripts."""

import collections
import importlib
import math

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")

t.manual_seed(0)
X = t.randn(2, 3)
LOGITS = t.randn(2, 5)


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.last = None

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 4)
        outs = []
        for _ in range(3):
            h, c = self.cell(x, (h, c))
            outs.append(h)
        self.last = h.detach()
        return t.stack(outs, 1)


@case(Unrolled(), X)
def cell_unrolled(m, x):
    return m(x), m.last


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(5, 3)
        self.register_buffer("used", t.zeros(5))

    def forward(self, x):
        index = ((x[:, None] - self.codes.weight) ** 2).sum(-1).argmin(1)
        q = self.codes(index)
        self.used += F.one_hot(index, 5).float().sum(0)
        return x + (q - x).detach(), index


@case(Quantizer(), X)
def vector_quantized(m, x):
    return m(x), m.used


class LowRank(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(t.randn(3, 1))
        self.b = nn.Parameter(t.zeros(1, 3))
        self.is_merged = False

    def forward(self, x):
        y = self.base(x)
        return y if self.is_merged else y + x @ self.a @ self.b

    def merge(self):
        with t.no_grad():
            self.base.weight += (self.a @ self.b).T
        self.is_merged = True


@case(LowRank(nn.Linear(3, 3)), X)
def low_rank_adapter(m, x):
    before = m(x)
    m.merge()
    return before, m(x), m.is_merged


@case(nn.Linear(3, 3), nn.Linear(3, 3), 0.9)
def average_of_weights(model, average, decay):
    with t.no_grad():
        for p, q in zip(model.parameters(), average.parameters()):
            q.mul_(decay).add_(p, alpha=1 - decay)
    return [q.sum() for q in average.parameters()]


@case(LOGITS)
def sampled_token(logits):
    return t.multinomial(F.softmax(logits / 0.7, -1), 1)


@case(LOGITS, 0.8)
def nucleus(logits, p):
    values, index = logits.sort(descending=True)
    mask = values.softmax(-1).cumsum(-1) > p
    mask[..., 1:] = mask[..., :-1].clone()
    mask[..., 0] = False
    values = values.masked_fill(mask, float("-inf"))
    return t.zeros_like(logits).scatter(-1, index, values)


@case(5, 4)
def positions_by_waves(length, width):
    table = t.zeros(length, width)
    position = t.arange(length)[:, None]
    rate = t.exp(t.arange(0, width, 2) * (-math.log(10000.0) / width))
    table[:, 0::2] = t.sin(position * rate)
    table[:, 1::2] = t.cos(position * rate)
    return table


@case([t.ones(2), t.ones(3), t.zeros(2)])
def batches_by_shape(samples):
    groups = collections.defaultdict(list)
    for sample in samples:
        groups[tuple(sample.shape)].append(sample)
    return {shape: t.stack(group) for shape, group in groups.items()}


@case([{"x": X}, None, {"x": X * 2}])
def mean_over_batches(batches):
    total, count = 0, 0
    for batch in batches:
        if batch is None:
            continue
        total = total + batch["x"].sum()
        count += len(batch["x"])
    return total / count


@case(X, {"model": {"scale": 0.5}, "optimizer": None})
def nested_settings(x, settings):
    scale = settings["model"].get("scale", 1.0)
    rate = (settings.get("optimizer") or {}).get("lr", 0.1)
    return x * scale - rate


@case({"a.weight": X, "a.bias": X[0], "b.weight": X + 1})
def weights_renamed(state):
    out = {}
    for name, value in state.items():
        layer, _, kind = name.rpartition(".")
        out[f"module.{layer}.{kind}"] = value.clone()
    return out


@case(nn.Linear(3, 2), X)
def vmapped_module(m, x):
    return t.vmap(m)(x)


@case([t.ones(2), t.ones(4)])
def padded_sequences(rows):
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1.0)


@case(LOGITS, t.tensor([1, 4]), t.tensor([True, False]))
def masked_loss(logits, target, keep):
    losses = F.cross_entropy(logits, target, reduction="none")
    return (losses * keep).sum() / keep.sum().clamp(min=1)


@case(t.randn(3, 4), t.randn(3, 4))
def contrastive_loss(a, b):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    scores = a @ b.T / 0.07
    labels = t.arange(a.shape[0])
    return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2


@case(LOGITS, LOGITS.flip(0), 2.0)
def distilled(student, teacher, temperature):
    p = F.log_softmax(student / temperature, -1)
    q = F.softmax(teacher / temperature, -1)
    return F.kl_div(p, q, reduction="batchmean") * temperature**2


@case(X, 0.25)
def reparametrized(mean, scale):
    noise = t.randn_like(mean)
    return mean + scale * noise, -0.5 * (1 + math.log(scale**2) - mean**2 - scale**2).sum()


@case(t.rand(1, 1, 4, 4))
def image_in_patches(image):
    b, c, h, w = image.shape
    p = 2
    patches = image.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5)
    return patches.reshape(b, (h // p) * (w // p), c * p * p)


@case(t.tensor([1.0, 0.0, 2.0]), 0.9)
def discounted_returns(rewards, gamma):
    out, running = [], 0.0
    for reward in reversed(rewards.unbind()):
        running = reward + gamma * running
        out.append(running)
    return t.stack(out[::-1])


@case(t.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0]]))
def overlaps_of_boxes(boxes):
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    low = t.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = t.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    return inner / (area[:, None] + area[None] - inner)


@case(LOGITS, t.tensor([1, 4]))
def metrics_of_a_batch(logits, target):
    hits = logits.topk(3, -1).indices.eq(target[:, None])
    return {"top1": hits[:, :1].any(-1).float().mean(), "top3": hits.any(-1).float().mean()}
