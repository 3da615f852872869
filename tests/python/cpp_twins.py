"""Python twins of programs in C++ that read digits: the same draws in the same order.

A program draws its weights first, layer by layer; a loader with a random sampler draws an order
when it is made and one for each pass; then come dropout, labels and noise as they stand.
"""

import random
import struct

import taeda as t
from taeda import nn
from taeda.nn import functional as F


def write_digits(folder, stem, count):
    """Files of MNIST's form: the digit d is a bar at a place of its own, on noise."""
    rng = random.Random(stem)
    digits = [rng.randrange(10) for _ in range(count)]
    pixels = bytearray()
    for digit in digits:
        image = bytearray(rng.randrange(40) for _ in range(28 * 28))
        for row in range(4, 24):
            start = 28 * row + 2 * digit + 2
            image[start : start + 4] = bytes([240] * 4)
        pixels += image
    images = struct.pack(">4I", 2051, count, 28, 28) + pixels
    (folder / f"{stem}-images-idx3-ubyte").write_bytes(images)
    labels = struct.pack(">2I", 2049, count) + bytes(digits)
    (folder / f"{stem}-labels-idx1-ubyte").write_bytes(labels)


def read_digits(folder, stem, mean, deviation):
    def bytes_of(name):
        return t.frombuffer(bytearray((folder / f"{stem}-{name}").read_bytes()), dtype=t.uint8)

    images = bytes_of("images-idx3-ubyte")[16:].view(-1, 1, 28, 28).float().div_(255)
    return images.sub(mean).div(deviation), bytes_of("labels-idx1-ubyte")[8:].long()


class Net(nn.Module):
    """The classifier of digits with so many channels and hidden numbers."""

    def __init__(self, channels, hidden):
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 5)
        self.conv2 = nn.Conv2d(channels, 2 * channels, 5)
        self.drop = nn.Dropout2d()
        self.fc1 = nn.Linear(32 * channels, hidden)
        self.fc2 = nn.Linear(hidden, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = F.relu(self.fc1(x.flatten(1)))
        x = F.dropout(x, 0.5, self.training)
        return F.log_softmax(self.fc2(x), 1)


class Classifier:
    """Training on the files of `folder`; `train` and `test` give what a program prints of a pass."""

    def __init__(self, folder, channels, hidden, train_batch, test_batch):
        t.manual_seed(1)
        self.net = Net(channels, hidden)
        self.train_batch, self.test_batch = train_batch, test_batch
        self.images, self.labels = read_digits(folder, "train", 0.1307, 0.3081)
        self.test_images, self.test_labels = read_digits(folder, "t10k", 0.1307, 0.3081)
        t.randperm(len(self.test_labels))  # what the test's loader draws when it is made
        self.optimizer = t.optim.SGD(self.net.parameters(), 0.01, momentum=0.5)

    def train(self):
        """The loss of each batch, in the order of the files."""
        self.net.train()
        batches = zip(
            self.images.split(self.train_batch), self.labels.split(self.train_batch), strict=True
        )
        for x, y in batches:
            self.optimizer.zero_grad()
            loss = F.nll_loss(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            yield loss.item()

    @t.no_grad()
    def test(self):
        """The mean loss and the number of hits."""
        self.net.eval()
        loss, hits = 0.0, 0
        for places in t.randperm(len(self.test_labels)).split(self.test_batch):
            output, target = self.net(self.test_images[places]), self.test_labels[places]
            loss += F.nll_loss(output, target, reduction="sum").item()
            hits += output.argmax(1).eq(target).sum().item()
        return loss / len(self.test_labels), hits


def generator(noise, channels):
    def up(inputs, outputs, kernel, **options):
        return nn.ConvTranspose2d(inputs, outputs, kernel, bias=False, **options)

    wide = {"stride": 2, "padding": 1}
    return nn.Sequential(
        *(up(noise, 4 * channels, 4), nn.BatchNorm2d(4 * channels), nn.ReLU()),
        *(up(4 * channels, 2 * channels, 3, **wide), nn.BatchNorm2d(2 * channels), nn.ReLU()),
        *(up(2 * channels, channels, 4, **wide), nn.BatchNorm2d(channels), nn.ReLU()),
        *(up(channels, 1, 4, **wide), nn.Tanh()),
    )


def discriminator(channels, last_layer_first=False):
    """`last_layer_first`: where layers are arguments of one call, made from the last on."""

    def down(inputs, outputs):
        return lambda: nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, bias=False)

    makers = [
        down(1, channels),
        down(channels, 2 * channels),
        down(2 * channels, 4 * channels),
        lambda: nn.Conv2d(4 * channels, 1, 3, bias=False),
    ]
    order = -1 if last_layer_first else 1
    first, second, third, last = [make() for make in makers[::order]][::order]
    return nn.Sequential(
        *(first, nn.LeakyReLU(0.2)),
        *(second, nn.BatchNorm2d(2 * channels), nn.LeakyReLU(0.2)),
        *(third, nn.BatchNorm2d(4 * channels), nn.LeakyReLU(0.2)),
        *(last, nn.Sigmoid()),
    )


class Pair:
    """A generator and a discriminator, trained on the digits of `folder`."""

    def __init__(self, folder, noise, channels, batch, rate, last_layer_first=False):
        t.manual_seed(1)
        self.noise, self.batch = noise, batch
        self.forge = generator(noise, channels)
        self.judge = discriminator(channels, last_layer_first)
        self.images, _ = read_digits(folder, "train", 0.5, 0.5)
        t.randperm(len(self.images))
        self.forge_adam = t.optim.Adam(self.forge.parameters(), rate, betas=(0.5, 0.5))
        self.judge_adam = t.optim.Adam(self.judge.parameters(), rate, betas=(0.5, 0.5))

    def loss_of(self, images, labels):
        return F.binary_cross_entropy(self.judge(images).reshape(labels.size()), labels)

    def train(self):
        """Both losses of each batch."""
        for places in t.randperm(len(self.images)).split(self.batch):
            count = len(places)
            self.judge.zero_grad()
            real = self.loss_of(self.images[places], t.empty(count).uniform_(0.8, 1.0))
            real.backward()
            fakes = self.forge(t.randn(count, self.noise, 1, 1))
            fake = self.loss_of(fakes.detach(), t.zeros(count))
            fake.backward()
            self.judge_adam.step()
            self.forge.zero_grad()
            fooled = self.loss_of(fakes, t.ones(count))
            fooled.backward()
            self.forge_adam.step()
            yield (real + fake).item(), fooled.item()
