"""Trains a small ResNet to name shapes in noisy pictures.

Residual blocks with batch normalization, SGD with momentum and a one-cycle schedule, and a picture
of held-out images whose frames are green where the network is right.
"""

import shapes
from example import Speed, parse_options, prepare_folder, run, steps
from pictures import save_image

import taeda as torch

nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """A stem, three stages of growing width, and the mean of what is left."""

    def __init__(self, classes, width):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.stages = nn.Sequential(
            Block(width, width), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2)
        )
        self.head = nn.Linear(4 * width, classes)

    def forward(self, images):
        x = self.stages(F.relu(self.norm(self.stem(images))))
        return self.head(x.mean((2, 3)))


def made(count, seed):
    images, labels = shapes.make_shapes(count, seed, noise=0.25)
    return torch.tensor(images).unsqueeze(1), torch.tensor(labels)


def framed(images, is_right):
    """Pictures in frames of green or red."""
    color = torch.tensor([[0.9, 0.2, 0.2], [0.2, 0.8, 0.3]])[is_right.long()]
    frames = color.view(-1, 3, 1, 1).repeat(1, 1, shapes.SIDE + 2, shapes.SIDE + 2)
    frames[:, :, 1:-1, 1:-1] = images.clamp(0, 1)
    return frames


def main():
    options = parse_options(__doc__, 300, 8, width=(12, 4), images=(2000, 64))
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    images, labels = made(options.images, options.seed)
    held_out, expected = made(max(64, options.images // 8), options.seed + 1)
    model = ResNet(len(shapes.NAMES), options.width)
    forward = torch.compile(model) if options.compile else model
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=options.steps)
    losses, speed = [], Speed()
    for _ in steps(options, "training", lambda: f"loss {losses[-1]:.3f}"):
        batch = torch.randint(0, len(images), (32,))
        with speed:
            loss = F.cross_entropy(forward(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        is_right = model(held_out).argmax(1) == expected
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}; {speed}")
    print(f"right on {100 * is_right.float().mean().item():.1f} % of held-out pictures")
    save_image(framed(held_out[:32], is_right[:32]), options.out / "resnet_classifier.png")


if __name__ == "__main__":
    run(main)
