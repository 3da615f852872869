"""Small pictures of shapes, drawn in plain Python: what the examples of images learn from."""

import math
import random

SIDE = 16
NAMES = ("disc", "ring", "square", "triangle", "cross")
COLORS = ((230, 70, 60), (60, 150, 230), (70, 190, 90), (240, 190, 60), (170, 90, 210))


def _is_inside(name, x, y, size):
    """Whether a point, seen from the middle of a shape, lies in it."""
    if name == "disc":
        return math.hypot(x, y) <= size
    if name == "ring":
        return 0.5 * size <= math.hypot(x, y) <= size
    if name == "square":
        return max(abs(x), abs(y)) <= 0.85 * size
    if name == "triangle":
        return -0.7 * size <= y <= size and abs(x) <= 0.6 * (size - y)
    return min(abs(x), abs(y)) <= 0.25 * size and max(abs(x), abs(y)) <= size


def _drawn(rng, label, noise):
    """One picture as rows of pixels from 0 to 1, each shape with its place, size and shade."""
    size = rng.uniform(4.0, 6.5)
    middle = (SIDE - 1) / 2
    left, top = (middle + rng.uniform(-1, 1) * (middle - size) for _ in range(2))
    shade = rng.uniform(0.7, 1.0)
    return [
        [
            sum(
                _is_inside(NAMES[label], column + dx - left, top - row - dy, size)
                for dx in (-0.25, 0.25)
                for dy in (-0.25, 0.25)
            )
            / 4
            * shade
            + rng.gauss(0, noise)
            for column in range(SIDE)
        ]
        for row in range(SIDE)
    ]


def make_shapes(count, seed, noise=0.0):
    """(pictures, labels) as lists: `count` pictures of SIDE rows."""
    rng = random.Random(seed)
    labels = [rng.randrange(len(NAMES)) for _ in range(count)]
    return [_drawn(rng, label, noise) for label in labels], labels
