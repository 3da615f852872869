"""Compiled programs whose inputs have the conjugate or the negative bit."""

import pytest
from under_test import t

counters = t._dynamo.utils.counters


def complex_values():
    return t.tensor([1 + 2j, 3 - 4j])


INPUTS = {
    "conjugate": lambda: complex_values().conj(),
    "negative": lambda: complex_values().conj().imag,
    "both": lambda: t._neg_view(complex_values().conj()),
    "plain": complex_values,
}
PROGRAMS = {
    "bits": lambda z: (z * 2, z.is_conj(), z.is_neg(), (z + 0).is_conj(), z.clone().is_conj()),
    "writes": lambda z: (z.add_(1) * 2, z.is_conj()),
    "gives back": lambda z: z,
    "views": lambda z: (z[0], z.view(1, 2), z.conj(), z.resolve_conj().is_conj()),
    "product": lambda z: t.matmul(z.view(1, 2), z.view(2, 1)),
}


def shown(value):
    if isinstance(value, t.Tensor):
        return value.is_conj(), value.is_neg(), value.dtype, value.tolist()
    return [shown(item) for item in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_that_are_still_to_be_turned(name, backend):
    function = PROGRAMS[name]
    for make in INPUTS.values():
        t._dynamo.reset()
        compiled = t.compile(function, backend=backend, fullgraph=True)
        for _ in range(2):
            plain, own = make(), make()
            expected, result = shown(function(plain)), shown(compiled(own))
            assert [item[-1] if isinstance(item, tuple) else item for item in result] == [
                item[-1] if isinstance(item, tuple) else item for item in expected
            ]
            assert shown(own) == shown(plain)


def test_a_bit_is_guarded_and_sizes_change():
    t._dynamo.reset()
    counters.clear()
    compiled = t.compile(lambda z: z * 2, backend="eager", fullgraph=True)
    for n in (2, 3, 4, 5):
        z = t.arange(n) + 1j
        assert t.equal(compiled(z), z * 2)
        assert t.equal(compiled(z.conj()), z.conj() * 2)
    assert counters["stats"]["unique_graphs"] == 4


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_gradients_go_to_what_was_turned(backend):
    t._dynamo.reset()

    def function(z, w):
        return (z * z * w).real.sum()

    grads = []
    for run in (function, t.compile(function, backend=backend, fullgraph=True)):
        z = complex_values().requires_grad_()
        run(z.conj(), complex_values().conj()).backward()
        grads.append(z.grad)
    assert t.allclose(grads[0], grads[1])
