"""A module with every kind of member, and what tests of modules share."""

from under_test import NAME, t

nn = t.nn


class Net(nn.Module):
    """Two layers, a tied one, a child twice, buffers of both kinds, a name without a value."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(4, 4, bias=False))
        self.again = self.first
        self.scale = nn.Parameter(t.ones(4))
        self.tied = self.scale
        self.register_buffer("mean", t.zeros(4))
        self.register_buffer("scratch", t.zeros(2), persistent=False)
        self.register_buffer("nothing", None)
        self.register_parameter("absent", None)
        self.hidden = None

    def forward(self, x):
        return self.body(self.first(x)) * self.scale + self.mean


REPR = """Net(
  (first): Linear(in_features=3, out_features=4, bias=True)
  (body): Sequential(
    (0): ReLU()
    (1): Linear(in_features=4, out_features=4, bias=False)
  )
  (again): Linear(in_features=3, out_features=4, bias=True)
)"""


def names(pairs):
    return [name for name, _ in pairs]


def message(error):
    """The text of an error, without the name of the module under test."""
    return str(error.value).replace(f"{NAME}.nn", "nn").replace("torch.nn", "nn")
