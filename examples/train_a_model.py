"""Trains a small convolutional network and a small transformer on made-up data.

docs/train_a_model.md explains the program part by part.
"""

import argparse
import pathlib

from loss_plot import save_plot
from terminal import Progress, print_table

import taeda
from taeda import nn, optim
from taeda.nn import functional as F


# ---- data ----
def make_images(count, generator):
    """Noisy pictures of 16 x 16: a horizontal bar, a vertical one, a cross or a square."""
    shapes = taeda.zeros(4, 16, 16)
    shapes[0, 7:9] = shapes[1, :, 7:9] = 1
    shapes[2] = (shapes[0] + shapes[1]).clamp(max=1)
    shapes[3, 4:12, 4:12] = 1
    shapes[3, 6:10, 6:10] = 0
    labels = taeda.randint(0, 4, (count,), generator=generator)
    # Each picture is moved by its own distance: an index of rows and one of columns.
    moves = taeda.randint(-4, 5, (2, count, 1), generator=generator)
    rows, columns = (taeda.arange(16) + moves) % 16
    images = shapes[labels.view(-1, 1, 1), rows.unsqueeze(2), columns.unsqueeze(1)]
    noise = taeda.randn(count, 16, 16, generator=generator)
    return (images + 0.7 * noise).unsqueeze(1), labels


def make_sequences(count, generator):
    """Rows of ten digits, and for each place how often its digit stood there or before."""
    digits = taeda.randint(0, 5, (count, 10), generator=generator)
    counts = F.one_hot(digits, 5).cumsum(1)
    return digits, counts.gather(2, digits.unsqueeze(2)).squeeze(2) - 1


# ---- models ----
class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Linear(64, 4)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


class Counter(nn.Module):
    """A transformer in which a place sees itself and those before it."""

    def __init__(self, width=32, length=10):
        super().__init__()
        self.digits = nn.Embedding(5, width)
        self.places = nn.Parameter(0.1 * taeda.randn(length, width))
        layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(width, length)
        later = taeda.ones(length, length, dtype=taeda.bool).triu(1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, digits):
        x = self.digits(digits) + self.places
        return self.head(self.encoder(x, mask=self.later)).transpose(1, 2)


# ---- training ----
def fit(model, data, steps, lr, report=lambda step, loss: None):
    """Trains the model; returns optimizer, scheduler and the loss of each step."""
    inputs, targets = data
    optimizer = optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=steps)
    losses = []
    model.train()
    for step in range(steps):
        batch = taeda.randint(0, len(inputs), (64,))
        with taeda.autocast("cpu", dtype=taeda.bfloat16):
            loss = F.cross_entropy(model(inputs[batch]), targets[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        report(step + 1, losses[-1])
    return optimizer, scheduler, losses


@taeda.no_grad()
def accuracy(model, data):
    """The share of places where the model's first choice is right."""
    inputs, targets = data
    model.eval()
    return (model(inputs).argmax(1) == targets).float().mean().item()


# ---- checkpoints ----
def save_checkpoint(path, **parts):
    """Writes the states of model, optimizer and scheduler, and of the random numbers."""
    states = {name: part.state_dict() for name, part in parts.items()}
    taeda.save({**states, "random": taeda.get_rng_state()}, path)


def load_checkpoint(path, **parts):
    """Reads what save_checkpoint wrote into objects of the same shapes."""
    states = taeda.load(path)
    for name, part in parts.items():
        part.load_state_dict(states[name])
    taeda.set_rng_state(states["random"])


# ---- the program ----
def run(name, model, make, steps, lr, folder):
    """Trains and tests one model; returns its curve and a row of the table."""
    generator = taeda.Generator().manual_seed(1)
    train, test = make(4096, generator), make(1024, generator)
    progress = Progress(steps, name.ljust(13))
    optimizer, scheduler, losses = fit(
        model, train, steps, lr, lambda step, loss: progress.update(step, f"loss {loss:.3f}")
    )
    path = folder / f"{name.replace(' ', '_')}.pt"
    save_checkpoint(path, model=model, optimizer=optimizer, scheduler=scheduler)
    load_checkpoint(path, model=model)
    count = sum(parameter.numel() for parameter in model.parameters())
    last = sum(losses[-20:]) / len(losses[-20:])
    row = (name, f"{count:,}", f"{losses[0]:.3f}", f"{last:.3f}", f"{accuracy(model, test):.1%}")
    return list(enumerate(losses, 1)), row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo_output"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    taeda.manual_seed(0)
    jobs = (
        ("convolutional", ConvNet(), make_images, options.steps, 1e-2),
        ("transformer", Counter(), make_sequences, options.steps, 5e-3),
    )
    curves, rows = {}, []
    for job in jobs:
        curve, row = run(*job, options.out)
        curves[job[0]] = curve
        rows.append(row)
    print()
    print_table(("model", "parameters", "first loss", "last loss", "test accuracy"), rows)
    for path in save_plot(curves, options.out / "training_curves", "loss of two models"):
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
