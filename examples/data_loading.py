"""Trains on pictures that worker processes read and change, stops inside an epoch and goes on.

The pictures are made by the program: folders of small PPM files, one folder per class. A second
part shows processes that work on one tensor.
"""

import argparse
import pathlib
import pickle
import tempfile
import time

import taeda.multiprocessing as mp
from taeda.utils.data import DataLoader, ImageFolder, random_split
from terminal import Progress, print_table

import taeda
from taeda import nn, optim
from taeda.nn import functional as F

SIZE = 24


# ---- data ----
def draw(shape, place, generator):
    """A picture of a bar, a ring or a cross at a place, in a random colour under noise."""
    rows, columns = taeda.meshgrid(taeda.arange(SIZE), taeda.arange(SIZE), indexing="ij")
    y, x = (rows - place[0]).abs(), (columns - place[1]).abs()
    mask = {
        "bar": (y <= 1) & (x <= 7),
        "ring": (taeda.maximum(y, x) <= 6) & (taeda.maximum(y, x) >= 5),
        "cross": (taeda.minimum(y, x) <= 1) & (taeda.maximum(y, x) <= 7),
    }[shape]
    colour = taeda.randint(80, 200, (3, 1, 1), generator=generator)
    noise = taeda.randint(0, 56, (3, SIZE, SIZE), generator=generator)
    return (mask * colour + noise).to(taeda.uint8)


def write_ppm(path, image):
    pixels = image.permute(1, 2, 0).contiguous()
    path.write_bytes(b"P6\n%d %d\n255\n" % (SIZE, SIZE) + bytes(pixels.untyped_storage()))


def make_pictures(folder, count):
    """`count` files per class."""
    generator = taeda.Generator().manual_seed(1)
    progress = Progress(3 * count, "pictures")
    for k, shape in enumerate(("bar", "cross", "ring")):
        (folder / shape).mkdir(parents=True)
        for i in range(count):
            place = taeda.randint(8, SIZE - 8, (2,), generator=generator).tolist()
            write_ppm(folder / shape / f"{i:04}.ppm", draw(shape, place, generator))
            progress.update(k * count + i + 1)


def moved(image):
    """Numbers around 0, moved and mirrored at random; it runs in the workers."""
    shift = taeda.randint(-2, 3, (2,)).tolist()
    image = image.roll(shift, (1, 2)).to(taeda.float32) / 128 - 1
    return image.flip(2) if taeda.rand(1) < 0.5 else image


# ---- training ----
def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(3),
        nn.Flatten(),
        nn.Linear(144, 3),
    )


def train(model, optimizer, loader, steps, note):
    """At most `steps` batches of what is left of the epoch; returns the losses."""
    losses = []
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        note(losses[-1])
        if len(losses) == steps:
            break
    return losses


@taeda.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    model.train()
    return right / len(loader.dataset)


def train_and_resume(pictures, options):
    """Trains; stores its place in the middle of an epoch and goes on from it in a new loader."""
    learned, tested = random_split(pictures, [0.8, 0.2])

    def make_loader():
        return DataLoader(
            learned,
            batch_size=32,
            shuffle=True,
            num_workers=options.workers,
            persistent_workers=options.workers > 0,
        )

    model, loader = make_model(), make_loader()
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    progress = Progress(options.epochs * len(loader), "training")
    done = 0

    def note(loss):
        nonlocal done
        done += 1
        progress.update(done, f"loss {loss:.3f}")

    rows, middle = [], len(loader) // 2
    for epoch in range(options.epochs):
        start = time.perf_counter()
        losses = train(model, optimizer, loader, len(loader), note) if epoch else []
        if epoch == 0:  # stop in the middle, store, and go on as another program would
            losses = train(model, optimizer, loader, middle, note)
            stored = pickle.dumps(loader.state_dict())
            loader = make_loader()
            loader.load_state_dict(pickle.loads(stored))
            losses += train(model, optimizer, loader, len(loader), note)
        seconds = time.perf_counter() - start
        right = accuracy(model, DataLoader(tested, batch_size=64))
        rate = len(learned) / seconds
        mean = sum(losses) / len(losses)
        rows.append((epoch + 1, len(losses), f"{mean:.3f}", f"{right:.1%}", f"{rate:,.0f}"))
    return rows


# ---- processes ----
def sum_rows(i, table, sums):
    """What process i does: every fourth row, into its own places of a shared tensor."""
    sums[i::4] = table[i::4].sum(1)


def sum_in_processes():
    table = taeda.arange(4000.0).view(100, 40).share_memory_()
    sums = taeda.zeros(100).share_memory_()
    mp.start_processes(sum_rows, args=(table, sums), nprocs=4, start_method="fork")
    return sums.equal(table.sum(1))


# ---- the program ----
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--pictures", type=int, default=400, help="per class")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--smoke", action="store_true", help="a few pictures and two epochs")
    options = parser.parse_args()
    if options.smoke:
        options.epochs, options.pictures = 2, 40
    taeda.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_pictures(folder, options.pictures)
        pictures = ImageFolder(folder, transform=moved)
        rows = train_and_resume(pictures, options)
    print()
    print_table(("epoch", "batches", "loss", "test accuracy", "pictures/s"), rows)
    print(f"\nfour processes filled one tensor: {sum_in_processes()}")


if __name__ == "__main__":
    main()
