"""Programs that decode: caches, masks, searches, routing, positions."""

import collections
import dataclasses
import enum
import importlib
import math
import typing

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")

t.manual_seed(0)
X = t.randn(2, 4, 6)
LOGITS = t.randn(2, 7)
TOKENS = t.tensor([[1, 2, 0, 0], [3, 4, 5, 0]])


@dataclasses.dataclass
class CacheConfig:
    heads: int = 2
    width: int = 3
    most: int = 4
    dtype: t.dtype = t.float32


@dataclasses.dataclass
class KeyValueCache:
    config: CacheConfig
    keys: list = dataclasses.field(default_factory=list)
    values: list = dataclasses.field(default_factory=list)

    @property
    def length(self):
        return sum(k.shape[-2] for k in self.keys)

    def update(self, key, value):
        self.keys.append(key)
        self.values.append(value)
        if len(self.keys) > self.config.most:
            del self.keys[0], self.values[0]
        return t.cat(self.keys, -2), t.cat(self.values, -2)


@case(X)
def cache_of_steps(x):
    config = CacheConfig()
    cache = KeyValueCache(config)
    outs = []
    for step in range(x.shape[1]):
        q = x[:, step].view(-1, config.heads, 1, config.width)
        k, v = cache.update(q * 2, q + 1)
        outs.append(F.scaled_dot_product_attention(q, k, v))
    return t.cat(outs, 2), cache.length


@case(X, KeyValueCache(CacheConfig(most=2)))
def cache_given_is_written(x, cache):
    for part in x.chunk(2, 1):
        cache.update(part, part * 2)
    return cache.keys, cache.values, cache.length


class StaticCache(nn.Module):
    def __init__(self, most, width):
        super().__init__()
        self.register_buffer("keys", t.zeros(2, most, width), persistent=False)
        self.seen = 0

    def forward(self, k):
        rows = k.shape[1]
        self.keys[:, self.seen : self.seen + rows] = k
        self.seen += rows
        return self.keys[:, : self.seen]


@case(StaticCache(8, 6), X)
def cache_of_fixed_size(cache, x):
    first = cache(x[:, :3]).sum()
    return first, cache(x[:, 3:]).mean(1), cache.seen


class Rotary(nn.Module):
    def __init__(self, width, base=10000.0):
        super().__init__()
        inverse = 1.0 / base ** (t.arange(0, width, 2).float() / width)
        self.register_buffer("inverse", inverse, persistent=False)
        self._tables = {}

    def table(self, length):
        if length not in self._tables:
            angles = t.outer(t.arange(length).float(), self.inverse)
            self._tables[length] = (angles.cos(), angles.sin())
        return self._tables[length]

    def forward(self, x):
        cos, sin = self.table(x.shape[-2])
        even, odd = x[..., ::2], x[..., 1::2]
        return t.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


@case(Rotary(6), X)
def rotary_with_tables(m, x):
    return m(x), sorted(m._tables)


def alibi_slopes(heads):
    def powers(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return powers(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return powers(closest) + alibi_slopes(2 * closest)[0::2][: heads - closest]


@case(X)
def biases_by_distance(x):
    heads, rows = 3, x.shape[1]
    slopes = t.tensor(alibi_slopes(heads))
    distance = t.arange(rows)[None, :] - t.arange(rows)[:, None]
    return slopes[:, None, None] * distance, x.mean()


class MaskKind(enum.Enum):
    CAUSAL = "causal"
    WINDOW = "window"
    PREFIX = "prefix"


def build_mask(kind, rows, width=2):
    i, j = t.arange(rows)[:, None], t.arange(rows)[None, :]
    if kind is MaskKind.CAUSAL:
        return j <= i
    if kind is MaskKind.WINDOW:
        return (j <= i) & (i - j < width)
    if kind is MaskKind.PREFIX:
        return (j <= i) | (j < width)
    raise NotImplementedError(kind)


@case(X)
def masks_by_kind(x):
    scores = x @ x.mT
    outs = {}
    for kind in MaskKind:
        masked = scores.masked_fill(~build_mask(kind, x.shape[1]), float("-inf"))
        outs[kind.value] = masked.softmax(-1)
    return outs


@case(TOKENS)
def mask_from_padding(tokens):
    keep = tokens != 0
    lengths = keep.sum(1)
    mask = keep[:, None, :] & keep[:, :, None] & t.ones(4, 4, dtype=t.bool).tril()
    return mask, lengths, t.where(keep, t.cumsum(keep, 1) - 1, 0)


class Beam(typing.NamedTuple):
    score: t.Tensor
    tokens: tuple


@case(LOGITS)
def beams_of_named_tuples(logits):
    table = logits.log_softmax(-1)
    beams = [Beam(t.zeros(()), ())]
    for step in range(2):
        grown = [
            Beam(beam.score + table[step, token], (*beam.tokens, token))
            for beam in beams
            for token in range(3)
        ]
        beams = sorted(grown, key=lambda beam: sum(beam.tokens), reverse=True)[:2]
    return [(beam.score, beam.tokens) for beam in beams]


@case(LOGITS)
def beams_by_topk(logits):
    scores = logits.log_softmax(-1)
    best, index = scores[:1].expand(2, -1).clone().view(1, -1).topk(3)
    rows, tokens = index // 7, index % 7
    history = t.cat([rows, tokens])
    for _ in range(2):
        total = best.view(-1, 1) + scores[0][None]
        best, index = total.view(1, -1).topk(3)
        history = t.cat([history, index % 7])
    return best, history


class Processor:
    def __call__(self, logits, history):
        return logits


class Temperature(Processor):
    def __init__(self, by):
        self.by = by

    def __call__(self, logits, history):
        return logits / self.by


class Penalty(Processor):
    def __init__(self, by):
        self.by = by

    def __call__(self, logits, history):
        seen = logits.gather(1, history)
        seen = t.where(seen < 0, seen * self.by, seen / self.by)
        return logits.scatter(1, history, seen)


class TopK(Processor):
    def __init__(self, k):
        self.k = k

    def __call__(self, logits, history):
        least = logits.topk(self.k).values[:, -1:]
        return logits.masked_fill(logits < least, -math.inf)


@case(LOGITS, TOKENS[:, :2], [Temperature(0.7), Penalty(1.2), TopK(3)])
def processors_in_a_list(logits, history, processors):
    for process in processors:
        logits = process(logits, history)
    return logits, logits.softmax(-1).argmax(-1)


@case(LOGITS)
def nucleus_kept(logits):
    values, index = logits.sort(descending=True)
    drop = values.softmax(-1).cumsum(-1) > 0.8
    drop[..., 1:] = drop[..., :-1].clone()
    drop[..., 0] = False
    return logits.masked_fill(drop.scatter(1, index, drop), -math.inf)


class Expert(nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        self.up = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x):
        return F.silu(self.up(x)) * self.scale


class Experts(nn.Module):
    def __init__(self, width=6, count=3, used=2):
        super().__init__()
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(Expert(width, 1.0 / (i + 1)) for i in range(count))
        self.used = used
        self.load = None

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.gate(flat).softmax(-1).topk(self.used)
        weights = weights / weights.sum(-1, keepdim=True)
        out = t.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            share = (weights * (chosen == i)).sum(-1, keepdim=True)
            out = out + share * expert(flat)
        self.load = F.one_hot(chosen, len(self.experts)).sum((0, 1))
        return out.view_as(x)


@case(Experts(), X, is_fused=True)
def experts_by_share(m, x):
    return m(x), m.load


@case(X, is_fused=True)
def heads_split_and_joined(x):
    def split(v, heads):
        return v.unflatten(-1, (heads, -1)).transpose(1, 2)

    q, k, v = (split(part, 2) for part in (x, x * 2, x + 1))
    out = t.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v
    return out.transpose(1, 2).flatten(2)


@case(X)
def grouped_queries(x):
    q = x.view(2, 4, 3, 2).transpose(1, 2)
    k = x[..., :2].unsqueeze(1)
    k, v = (part.repeat_interleave(3, 1) for part in (k, k + 1))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@case(TOKENS)
def greedy_loop_with_a_table(tokens):
    table = t.eye(7).roll(1, 1)
    ids = tokens[:, :1]
    finished = t.zeros(2, dtype=t.bool)
    for _ in range(3):
        following = table[ids[:, -1]].argmax(-1)
        following = t.where(finished, t.zeros_like(following), following)
        finished = finished | (following == 3)
        ids = t.cat([ids, following[:, None]], 1)
    return ids, finished


@case(X, collections.deque(maxlen=2))
def window_of_states(x, recent):
    for step in range(x.shape[1]):
        recent.append(x[:, step])
    return t.stack(list(recent), 1), len(recent), recent.maxlen


@case(X)
def streamed_in_pieces(x):
    def pieces(v, size):
        for start in range(0, v.shape[1], size):
            yield start, v[:, start : start + size]

    total, places = t.zeros(2, 6), []
    for start, piece in pieces(x, 3):
        total = total + piece.sum(1)
        places.append((start, piece.shape[1]))
    return total, places


@case(X)
def softmax_in_one_pass(x):
    largest = t.full((2, 4), -math.inf)
    total = t.zeros(2, 4)
    for column in x.unbind(-1):
        now = t.maximum(largest, column)
        total = total * (largest - now).exp() + (column - now).exp()
        largest = now
    return (x - largest[..., None]).exp() / total[..., None]
