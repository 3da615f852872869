"""Random questions about random expressions: symbolic answers are the plain ones, and inputs that pass
the guards would have given the same answers."""

import operator
import random

import pytest
from taeda._C._fx import _symbolic_meta
from taeda.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
    statically_known_false,
    statically_known_true,
)

import taeda

OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": taeda.sym_min,
    "max": taeda.sym_max,
}
RELATIONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def random_tree(rng, depth):
    """A size (its position), a constant (in a list), or an operation on two trees."""
    if depth == 0 or rng.random() < 0.15:
        return rng.randrange(3) if rng.random() < 0.7 else [rng.randint(-3, 6)]
    return (
        rng.choice(list(OPERATIONS)),
        random_tree(rng, depth - 1),
        random_tree(rng, depth - 1),
    )


def value_of(tree, sizes):
    if isinstance(tree, int):
        return sizes[tree]
    if isinstance(tree, list):
        return tree[0]
    return OPERATIONS[tree[0]](value_of(tree[1], sizes), value_of(tree[2], sizes))


class Question:
    def __init__(self, rng):
        self.relation = rng.choice(RELATIONS)
        self.left = random_tree(rng, rng.randint(1, 3))
        self.right = random_tree(rng, rng.randint(0, 2))

    def ask(self, sizes):
        """The answer; None when it divides by zero."""
        try:
            return self.relation(value_of(self.left, sizes), value_of(self.right, sizes))
        except ZeroDivisionError:
            return None

    def __repr__(self):
        return f"{self.relation.__name__} {self.left} {self.right}"


def hint(number):
    return number.node.hint if isinstance(number, (taeda.SymInt, taeda.SymBool)) else number


@pytest.mark.parametrize("seed", range(200))
def test_answers_are_right_and_guards_keep_them(seed):
    rng = random.Random(seed)
    hints = [rng.randint(2, 7) for _ in range(3)]
    env = ShapeEnv(duck_shape=False)
    sizes, strides, _ = env.create_symbolic_sizes_strides_storage_offset(
        taeda.empty(hints, device="meta"),
        "x",
        symbolic_context=StatelessSymbolicContext([DimDynamic.DYNAMIC] * 3),
    )
    answers = []
    for question in [Question(rng) for _ in range(rng.randint(1, 6))]:
        expected, answer = question.ask(hints), question.ask(sizes)
        if expected is None or answer is None:
            continue
        assert hint(answer) == expected, question
        assert not (statically_known_false(answer) if expected else statically_known_true(answer))
        assert bool(answer) == expected
        assert hint(value_of(question.left, sizes)) == value_of(question.left, hints), question
        answers.append((question, expected))
    fake = _symbolic_meta(sizes, strides, taeda.float32)
    assert env.evaluate_guards_for_args([fake], [taeda.empty(hints)])
    for _ in range(12):
        other = [rng.randint(0, 9) for _ in range(3)]
        passes = env.evaluate_guards_for_args([fake], [taeda.empty(other)])
        for question, expected in answers if passes else []:
            assert question.ask(other) in (None, expected), (question, hints, other)
