"""The model that tests of passes rewrite, and the passes of the package under test."""

import importlib

from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")


def passes(name):
    return importlib.import_module(f"{NAME}.fx.{name}")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(t.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x, y):
        z = self.linear(x + self.param).clamp(min=0.0, max=1.0)
        w = self.linear(y).clamp(min=0.0, max=1.0)
        return z + w
