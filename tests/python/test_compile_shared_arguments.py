"""Arguments that share memory through several storages, as several dtypes, or as views of one tensor."""

import numpy as np
import pytest
from taeda._dynamo.backends.common import aot_autograd
from taeda.fx.aot import aot_function, make_boxed_func

import taeda as t

BACKENDS = ["aot_eager", "inductor"]
backends = pytest.mark.parametrize("backend", BACKENDS)


def array():
    return np.arange(12, dtype=np.float32)


def one_array_twice():
    a = array()
    return t.from_numpy(a), t.from_numpy(a)


def parts_of_an_array():
    a = array()
    return t.from_numpy(a[:6]), t.from_numpy(a[3:9])


def parts_that_lie_apart():
    a = array()
    return t.from_numpy(a[:6]), t.from_numpy(a[6:])


def an_array_and_its_transpose():
    a = array().reshape(4, 3)
    return t.from_numpy(a[:3]), t.from_numpy(a[:3].T)


def lent_and_taken_back():
    x = t.arange(12.0)
    return x[:6], t.from_dlpack(x)[3:9]


def lent_to_numpy():
    x = t.arange(12.0)
    return x[:6], t.from_numpy(x.numpy()[3:9])


def parts_of_a_buffer():
    buffer = bytearray(array().tobytes())
    return (
        t.frombuffer(buffer, dtype=t.float32, count=6),
        t.frombuffer(buffer, dtype=t.float32, count=6, offset=12),
    )


STORAGES = [
    one_array_twice,
    parts_of_an_array,
    parts_that_lie_apart,
    an_array_and_its_transpose,
    lent_and_taken_back,
    lent_to_numpy,
    parts_of_a_buffer,
]


def floats_and_their_bits():
    x = t.arange(6.0)
    return x, x.view(t.int32)


def bits_and_their_floats():
    return floats_and_their_bits()[::-1]


def an_array_as_two_dtypes():
    a = array()
    return t.from_numpy(a), t.from_numpy(a.view(np.int32))


def floats_and_their_bytes():
    x = t.arange(6.0)
    return x, x.view(t.uint8)


def parts_of_two_sizes():
    x = t.arange(6.0)
    return x.view(t.int16)[1:6], x[1:]


def pairs_and_complex_numbers():
    x = t.arange(6.0).view(3, 2)
    return x, t.view_as_complex(x)


DTYPES = [
    floats_and_their_bits,
    bits_and_their_floats,
    an_array_as_two_dtypes,
    floats_and_their_bytes,
    parts_of_two_sizes,
    pairs_and_complex_numbers,
]


def write_first(a, b):
    a.mul_(2)
    return b * 2


def write_second(a, b):
    before = a + 1
    b.add_(1)
    return before, a * 2


def write_both(a, b):
    a.mul_(2)
    seen = b + 1
    b.add_(1)
    return a * 2, seen, b


def give_views(a, b):
    a.add_(1)
    return b[1:], a[1:]


PROGRAMS = [write_first, write_second, write_both, give_views]


def outcome(program, make):
    args = make()
    given = program(*args)
    given = given if isinstance(given, tuple) else (given,)
    return [x.tolist() for x in (*given, *args)]


@pytest.mark.sampled(3)
@backends
@pytest.mark.parametrize("make", STORAGES + DTYPES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_write_is_seen_by_all(program, make, backend):
    compiled = t.compile(program, backend=backend, fullgraph=True)
    expected = outcome(program, make)
    apart = [x.clone() for x in make()]
    for _ in range(2):
        assert outcome(compiled, make) == expected
        assert outcome(compiled, lambda: [x.clone() for x in apart]) == outcome(
            program, lambda: [x.clone() for x in apart]
        )


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("make", [parts_of_an_array, parts_of_a_buffer, floats_and_their_bits])
def test_the_compiled_graph_runs(make, dynamic):
    """A graph that refuses its arguments would give eager's values, too: the program runs instead."""
    runs = []

    def compiler(gm, inputs):
        def run(*args):
            runs.append(len(args))
            return gm.forward(*args)

        return run

    compiled = t.compile(
        write_both, backend=aot_autograd(fw_compiler=compiler), fullgraph=True, dynamic=dynamic
    )
    for count in (1, 2, 3):
        assert outcome(compiled, make) == outcome(write_both, make)
        assert len(runs) == count


def test_arrays_that_meet_in_another_way():
    def arrays(first):
        a = array()
        return t.from_numpy(a[first : first + 4]), t.from_numpy(a[2:6])

    compiled = t.compile(write_both, backend="aot_eager")
    for first in (0, 1, 4, 2, 6, 8, 0):
        expected = outcome(write_both, lambda at=first: arrays(at))
        assert outcome(compiled, lambda at=first: arrays(at)) == expected


def test_what_was_traced_ahead_compares_how_memory_is_shared():
    compiled = aot_function(write_first, lambda gm, _: make_boxed_func(gm.forward))
    assert outcome(compiled, parts_of_an_array) == outcome(write_first, parts_of_an_array)
    with pytest.raises(RuntimeError, match="shared memory that the program writes to"):
        compiled(t.arange(6.0), t.arange(6.0))
    with pytest.raises(RuntimeError, match="shared memory that the program writes to"):
        compiled(*(t.from_numpy(array()[i : i + 6]) for i in (0, 1)))


def test_numbers_that_lie_across_each_other_are_refused():
    buffer = bytearray(array().tobytes())
    parts = [t.frombuffer(buffer, dtype=t.float32, count=4, offset=i) for i in (0, 6)]
    with pytest.raises(NotImplementedError, match="lies across elements of the other"):
        aot_function(write_first, lambda gm, _: make_boxed_func(gm.forward))(*parts)


# ---- gradients ----


def views_of(base):
    return {
        "the base and a part": (base, base[3:7]),
        "parts": (base[:8], base[4:]),
        "a transpose": (base.view(3, 4), base.view(3, 4).t()),
        "strided": (base[::2], base[::3]),
        "detached": (base, base.detach()),
        "a part of detached": (base.detach()[2:], base[:5]),
    }


def with_gradients(program, name):
    leaf = t.arange(1.0, 13.0, requires_grad=True)
    base = leaf * 1
    args = views_of(base)[name]
    given = program(*args)
    given = given if isinstance(given, tuple) else (given,)
    flags = [x.requires_grad for x in given]
    sum(x.abs().pow(2).sum() for x in (*given, args[0]) if x.requires_grad).backward()
    return flags, [x.tolist() for x in (*given, *args)], base.tolist(), leaf.grad.tolist()


@pytest.mark.sampled(5)
@backends
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", views_of(t.arange(12.0)))
@pytest.mark.parametrize("program", [write_first, give_views])
def test_gradients_of_a_write_reach_all_views(program, name, dynamic, backend):
    compiled = t.compile(program, backend=backend, dynamic=dynamic)
    expected = with_gradients(program, name)
    for _ in range(2):
        assert with_gradients(compiled, name) == expected


def test_views_of_one_tensor_and_detached_ones_are_told_apart():
    compiled = t.compile(write_first, backend="aot_eager")
    for name in ("the base and a part", "detached", "parts", "a part of detached") * 2:
        assert with_gradients(compiled, name) == with_gradients(write_first, name)


@backends
def test_detached_results_are_tensors_of_their_own(backend):
    x = t.ones(3)
    y = t.compile(lambda x: (x + 1, x.detach()), backend=backend)(x)[1]
    y.unsqueeze_(0)
    assert x.shape == (3,) and y.data_ptr() == x.data_ptr()


# ---- views that a program writes to, and histories that it cuts ----


@backends
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("view", [lambda h: h.view(-1), lambda h: h[1:], lambda h: h.view(2, 1)])
def test_a_view_of_a_linear_layer_of_a_vector(view, requires_grad, backend):
    def program(w, x):
        h = t.nn.functional.linear(x, w)
        v = view(h)
        v.mul_(2)
        return v, h

    def run(function):
        w = t.arange(6.0).view(2, 3).requires_grad_(requires_grad)
        v, h = function(w, t.ones(3))
        if requires_grad:
            (v.sum() + (h * h).sum()).backward()
        with t.no_grad():
            h.detach().add_(1)
        return v.tolist(), h.tolist(), requires_grad and w.grad.tolist()

    assert run(t.compile(program, backend=backend, fullgraph=True)) == run(program)


@pytest.mark.parametrize("backend", ["eager", *BACKENDS])
def test_an_argument_is_detached_in_place(backend):
    def program(x):
        y = x * 2
        x.detach_()
        return y, x * 3

    compiled = t.compile(program, backend=backend)
    for make in (lambda x: x, lambda x: x * 1):
        x = make(t.ones(3, requires_grad=True))
        y, z = compiled(x)
        assert (x.requires_grad, y.requires_grad, z.requires_grad) == (False, True, False)
    for x in (t.ones(3)[1:], t.ones(3, requires_grad=True)[1:]):
        with pytest.raises(RuntimeError, match="Can't detach views in-place"):
            compiled(x)


def test_an_argument_that_loses_its_history_is_refused_by_a_trace():
    def program(x):
        x.detach_()
        return x * 2

    for x in (t.ones(3, requires_grad=True), t.ones(3, requires_grad=True) * 1):
        with pytest.raises(NotImplementedError, match="loses its history"):
            aot_function(program, lambda gm, _: make_boxed_func(gm.forward))(x)


@pytest.mark.parametrize("backend", ["eager", *BACKENDS])
def test_new_data_of_other_sizes_has_gradients(backend):
    def program(x, y):
        x.data = y * 2
        return (x * 3).sum()

    x = t.arange(6.0, requires_grad=True)
    t.compile(program, backend=backend)(x, t.ones(3)).backward()
    assert x.tolist() == [2.0] * 3 and x.grad.tolist() == [3.0] * 3
