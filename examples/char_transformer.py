"""Trains a small character transformer on the text in data/ and writes new text with it.

The model is made of modules; the attention is matmul, mask and softmax, and AdamW is a few in-place
operations.
"""

import argparse
import math
import pathlib
import sys
import tempfile
import time

from loss_plot import save_plot
from terminal import Progress, print_table

import taeda

nn, F = taeda.nn, taeda.nn.functional
DATA = pathlib.Path(__file__).parent / "data" / "lighthouse.txt"


class Text:
    """The training text as integers, split into a training part and a held-out tail."""

    def __init__(self, path):
        text = path.read_text()
        self.characters = sorted(set(text))
        self.number = {character: i for i, character in enumerate(self.characters)}
        numbers = self.encode(text)
        cut = len(numbers) * 19 // 20
        self.train, self.held_out = numbers[:cut], numbers[cut:]

    def encode(self, text):
        return taeda.tensor([self.number[character] for character in text])

    def decode(self, numbers):
        return "".join(self.characters[i] for i in numbers)


def draw_batch(numbers, batch, length):
    """`batch` random stretches of text and the character that follows each of theirs."""
    start = taeda.randint(0, numbers.size(0) - length, (batch, 1))
    places = start + taeda.arange(length)
    return numbers[places], numbers[places + 1]


def linear(inputs, outputs, scale=1.0):
    """A linear layer with normal weights, which keep the spread of the inputs times `scale`."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=scale / math.sqrt(inputs))
    nn.init.zeros_(layer.bias)
    return layer


def distance_bias(length, heads):
    """What each head adds to its scores: less for characters further back, nothing for the future.

    The slopes fall by four from head to head, so that some heads read the last few characters and
    others the whole stretch; this tells the places of characters apart without a table of places.
    """
    place = taeda.arange(length)
    distance = (place.unsqueeze(1) - place).to(taeda.float32)
    slopes = taeda.tensor([4.0**-head for head in range(heads)])
    bias = -distance * slopes.reshape(heads, 1, 1)
    future = taeda.ones(length, length, dtype=taeda.bool).tril(-1).transpose(0, 1)
    return bias.masked_fill(future, -math.inf)


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each behind a norm and beside a shortcut."""

    def __init__(self, width, heads, layers, dropout):
        super().__init__()
        residual_scale = 1 / math.sqrt(2 * layers)
        self.heads = heads
        self.dropout = nn.Dropout(dropout)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = linear(width, 3 * width)
        self.merge = linear(width, width, residual_scale)
        self.feed = nn.Sequential(
            linear(width, 4 * width), nn.GELU(), linear(4 * width, width, residual_scale)
        )

    def attend(self, x, bias):
        batch, length, width = x.size()
        shape = (batch, length, self.heads, width // self.heads)
        parts = self.query_key_value(x).chunk(3, dim=-1)
        query, key, value = (part.reshape(shape).transpose(1, 2) for part in parts)
        scores = taeda.matmul(query, key.transpose(-2, -1)) / math.sqrt(shape[-1])
        weights = self.dropout((scores + bias).softmax(dim=-1))
        mixed = taeda.matmul(weights, value).transpose(1, 2).reshape(batch, length, width)
        return self.merge(mixed)

    def forward(self, x, bias):
        x = x + self.dropout(self.attend(self.norm_1(x), bias))
        return x + self.dropout(self.feed(self.norm_2(x)))


class CharTransformer(nn.Module):
    """Predicts the next character at every place of a text; the embedding is tied to the output."""

    def __init__(self, characters, length, width, heads, layers, dropout):
        super().__init__()
        self.length = length
        self.embedding = nn.Embedding(characters, width)
        nn.init.normal_(self.embedding.weight, std=0.08)
        self.blocks = nn.ModuleList(Block(width, heads, layers, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(taeda.zeros(characters))
        self.register_buffer("bias_by_distance", distance_bias(length, heads))

    def forward(self, numbers):
        length = numbers.size(1)
        bias = self.bias_by_distance[:, :length, :length]
        x = self.embedding(numbers)
        for block in self.blocks:
            x = block(x, bias)
        return F.linear(self.norm(x), self.embedding.weight, self.bias)

    def loss(self, numbers, following):
        logits = self(numbers)
        return F.cross_entropy(logits.reshape(-1, logits.size(-1)), following.reshape(-1))


class AdamW:
    """Adam with weight decay beside the gradient, not inside it; matrices alone decay."""

    def __init__(self, parameters, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.1):
        self.parameters, self.betas, self.eps = list(parameters), betas, eps
        self.weight_decay = weight_decay
        self.mean = [taeda.zeros_like(parameter) for parameter in self.parameters]
        self.square = [taeda.zeros_like(parameter) for parameter in self.parameters]
        self.steps = 0

    @taeda.no_grad()
    def step(self, lr):
        self.steps += 1
        beta_1, beta_2 = self.betas
        mean_scale = 1 - beta_1**self.steps
        square_scale = 1 - beta_2**self.steps
        for parameter, mean, square in zip(self.parameters, self.mean, self.square, strict=True):
            gradient = parameter.grad
            if parameter.dim() > 1:
                parameter.mul_(1 - lr * self.weight_decay)
            mean.lerp_(gradient, 1 - beta_1)
            square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
            spread = (square / square_scale).sqrt_().add_(self.eps)
            parameter.sub_(mean / spread, alpha=lr / mean_scale)
            parameter.grad = None


def learning_rate(step, steps, highest):
    """Rises over the first twentieth, then falls along a cosine to a tenth."""
    warm = max(1, steps // 20)
    if step < warm:
        return highest * (step + 1) / warm
    part = (step - warm) / max(1, steps - warm)
    return highest * (0.55 + 0.45 * math.cos(math.pi * part))


@taeda.no_grad()
def held_out_loss(model, text):
    """The loss over the whole held-out text, cut into stretches."""
    model.eval()
    count = (text.held_out.size(0) - 1) // model.length
    numbers, following = (
        text.held_out[shift : shift + count * model.length].reshape(count, model.length)
        for shift in (0, 1)
    )
    return model.loss(numbers, following).item()


@taeda.no_grad()
def generate(model, text, prompt, count, temperature, k):
    """Continues the prompt by `count` characters, each drawn from the `k` likeliest.

    Adding Gumbel noise -log(-log(u)) to the logits makes argmax a draw from their softmax.
    """
    model.eval()
    numbers = text.encode(prompt).unsqueeze(0)
    for _ in range(count):
        logits = model(numbers[:, -model.length :])[0, -1] / temperature
        values, places = taeda.topk(logits, k)
        noise = -(-taeda.rand(k).log()).log()
        chosen = places[(values + noise).argmax()]
        numbers = taeda.cat([numbers, chosen.reshape(1, 1)], dim=1)
    return text.decode(numbers[0].tolist())


def train(model, text, options):
    """Runs the training loop; returns the curves and the rows of the loss table."""
    optimizer = AdamW(model.parameters())
    progress = Progress(options.steps, "training")
    every = max(1, options.steps // 10)
    losses, curve, held_out, rows = [], [], [], []
    start = time.perf_counter()
    for step in range(options.steps):
        numbers, following = draw_batch(text.train, options.batch, model.length)
        loss = model.train().loss(numbers, following)
        loss.backward()
        optimizer.step(learning_rate(step, options.steps, options.lr))
        losses.append(loss.item())
        curve.append((step + 1, losses[-1]))
        progress.update(step + 1, f"loss {losses[-1]:.3f}")
        if step == 0 or (step + 1) % every == 0:
            recent = losses[-every:]
            held_out.append((step + 1, held_out_loss(model, text)))
            speed = (step + 1) * options.batch * model.length / (time.perf_counter() - start)
            rows.append(
                (
                    step + 1,
                    f"{sum(recent) / len(recent):.3f}",
                    f"{held_out[-1][1]:.3f}",
                    f"{speed:,.0f}",
                )
            )
    return {"training": curve, "held out": held_out}, rows


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=64, help="characters seen at once")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.02)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--characters", type=int, default=500, help="characters to write")
    parser.add_argument("--temperature", type=float, default=0.4)
    parser.add_argument("--topk", type=int, default=8)
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path("demo_output"),
        help="folder of the pictures",
    )
    return parser.parse_args()


def prepare_folder(folder):
    """Makes the folder and writes to it: a disk that refuses should do so before the training."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(1 << 16))


def main():
    options = parse_options()
    prepare_folder(options.out)
    taeda.manual_seed(options.seed)
    text = Text(DATA)
    model = CharTransformer(
        len(text.characters),
        options.length,
        options.width,
        options.heads,
        options.layers,
        options.dropout,
    )
    count = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"{DATA.name}: {text.train.numel() + text.held_out.numel():,} characters of "
        f"{len(text.characters)} kinds; model: {count:,} parameters"
    )
    curves, rows = train(model, text, options)
    print()
    print_table(("step", "training loss", "held-out loss", "characters/s"), rows)
    sample = generate(
        model, text, "March 7. ", options.characters, options.temperature, options.topk
    )
    print(f"\n{sample}\n")
    title, labels = "loss of the character transformer", ("step", "nats per character")
    for path in save_plot(curves, options.out / "loss_curve", title, labels):
        print(f"wrote {path}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"cannot write the pictures: {error}; --out names another folder")
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: no pictures written")
