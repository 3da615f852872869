"""Programs for PyTorch that read data by torch::data have the losses of their Python twins."""

import pathlib
import random
import struct

import pytest
from cpp_program import run_program

import taeda as t
from taeda import nn
from taeda.nn import functional as F

pytestmark = pytest.mark.slow

PROGRAMS = pathlib.Path(__file__).with_name("programs")


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


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    write_digits(folder, "train", 70)
    write_digits(folder, "t10k", 40)
    return folder


def run(name, folder, digits):
    source = (PROGRAMS / name).read_text()
    printed = run_program(source, folder, str(digits), with_torch_names=True)
    return [float(number) for number in printed.split()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5)
        self.conv2 = nn.Conv2d(4, 8, 5)
        self.drop = nn.Dropout2d()
        self.fc1 = nn.Linear(128, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = F.relu(self.fc1(x.view(-1, 128)))
        return F.log_softmax(self.fc2(F.dropout(x, training=self.training)), 1)


def test_digits_have_equal_losses_in_both_languages(tmp_path, digits):
    printed = run("torch_mnist.cpp", tmp_path, digits)
    t.manual_seed(1)
    net = Net()
    images, labels = read_digits(digits, "train", 0.1307, 0.3081)
    test_images, test_labels = read_digits(digits, "t10k", 0.1307, 0.3081)
    t.randperm(40)  # what the test's loader draws when it is made
    optimizer = t.optim.SGD(net.parameters(), 0.01, momentum=0.5)
    expected = []
    for _ in range(2):
        net.train()
        for x, y in zip(images.split(16), labels.split(16), strict=True):
            optimizer.zero_grad()
            loss = F.nll_loss(net(x), y)
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
        t.randperm(40)  # and for its pass
        net.eval()
        with t.no_grad():
            output = net(test_images)
        expected.append(F.nll_loss(output, test_labels, reduction="sum").item() / 40)
        expected.append((output.argmax(1) == test_labels).sum().item())
    assert printed == pytest.approx(expected, rel=1e-4, abs=2e-6)
    state = t.serialization.load_archive(tmp_path / "model.pt")
    assert t.allclose(state["fc2"]["weight"], net.fc2.weight, atol=1e-5)


def generator():
    def up(inputs, outputs, kernel, **options):
        return nn.ConvTranspose2d(inputs, outputs, kernel, bias=False, **options)

    wide = {"stride": 2, "padding": 1}
    return nn.Sequential(
        *(up(10, 16, 4), nn.BatchNorm2d(16), nn.ReLU()),
        *(up(16, 8, 3, **wide), nn.BatchNorm2d(8), nn.ReLU()),
        *(up(8, 4, 4, **wide), nn.BatchNorm2d(4), nn.ReLU()),
        *(up(4, 1, 4, **wide), nn.Tanh()),
    )


def discriminator():
    def down(inputs, outputs):
        return nn.Conv2d(inputs, outputs, 4, stride=2, padding=1, bias=False)

    return nn.Sequential(
        *(down(1, 4), nn.LeakyReLU(0.2)),
        *(down(4, 8), nn.BatchNorm2d(8), nn.LeakyReLU(0.2)),
        *(down(8, 16), nn.BatchNorm2d(16), nn.LeakyReLU(0.2)),
        *(nn.Conv2d(16, 1, 3, bias=False), nn.Sigmoid()),
    )


def test_a_pair_of_networks_has_equal_losses_in_both_languages(tmp_path, digits):
    printed = run("torch_dcgan.cpp", tmp_path, digits)
    t.manual_seed(1)
    forge, judge = generator(), discriminator()
    images, _ = read_digits(digits, "train", 0.5, 0.5)
    t.randperm(70)
    forge_adam = t.optim.Adam(forge.parameters(), 2e-3, betas=(0.5, 0.5))
    judge_adam = t.optim.Adam(judge.parameters(), 2e-3, betas=(0.5, 0.5))
    expected = []

    def loss_of(batch, labels):
        return F.binary_cross_entropy(judge(batch).reshape(labels.size()), labels)

    for _ in range(2):
        for indices in t.randperm(70).split(16):
            judge.zero_grad()
            count = indices.numel()
            real = loss_of(images[indices], t.empty(count).uniform_(0.8, 1.0))
            real.backward()
            fakes = forge(t.randn(count, 10, 1, 1))
            fake = loss_of(fakes.detach(), t.zeros(count))
            fake.backward()
            judge_adam.step()
            forge.zero_grad()
            fooled = loss_of(fakes, t.ones(count))
            fooled.backward()
            forge_adam.step()
            expected += [(real + fake).item(), fooled.item()]
    assert printed == pytest.approx(expected, rel=2e-3)
    assert printed[:4] == pytest.approx(expected[:4], rel=1e-4)
    sample = t.serialization.load_archive(tmp_path / "sample-1.pt")
    assert {key: value.shape for key, value in sample.items()} == {"0": (2, 1, 28, 28)}
    assert sample["0"].min() >= 0 and sample["0"].max() <= 1
