"""Trains a variational autoencoder on pictures of shapes and walks through what it learned.

An encoder gives means and spreads of a few numbers, a decoder draws a picture of them; the loss is
the picture's likelihood and the distance of the numbers from a normal distribution. The picture has
data in its first row, their reconstructions in the second, then a walk from one to the next.
"""

import shapes
from example import Speed, parse_options, prepare_folder, run, steps
from pictures import save_image

import taeda as torch

nn, F = torch.nn, torch.nn.functional


class VAE(nn.Module):
    def __init__(self, hidden, latent):
        super().__init__()
        pixels = shapes.SIDE**2
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(pixels, hidden), nn.SiLU(), nn.Linear(hidden, 2 * latent)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, pixels), nn.Unflatten(1, (1, shapes.SIDE, shapes.SIDE)),
        )  # fmt: skip

    def forward(self, images):
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        noise = torch.randn_like(mean)
        return self.decoder(mean + noise * (0.5 * log_variance).exp()), mean, log_variance

    def loss(self, images):
        logits, mean, log_variance = self(images)
        drawn = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
        distance = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum()
        return (drawn + distance) / len(images)


def walk(model, images, rows):
    """From the numbers of one picture to those of the next, eight steps each."""
    ends = model.encoder(images).chunk(2, dim=1)[0]
    part = torch.linspace(0, 1, 8).view(8, 1)
    latents = [ends[i] * (1 - part) + ends[i + 1] * part for i in range(rows)]
    return model.decoder(torch.cat(latents)).sigmoid()


def main():
    options = parse_options(__doc__, 1500, 10, hidden=(256, 32), images=(3000, 64))
    prepare_folder(options.out)
    torch.manual_seed(options.seed)
    images = torch.tensor(shapes.make_shapes(options.images, options.seed)[0]).unsqueeze(1)
    model = VAE(options.hidden, latent=8)
    loss_of = torch.compile(model.loss) if options.compile else model.loss
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    losses, speed = [], Speed()
    for _ in steps(options, "training", lambda: f"loss {losses[-1]:.1f}"):
        batch = images[torch.randint(0, len(images), (64,))]
        with speed:
            loss = loss_of(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    print(f"loss {losses[0]:.1f} to {losses[-1]:.1f}; {speed}")
    model.eval()
    with torch.no_grad():
        seen = images[:8]
        again = model.decoder(model.encoder(seen).chunk(2, dim=1)[0]).sigmoid()
        rows = torch.cat([seen, again, walk(model, seen, 4)])
    save_image(rows, options.out / "vae.png")


if __name__ == "__main__":
    run(main)
