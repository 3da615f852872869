"""Random programs give eager's bits when they are compiled; see inductor_fuzz.py."""

import inductor_fuzz
import pytest
from inductor_fuzz import NotCompiledError, Program, check, explain, generate, shrink

import taeda as t

PER_CASE = 25
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of the operators themselves


def run_seeds(seeds, native_share=0.0):
    refused = 0
    for seed in seeds:
        program = generate(seed, native_share)
        try:
            if check(program) is not None:
                pytest.fail(explain(program), pytrace=False)
        except NotCompiledError:
            refused += 1
    assert refused < len(seeds) / 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 400, PER_CASE))
def test_programs(first):
    run_seeds(range(first, first + PER_CASE))


@pytest.mark.slow
def test_native_programs():
    run_seeds(range(5000, 5006), native_share=1.0)


@pytest.mark.full
@pytest.mark.parametrize("first", range(10_000, 20_000, 500))
def test_many_programs(first):
    run_seeds(range(first, first + 500), native_share=0.02)


def test_a_seed_is_one_program():
    assert generate(7).text() == generate(7).text()
    assert generate(7).text() != generate(8).text()


def test_a_difference_is_found_and_shrunk(monkeypatch):
    lines = ["v1 = v0 * 2", "v2 = v1.exp()", "v3 = v0.sin()", "v4 = v2 + v3", "v5 = v4.sum(0)"]
    program = Program(0, [("float32", [4, 3], "plain")], lines, ["v5"], False, False, False)
    assert check(program) is None

    class Wrong:
        def __init__(self, gm, inputs, native):
            self.gm = gm
            self.is_wrong = any("sin" in str(node.target) for node in gm.graph.nodes)

        def __call__(self, *inputs):
            return tuple(r + 1 if self.is_wrong else r for r in self.gm(*inputs))

    monkeypatch.setattr(inductor_fuzz, "compile", Wrong)
    assert "v5 differs" in check(program)
    small = shrink(program, inductor_fuzz.differs)
    assert small.lines == ["v3 = v0.sin()"]


def test_bits_are_compared():
    zero = t.zeros(3)
    assert inductor_fuzz.same(zero, zero.clone(), False)
    assert not inductor_fuzz.same(zero, -zero, False)
    assert not inductor_fuzz.same(zero, zero.double(), False)
    assert inductor_fuzz.same(zero / 0, zero / 0, False)
    assert not inductor_fuzz.same(t.ones(2, 3), t.ones(3, 2).t(), False)
