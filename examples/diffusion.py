"""Trains a diffusion model on small pictures and draws new ones out of noise.

A network with convolutions and a shortcut across them learns which noise was added to a picture at
any of the noise levels; drawing starts from noise alone and takes it away level by level. The
picture has the finished drawings below stages of the way there.
"""

import math

import shapes
from example import Speed, parse_options, prepare_folder, run, steps
from pictures import save_image

import taeda as torch

nn, F = torch.nn, torch.nn.functional


class Stage(nn.Module):
    """Convolutions that know the noise level."""

    def __init__(self, inputs, outputs, level_width):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.level = nn.Linear(level_width, outputs)
        self.norm1, self.norm2 = nn.GroupNorm(4, outputs), nn.GroupNorm(4, outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, level):
        y = F.silu(self.norm1(self.conv1(x))) + self.level(level)[:, :, None, None]
        return F.silu(self.norm2(self.conv2(y))) + self.shortcut(x)


class Denoiser(nn.Module):
    """Down to a quarter of the pixels and up again, with a shortcut between equal sizes."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.levels = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.down = Stage(1, width, width)
        self.middle = Stage(width, 2 * width, width)
        self.up = Stage(3 * width, width, width)
        self.out = nn.Conv2d(width, 1, 3, padding=1)
        frequencies = torch.exp(-math.log(1000.0) * torch.arange(width // 2) / (width // 2))
        self.register_buffer("frequencies", frequencies)

    def forward(self, images, level):
        angles = level[:, None].float() * self.frequencies
        known = self.levels(torch.cat([angles.sin(), angles.cos()], dim=1))
        fine = self.down(images, known)
        coarse = self.middle(F.avg_pool2d(fine, 2), known)
        raised = F.interpolate(coarse, scale_factor=2.0)
        return self.out(self.up(torch.cat([fine, raised], dim=1), known))


class Noise:
    """Noise levels: how much of a picture is left at each."""

    def __init__(self, count):
        self.count = count
        beta = torch.linspace(1e-4, 0.05 * 100 / count, count).clamp(max=0.5)
        self.beta = beta
        self.left = (1 - beta).cumprod(0)

    def added(self, images, level, noise):
        left = self.left[level].view(-1, 1, 1, 1)
        return left.sqrt() * images + (1 - left).sqrt() * noise

    @torch.no_grad()
    def taken_away(self, model, count, stages):
        """Drawings, and the way there at `stages` places."""
        x = torch.randn(count, 1, shapes.SIDE, shapes.SIDE)
        way = []
        for level in reversed(range(self.count)):
            if (level + 1) % max(1, self.count // stages) == 0 and len(way) < stages:
                way.append(x)
            predicted = model(x, torch.full((count,), level))
            beta, left = self.beta[level], self.left[level]
            x = (x - beta / (1 - left).sqrt() * predicted) / (1 - beta).sqrt()
            if level > 0:
                x = x + beta.sqrt() * torch.randn_like(x)
        return x, way


def main():
    options = parse_options(__doc__, 1200, 4, width=(24, 8), images=(3000, 64), levels=(100, 8))
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    pictures = torch.tensor(shapes.make_shapes(options.images, options.seed)[0]).unsqueeze(1)
    images = pictures * 2 - 1
    model, noise_levels = Denoiser(options.width), Noise(options.levels)
    forward = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    losses, speed = [], Speed()
    for _ in steps(options, "training", lambda: f"loss {losses[-1]:.3f}"):
        batch = images[torch.randint(0, len(images), (32,))]
        level = torch.randint(0, options.levels, (len(batch),))
        noise = torch.randn_like(batch)
        with speed:
            predicted = forward(noise_levels.added(batch, level, noise), level)
            loss = F.mse_loss(predicted, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    recent = losses[-20:]
    print(f"loss {losses[0]:.3f} to {sum(recent) / len(recent):.3f}; {speed}")
    model.eval()
    drawn, way = noise_levels.taken_away(model, 16, 4)
    rows = torch.cat([stage[:8] for stage in way] + [drawn])
    save_image(rows * 0.5 + 0.5, options.out / "diffusion.png")


if __name__ == "__main__":
    run(main)
