"""Trains two convolutional networks against each other: one draws shapes, one tells them from data.

The picture shows drawings of the same noise at the beginning, on the way and at the end.
"""

import shapes
from example import Speed, parse_options, prepare_folder, run, steps
from pictures import save_image

import taeda as torch

nn, F = torch.nn, torch.nn.functional
NOISE = 32


def make_generator(width):
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 4 * width, 4, bias=False),
        nn.BatchNorm2d(4 * width),
        nn.ReLU(),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * width, 1, 4, 2, 1),
        nn.Tanh(),
    )


def make_discriminator(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False),
        nn.BatchNorm2d(2 * width),
        nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 1, 4),
        nn.Flatten(0),
    )


def start_normally(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.05)


def says(logits, answer):
    """The loss of a discriminator whose right answer is `answer`."""
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, answer))


def main():
    options = parse_options(__doc__, 600, 6, width=(24, 4), images=(3000, 64))
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    pictures = torch.tensor(shapes.make_shapes(options.images, options.seed)[0]).unsqueeze(1)
    images = pictures.clamp(0, 1) * 2 - 1
    generator, discriminator = make_generator(options.width), make_discriminator(options.width)
    generator.apply(start_normally)
    discriminator.apply(start_normally)
    draw, judge = generator, discriminator
    if options.compile:
        draw, judge = torch.compile(generator), torch.compile(discriminator)
    adams = [
        torch.optim.Adam(model.parameters(), 1e-3, betas=(0.5, 0.999))
        for model in (generator, discriminator)
    ]
    fixed = torch.randn(8, NOISE, 1, 1)
    shown, last, speed = [], [0.0, 0.0], Speed()
    every = max(1, options.steps // 4)
    for step in steps(options, "training", lambda: "judge {:.3f}, forger {:.3f}".format(*last)):
        real = images[torch.randint(0, len(images), (48,))]
        with speed:
            fake = draw(torch.randn(len(real), NOISE, 1, 1))
            judged = says(judge(real), 0.9) + says(judge(fake.detach()), 0.0)
            adams[1].zero_grad()
            judged.backward()
            adams[1].step()
            fooled = says(judge(fake), 1.0)
            adams[0].zero_grad()
            fooled.backward()
            adams[0].step()
            last[:] = judged.item(), fooled.item()
        if step % every == 0 or step + 1 == options.steps:
            with torch.no_grad():
                shown.append(generator(fixed))
    print(f"judge's loss {last[0]:.3f}, forger's {last[1]:.3f}; {speed}")
    save_image(torch.cat(shown) * 0.5 + 0.5, options.out / "dcgan.png")


if __name__ == "__main__":
    run(main)
