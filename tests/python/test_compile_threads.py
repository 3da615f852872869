"""One compiled function called by several threads at once: each gets its own results and errors."""

import sys
import threading

import pytest
from taeda._dynamo.exc import Unsupported

import taeda

CALLS = 20


@pytest.fixture(autouse=True)
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _in_threads(work, count):
    """Runs work(i) in threads; what they found, or the first error."""
    found, errors = [None] * count, []

    def call(i):
        try:
            found[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def test_each_thread_gets_its_own_error():
    def program(x, kind, n):
        y = x * 2
        if kind == "print":
            print(n)
        elif kind == "branch" and y.sum() > 0:
            y = y + 1
        elif kind == "raise":
            raise KeyError(n)
        return y

    compiled = taeda.compile(program, fullgraph=True, backend="eager")
    kinds = ("fine", "print", "raise", "branch")

    def work(i):
        kind = kinds[i % len(kinds)]
        texts = set()
        for k in range(CALLS):
            x = taeda.full((3,), float(i))
            if kind == "fine":
                assert taeda.equal(compiled(x, kind, k), x * 2)
                continue
            expected = KeyError if kind == "raise" else Unsupported
            with pytest.raises(expected) as error:
                compiled(x, kind, k)
            texts.add(str(error.value).partition("\n")[0])
        return kind, texts

    for kind, texts in _in_threads(work, 8):
        if kind == "print":
            assert len(texts) == 1 and "print" in texts.pop()
        elif kind == "branch":
            assert texts == {"a value that only data tells"}
        elif kind == "raise":
            assert texts == {str(k) for k in range(CALLS)}


def test_errors_of_the_program_beside_results():
    def program(x, scale):
        if scale < 0:
            raise ValueError(f"got {scale}")
        y = x * scale
        taeda._dynamo.graph_break()
        return y + 1

    compiled = taeda.compile(program, backend="eager")

    def work(i):
        for k in range(CALLS):
            x = taeda.full((2 + k % 3,), float(i))
            if (i + k) % 2:
                with pytest.raises(ValueError, match=f"got -{i}.5"):
                    compiled(x, -(i + 0.5))
            else:
                assert taeda.equal(compiled(x, i + 0.5), x * (i + 0.5) + 1)

    _in_threads(work, 4)


def test_raising_calls_leave_a_whole_graph_compiled():
    def program(x, key):
        if key == "raise":
            raise KeyError(key)
        if key == "print":
            print(key)
        return x + 1

    compiled = taeda.compile(program, fullgraph=True, backend="eager")
    for _ in range(12):
        with pytest.raises(KeyError):
            compiled(taeda.ones(2), "raise")
    with pytest.raises(Unsupported, match="print"):
        compiled(taeda.ones(2), "print")
    assert compiled(taeda.ones(2), "fine").tolist() == [2, 2]


class Named(threading.local):
    scale = 3

    def doubled(self):
        return self.scale * 2


class WithBeginning(threading.local):
    def __init__(self):
        self.scale = 5


@pytest.mark.parametrize("kind", [threading.local, Named])
def test_attributes_of_a_thread(kind):
    local = kind()
    local.scale, local.state = 2, taeda.ones(2)

    @taeda.compile(backend="eager", fullgraph=True)
    def program(x):
        local.count = getattr(local, "count", 0) + 1
        local.state = local.state + x
        if hasattr(local, "extra"):
            x = x * local.extra
            del local.extra
        return x * local.scale * (local.doubled() if kind is Named else 1)

    factor = 4 if kind is Named else 1
    x = taeda.full((2,), 3.0)
    for extra in (1, 1, 7, 1):
        if extra > 1:
            local.extra = extra
        assert program(x).tolist() == [6 * factor * extra] * 2
    assert local.count == 4 and local.state.tolist() == [13, 13]
    assert not hasattr(local, "extra")

    def in_another_thread():
        local.scale, local.state = 1, taeda.zeros(2)
        seen.append((program(x), local.count, local.state))

    seen = []
    thread = threading.Thread(target=in_another_thread)
    thread.start()
    thread.join()
    ((result, count, state),) = seen
    assert result.tolist() == [3 * (2 if kind is Named else 1)] * 2
    assert count == 1 and state.tolist() == [3, 3]
    assert local.count == 4 and program(x).tolist() == [6 * factor] * 2


def test_attributes_that_every_thread_begins_with():
    local = WithBeginning()
    program = taeda.compile(lambda x: x * local.scale, backend="eager")
    assert program(taeda.ones(1)).tolist() == [5]
    local.scale = 6
    assert program(taeda.ones(1)).tolist() == [6]
    seen = []
    thread = threading.Thread(target=lambda: seen.append(program(taeda.ones(1)).tolist()))
    thread.start()
    thread.join()
    assert seen == [[5]]
