"""Random programs on families of views are compiled as they are; see family_fuzz.py."""

import family_fuzz
import pytest
from family_fuzz import Program, check, explain, generate, shrink

import taeda as t

# Programs that aot_eager refuses (inputs that share memory and change sizes), or that leave a mode
# in the middle of a graph.
KNOWN = frozenset([475, 577, 658, 947, 996, 1171, 1189, 1436])


def run_seeds(seeds, backends):
    for seed in seeds:
        program = generate(seed)
        if seed not in KNOWN and check(program, backends) is not None:
            pytest.fail(explain(seed, program, backends), pytrace=False)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_programs(first):
    run_seeds(range(first, first + 50), ("aot_eager",))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_programs_with_other_backends(backend):
    run_seeds(range(400, 430), (backend,))


@pytest.mark.full
@pytest.mark.parametrize("first", range(0, 1500, 250))
def test_many_programs(first):
    run_seeds(range(first, first + 250), family_fuzz.BACKENDS)


def test_a_difference_is_found_and_shrunk(monkeypatch):
    lines = ["v1 = v0[1:]", "v2 = v0 * 2", "v1.add_(1)", "v3 = v2.sin()"]
    program = Program(["t.ones(2, 3)"], lines, ["v3", "v1"])
    assert check(program, ("eager",)) is None

    def copied(f, backend):
        return lambda *args: tuple(r.clone() for r in f(*args))

    monkeypatch.setattr(t, "compile", copied)
    assert "first call.tensors[1].look" in check(program, ("eager",))
    small = shrink(program, lambda less: "v1 = v0[1:]" in less.lines and check(less) is not None)
    assert small.lines == ["v1 = v0[1:]"] and small.results == ["v1"]
