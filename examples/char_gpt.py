"""Trains a small GPT on the characters of a text and writes new text with it.

Blocks of causal self-attention and a feed-forward layer, AdamW with a warm-up and a cosine, a
checkpoint that is saved and loaded into a new model, which writes the sample. With --compare it
times steps as they are and compiled before the training, and writes a page about the compiled
program. With --exact every loss is that of a run that is not compiled, bit for bit.
"""

import math

from example import Speed, parse_options, prepare_folder, run, steps
from loss_plot import save_plot
from terminal import print_table
from text_data import Text

import taeda as torch

nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a norm and beside a shortcut."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def attend(self, x):
        batch, length, width = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.merge(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.dropout(self.attend(self.norm1(x)))
        return x + self.dropout(self.feed(self.norm2(x)))


class GPT(nn.Module):
    """Predicts the next character at every place; the embedding is tied to the output."""

    def __init__(self, characters, length, width, heads, layers, dropout=0.02):
        super().__init__()
        self.length = length
        self.embedding = nn.Embedding(characters, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.08)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, numbers):
        places = torch.arange(numbers.size(1))
        x = self.blocks(self.embedding(numbers) + self.places(places))
        return F.linear(self.norm(x), self.embedding.weight)

    def loss(self, numbers, following):
        return F.cross_entropy(self(numbers).flatten(0, 1), following.flatten())


def draw_batch(numbers, batch, length):
    """Random stretches of text and the characters that follow each of theirs."""
    places = torch.randint(0, len(numbers) - length, (batch, 1)) + torch.arange(length)
    return numbers[places], numbers[places + 1]


@torch.no_grad()
def held_out_loss(model, numbers):
    """The loss over the whole held-out text, cut into stretches."""
    model.eval()
    count = (len(numbers) - 1) // model.length
    cut = [numbers[i : i + count * model.length].view(count, model.length) for i in (0, 1)]
    loss = model.loss(*cut).item()
    model.train()
    return loss


@torch.no_grad()
def generate(model, text, prompt, count, temperature=0.4, k=8):
    """Continues the prompt by `count` characters, each drawn from the `k` likeliest."""
    model.eval()
    numbers = torch.tensor([text.encode(prompt)])
    for _ in range(count):
        logits = model(numbers[:, -model.length :])[0, -1] / temperature
        values, places = torch.topk(logits, k)
        chosen = places[torch.multinomial(values.softmax(-1), 1)]
        numbers = torch.cat([numbers, chosen.view(1, 1)], dim=1)
    return text.decode(numbers[0].tolist())


def rate(step, count):
    """Rises over the first twentieth, then falls along a cosine to a tenth."""
    warm = max(1, count // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.55 + 0.45 * math.cos(math.pi * (step - warm) / max(1, count - warm))


def compare(model, train, options, count=20):
    """Times a few steps as they are and compiled, on the same data.

    Taeda's first compiled call does not wait for native kernels; the later calls do.
    """
    batches = [draw_batch(train, options.batch, model.length) for _ in range(count)]
    wait_for_kernels = getattr(torch.compiler, "wait", lambda: None)
    rows = []
    for name, loss_of in (("as it is", model.loss), ("compiled", torch.compile(model.loss))):
        speed = Speed()
        for numbers, following in batches:
            with speed:
                loss_of(numbers, following).backward()
            wait_for_kernels()
        model.zero_grad()
        first, *later = (1000 * seconds for seconds in speed.times)
        rows.append((name, f"{first:.0f} ms", f"{sorted(later)[len(later) // 2]:.2f} ms"))
    print_table(("forward and backward", "first call", "later calls"), rows)
    explain = getattr(torch.compiler, "explain", None)
    if explain is not None:
        told = explain(model.loss)(*batches[0])
        kernels = sum(report["kernels"] for plan in told.kernels for report in plan.report())
        calls = sum(report["calls"] for plan in told.kernels for report in plan.report())
        path = options.out / "char_gpt_compiled.html"
        told.html(path)
        print(
            f"{told.graph_count} graph, {told.graph_break_count} breaks; forward and backward: "
            f"{kernels} kernels, {calls} library calls; what became of it: {path}"
        )
    print()


def made(text, options):
    return GPT(len(text), options.length, options.width, options.heads, options.layers)


def main():
    sizes = {"batch": (16, 4), "length": (64, 16), "width": (64, 16), "heads": (4, 2)}
    more = {"layers": (2, 1), "characters": (400, 20), "lr": (5e-3, 5e-3), "compare": False}
    more["exact"] = False
    options = parse_options(__doc__, 900, 8, **sizes, **more)
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    text = Text()
    train, held_out = torch.tensor(text.train), torch.tensor(text.held_out)
    model = made(text, options)
    count = sum(parameter.numel() for parameter in model.parameters())
    print(f"{len(train) + len(held_out):,} characters of {len(text)} kinds; {count:,} parameters")
    if options.compare:
        compare(model, train, options)
    loss_of = model.loss
    if options.compile or options.exact:
        loss_of = torch.compile(loss_of, options={"exact": True} if options.exact else None)
    optimizer = torch.optim.AdamW(
        model.parameters(), options.lr, betas=(0.9, 0.98), weight_decay=0.1
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, options.steps))
    losses, seen, speed = [], [(1, held_out_loss(model, held_out))], Speed()
    every = max(1, options.steps // 10)
    for step in steps(options, "training", lambda: f"loss {losses[-1]:.3f}"):
        with speed:
            loss = loss_of(*draw_batch(train, options.batch, options.length))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        if (step + 1) % every == 0:
            seen.append((step + 1, held_out_loss(model, held_out)))
    print(f"held-out loss {seen[0][1]:.3f} to {seen[-1][1]:.3f}; {speed}")
    path = options.out / "char_gpt.pt"
    torch.save(model.state_dict(), path)
    again = made(text, options)
    again.load_state_dict(torch.load(path))
    sample = generate(again, text, "March 7. ", options.characters)
    print(f"\n{sample}\n")
    (options.out / "char_gpt.txt").write_text(sample + "\n")
    curves = {"training": list(enumerate(losses, 1)), "held out": seen}
    title, labels = "loss of the character GPT", ("step", "nats per character")
    for written in (path, *save_plot(curves, options.out / "char_gpt", title, labels)):
        print(f"wrote {written}")


if __name__ == "__main__":
    run(main)
