"""Programs that give tensors new data, remember what they computed, and know objects by address."""

import collections
import functools
import importlib
import random

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
func = importlib.import_module(f"{NAME}.func")
parametrize = importlib.import_module(f"{NAME}.nn.utils.parametrize")

t.manual_seed(0)
X = t.randn(4, 3)
STUDENT = nn.Linear(3, 3)
TEACHER = nn.Linear(3, 3).requires_grad_(False)
START = [p.detach().clone() for p in TEACHER.parameters()]


@case(X)
def teacher_follows_student(x):
    with t.no_grad():
        for ours, theirs, start in zip(
            TEACHER.parameters(), STUDENT.parameters(), START, strict=True
        ):
            ours.data = start * 0.9 + theirs.data * 0.1
    return TEACHER(x), STUDENT(x).sum()


@case(X)
def teacher_follows_with_gradients_on(x):
    for ours, theirs in zip(TEACHER.parameters(), STUDENT.parameters(), strict=True):
        ours.data = theirs.data * 0.5
    return (TEACHER(x) - STUDENT(x)).pow(2).mean()


TRAINED = nn.Linear(3, 2)
FIRST = [p.detach().clone() for p in TRAINED.parameters()]


@case(X)
def step_by_data_then_forward(x):
    for parameter, first in zip(TRAINED.parameters(), FIRST, strict=True):
        parameter.data = first - 0.1 * first.sign()
    with t.no_grad():
        before = TRAINED(x)
    return TRAINED(x).sum(), before


@case(X, X + 1)
def data_of_another_tensor(x, y):
    x.data = y
    x.add_(1)
    return x * 2, y


@case(X)
def data_of_another_size(x):
    x.data = t.cat([x.data, x.data[:1]])
    return x.sum(), x.shape[0]


@case(X)
def data_twice(x):
    old = x.view(-1)
    x.data = x * 2
    x.data = x.data + 1
    old.mul_(3)
    return x + 1, old


@case(X)
def data_of_a_result(x):
    y, z = x * 2, x + 1
    y.data = z
    y.add_(1)
    return y, z


class Words:
    def __init__(self, words):
        self.numbers = {word: i for i, word in enumerate(words.split())}

    @functools.cache  # noqa: B019
    def number(self, word):
        return self.numbers.get(word, -1)

    @functools.cache  # noqa: B019
    def letters(self, word):
        return sum([ord(letter) for letter in word])

    def __call__(self, text):
        return [self.number(word) for word in text.lower().split()]


WORDS = Words("the cat sat on a mat")


@case(X, ["The cat", "sat on a dog"])
def remembered_in_comprehension(x, texts):
    numbers = [WORDS(text) for text in texts]
    return x * t.tensor([n for line in numbers for n in line]).sum()


@case(X, ["mat", "cat"])
def remembered_behind_writes(x, texts):
    counts = collections.Counter()
    for text in texts:
        counts[text] += WORDS.letters(text)
    texts.append("sat")
    return x * counts["mat"] + WORDS.letters("sat") + WORDS.letters("cat")


MODELS = [nn.Linear(3, 2) for _ in range(3)]
STACKED, BUFFERS = func.stack_module_state(MODELS)
EMPTY = nn.Linear(3, 2, device="meta")


@case(X)
def ensemble_of_an_empty_model(x):
    def call(parameters, buffers, x):
        return func.functional_call(EMPTY, (parameters, buffers), (x,))

    return t.vmap(call, in_dims=(0, 0, None))(STACKED, BUFFERS, x)


class Doubled(nn.Module):
    def forward(self, weight):
        return weight * 2


PARAMETRIZED = nn.Linear(3, 2)
parametrize.register_parametrization(PARAMETRIZED, "weight", Doubled())


@case(X)
def parametrization_cached_inside(x):
    with parametrize.cached():
        return PARAMETRIZED(x) + PARAMETRIZED(x)


SEEN = {}


@case(X)
def objects_by_address(x):
    SEEN[id(STUDENT), "student"] = 1
    known = {id(model): i for i, model in enumerate(MODELS)}
    del SEEN[id(STUDENT), "student"]
    return x + known[id(MODELS[2])], id(STUDENT) == id(MODELS[0])


@case(X)
def address_given_back(x):
    return x + 1, id(STUDENT)


GRIDS = {}


@case(X)
def kept_by_size(x):
    rows, columns = x.shape
    if (rows, columns, "grid") not in GRIDS:
        GRIDS[rows, columns, "grid"] = t.ones(rows, columns)
    x = x + GRIDS[rows, columns, "grid"]
    del GRIDS[rows, columns, "grid"]
    return x, len(GRIDS)


@case(X, breaks=1)
def choice_by_a_random_number(x):
    random.seed(3)
    y = x * 2
    y = y + 1 if random.random() < 0.5 else y - 1
    return y * 3
