"""Frames taken and handed back: the proof on this CPython, and what surrounds it."""

import dis
import gc
import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import traceback
import warnings
from pathlib import Path

import frames_proof
import pytest
from build_frames import build, find_python

from taeda import _frames

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODULES = sorted(path.stem for path in (HERE / "frames_corpus").glob("[a-z]*.py"))


@pytest.mark.parametrize(
    "module", [m if m == "basics" else pytest.param(m, marks=pytest.mark.slow) for m in MODULES]
)
def test_corpus_with_a_hand_back_at_every_instruction(module):
    tally = frames_proof.Tally()
    for case in frames_proof.cases(f"{module}."):
        frames_proof.prove(case, 2, tally)
    assert not tally.differences, "\n".join(tally.differences[:5])


def test_the_corpus_is_large():
    assert sum(1 for _ in frames_proof.cases()) >= 300


def test_every_opcode_is_in_the_table():
    hidden = ("INSTRUMENTED_",)
    real = {
        name
        for name, number in dis.opmap.items()
        if number < 256 and not name.startswith(hidden) and name not in _specialized()
    }
    assert set(_frames.opcodes()) == real


def _specialized() -> set[str]:
    import opcode

    return set(getattr(opcode, "_specialized_opmap", ()) or ())


def test_offsets_are_those_of_dis():
    code = test_offsets_are_those_of_dis.__code__
    shown = [line.offset for line in dis.get_instructions(code) if line.opname != "EXTENDED_ARG"]
    assert _frames.offsets(code) == shown


def _sum_to(count):
    total = 0
    for i in range(count):
        total += i
    return total


def test_counts_say_what_ran():
    session = _frames.Session()
    assert session.run(_sum_to, 10) == 45
    counts = session.counts
    assert counts["frames"] == 1
    assert counts["instructions"] > 40
    assert counts["hand_backs"] == 0


def test_a_hand_back_leaves_the_rest_to_cpython():
    middle = _frames.offsets(_sum_to.__code__)[8]
    whole, half = _frames.Session(), _frames.Session(places=[(_sum_to.__code__, middle)])
    assert whole.run(_sum_to, 100) == half.run(_sum_to, 100)
    assert half.counts["hand_backs"] == 1
    assert half.counts["instructions"] < whole.counts["instructions"] / 10


def _three_deep(probe):
    def inner(x):
        frame = sys._getframe()
        names = []
        while frame is not None and frame.f_code.co_filename == __file__:
            names.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        return x, names

    def middle(x):
        return inner(x + 1)

    def outer(x):
        return middle(x + 1)

    return outer(probe)


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("callers", [False, True])
def test_callees_of_a_hand_back_have_real_callers(rebuild, callers):
    inner = next(c for c in frames_proof.codes_of(_three_deep) if c.co_name == "inner")
    expected = _three_deep(1)
    for offset in _frames.offsets(inner):
        session = _frames.Session(places=[(inner, offset)], rebuild=rebuild, callers=callers)
        value, names = session.run(_three_deep, 1)
        assert (value, names[:4]) == (expected[0], expected[1][:4])
        assert session.counts["hand_backs"] == (4 if callers else 1)
        if rebuild and offset < 8:  # later the frame is exposed and stays where it is
            assert session.counts["rebuilt"] == 3


def test_warnings_name_the_caller():
    def warn():
        warnings.warn("here", stacklevel=2)

    def call():
        warn()  # the line that is named

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
        _frames.Session().run(call)
        _frames.Session(one_in=3).run(call)
    assert len({(w.filename, w.lineno) for w in caught}) == 1


class TestSegments:
    """A segment that fails is rolled back to its start, and CPython runs it."""

    @staticmethod
    def program(x):
        def callee(y):
            a = y * 2
            b = a + 1
            return b * a

        first = callee(x)
        second = callee(first)
        return first - second

    def place(self, name, index):
        code = next(c for c in frames_proof.codes_of(self.program) if c.co_name == name)
        return code, _frames.offsets(code)[index]

    def test_within_one_frame(self):
        begin, fail = self.place("program", 3), self.place("program", -2)
        session = _frames.Session(segment=begin, failure=fail)
        assert session.run(self.program, 3) == self.program(3)
        assert session.counts["rollbacks"] == 1

    def test_a_callee_that_has_returned_is_made_anew(self):
        begin, fail = self.place("callee", 5), self.place("program", -2)
        session = _frames.Session(segment=begin, failure=fail)
        assert session.run(self.program, 3) == self.program(3)
        assert session.counts["rollbacks"] == 1
        assert session.counts["rebuilt"] == 1

    def test_a_callee_that_had_not_begun_is_dropped(self):
        begin, fail = self.place("program", 3), self.place("callee", 6)
        session = _frames.Session(segment=begin, failure=fail)
        assert session.run(self.program, 3) == self.program(3)
        assert session.counts["rollbacks"] == 1

    def test_variables_of_closures_come_back(self):
        def counts(x):
            total = x

            def add(y):
                nonlocal total
                total += y
                return total

            first = add(1)
            return first, add(2), total

        code = counts.__code__
        add = next(c for c in frames_proof.codes_of(counts) if c.co_name == "add")
        for begin in _frames.offsets(code):
            for fail in _frames.offsets(add):
                session = _frames.Session(segment=(code, begin), failure=(add, fail))
                assert session.run(counts, 5) == (6, 8, 8)

    def test_the_exception_in_a_handler_comes_back(self):
        def handler(x):
            try:
                raise KeyError(x)
            except KeyError:
                try:
                    raise ValueError(x)
                except ValueError:
                    y = x + 1
                return y, sys.exc_info()[1].args

        offsets = _frames.offsets(handler.__code__)
        expected = handler(2)
        rollbacks = 0
        for begin in offsets:
            for fail in offsets:
                places = {"segment": (handler.__code__, begin), "failure": (handler.__code__, fail)}
                session = _frames.Session(**places)
                assert session.run(handler, 2) == expected
                rollbacks += session.counts["rollbacks"]
        assert rollbacks > 100


class TestStayingOut:
    """Code that somebody watches is left to CPython."""

    def test_a_tracer_sees_every_line(self):
        def lines(call):
            seen = []

            def tracer(frame, event, argument):
                if frame.f_code is _sum_to.__code__:
                    seen.append((event, frame.f_lineno))
                return tracer

            sys.settrace(tracer)
            try:
                call(_sum_to, 3)
            finally:
                sys.settrace(None)
            return seen

        assert lines(_frames.Session().run) == lines(lambda f, x: f(x))

    def test_a_tracer_set_inside_takes_over(self):
        def traced():
            seen = []

            def tracer(frame, event, argument):
                seen.append((event, frame.f_lineno - traced.__code__.co_firstlineno))
                return tracer

            sys.settrace(tracer)
            sys._getframe().f_trace = tracer
            x = 1
            x += 1
            sys.settrace(None)
            return seen

        assert _frames.Session().run(traced) == traced()

    def test_a_profiler_sees_calls(self):
        def profiled():
            seen = []
            sys.setprofile(lambda frame, event, argument: seen.append(event))
            _sum_to(2)
            len([])
            sys.setprofile(None)
            return seen

        assert _frames.Session().run(profiled) == profiled()


def test_no_leak_over_many_hand_backs():
    def work(x):
        values = [x, str(x)]

        def inner(*rest, **named):
            try:
                raise ValueError(values)
            except ValueError as error:
                return len(error.args) + len(rest) + len(named)

        return inner(1, 2, a=3)

    def round_of(count):
        session = _frames.Session(one_in=4, seed=7, rebuild=True)
        for i in range(count):
            session.run(work, i)
        return session.counts["hand_backs"]

    round_of(200)
    gc.collect()
    before = sys.getallocatedblocks()
    hand_backs = 0
    while hand_backs < 100_000:
        hand_backs += round_of(2000)
    gc.collect()
    assert sys.getallocatedblocks() - before < 200


def test_two_threads_at_once():
    results, errors = {}, []

    def work(index):
        try:
            session = _frames.Session(one_in=5, seed=index, rebuild=True)
            results[index] = [session.run(_sum_to, n) for n in range(300)]
        except BaseException as error:
            errors.append("".join(traceback.format_exception(error)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        natively = [_sum_to(n) for n in range(300)]  # beside them, without a session
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(old)
    assert not errors
    assert all(results[i] == natively for i in range(4))


def test_a_fork_inside():
    def parent_and_child(x):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            total = _sum_to(x) + 1
            os.write(write, str(total).encode())
            os._exit(0)
        os.waitpid(child, 0)
        text = os.read(read, 100)
        os.close(read)
        os.close(write)
        return int(text) + _sum_to(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 3.12 warns of forks beside threads
        expected = parent_and_child(50)
        assert _frames.Session().run(parent_and_child, 50) == expected
        assert _frames.Session(one_in=5, seed=3).run(parent_and_child, 50) == expected


def test_a_signal_interrupts_a_loop():
    def spin():
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            while True:
                pass
        except InterruptedError as error:
            return error.args

    def interrupt(number, frame):
        raise InterruptedError(frame.f_code.co_name)

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        assert _frames.Session().run(spin) == ("spin",)
    finally:
        signal.signal(signal.SIGALRM, old)


def test_recursion_ends_with_an_error():
    def deep(n):
        return deep(n + 1)

    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        _frames.Session().run(deep, 0)
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        _frames.Session(one_in=50).run(deep, 0)
    assert _sum_to(3) == 3


def test_a_hook_put_over_ours_and_taken_away_late():
    first = _frames.Session()
    first.__enter__()
    _frames._set_empty_hook(True)  # another tool
    first.__exit__()
    _frames._set_empty_hook(False)
    assert _frames.Session().run(_sum_to, 4) == 6
    assert not _frames._is_hooked()


def test_a_tracer_switched_on_in_a_context_manager():
    seen = []

    class Traced:
        def __enter__(self):
            def tracer(frame, event, argument):
                seen.append((event, frame.f_lineno - body.__code__.co_firstlineno))
                return tracer

            sys.settrace(tracer)
            sys._getframe(1).f_trace = tracer

        def __exit__(self, *arguments):
            sys.settrace(None)

    def body():
        with Traced():
            x = 1
            x += 1
        return x

    body()
    plain, seen[:] = list(seen), []
    _frames.Session().run(body)
    assert [e for e in seen if e[0] == "line"][:2] == [e for e in plain if e[0] == "line"][:2]


def test_a_session_that_ends_inside_of_what_it_runs():
    def inside():
        session.__exit__()
        return _sum_to(3)

    session = _frames.Session()
    session.__enter__()
    assert inside() == 3
    assert not _frames._is_hooked()


class TestBadInput:
    def test_chances_are_counts(self):
        for value in (-1, 2**40):
            with pytest.raises(ValueError, match="one_in must lie between"):
                _frames.Session(one_in=value)

    def test_skipped_code_twice(self):
        code = _sum_to.__code__
        assert _frames.Session(skipped=[code, code]).run(_sum_to, 3) == 3

    def test_a_place_is_a_pair(self):
        with pytest.raises(TypeError, match="a place is \\(code, offset\\)"):
            _frames.Session(places=[_sum_to.__code__])

    def test_a_place_has_a_code_object(self):
        with pytest.raises(TypeError, match="expected a code object, got function"):
            _frames.Session(places=[(_sum_to, 0)])

    def test_a_place_is_an_instruction(self):
        for offset in (-2, 1, 100_000):
            with pytest.raises(ValueError, match=r"no instruction of .* begins at offset"):
                _frames.Session(places=[(_sum_to.__code__, offset)])

    def test_run_takes_a_callable(self):
        with pytest.raises(TypeError, match="expected a callable"):
            _frames.Session().run()

    def test_leaving_what_was_not_entered(self):
        with pytest.raises(RuntimeError, match="left more often than entered"):
            _frames.Session().__exit__(None, None, None)


def test_the_hook_is_gone_after_a_session():
    assert not _frames._is_hooked()
    with _frames.Session():
        assert _frames._is_hooked()
        with _frames.Session():
            assert _frames._is_hooked()
        assert _frames._is_hooked()
    assert not _frames._is_hooked()


def test_sessions_left_in_any_order():
    first, second = _frames.Session(), _frames.Session()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    del first
    gc.collect()
    assert _sum_to(4) == 6
    assert second.counts["frames"] > 0
    second.__exit__()
    assert not _frames._is_hooked()


def test_skipped_code_is_left_to_cpython():
    def calls():
        return _sum_to(5)

    session = _frames.Session(skipped=[_sum_to.__code__])
    assert session.run(calls) == 10
    assert session.counts["entered"] == 0
    assert session.counts["instructions"] < 20


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_a_monitored_callee_is_left_to_cpython():
    seen = []
    monitoring = sys.monitoring
    monitoring.use_tool_id(4, "taeda")
    monitoring.register_callback(4, monitoring.events.PY_START, lambda *a: seen.append(a[1]))
    monitoring.set_local_events(4, _sum_to.__code__, monitoring.events.PY_START)
    try:
        _frames.Session().run(lambda: _sum_to(3))
    finally:
        monitoring.set_local_events(4, _sum_to.__code__, 0)
        monitoring.free_tool_id(4)
    assert seen == [0]


def test_a_version_to_come_is_refused_with_a_message(tmp_path):
    """What a build for CPython 3.14 gives: a module that says why it cannot be imported."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    library = tmp_path / f"_frames{suffix}"
    source = ROOT / "python" / "frames" / "refused.cpp"
    include = sysconfig.get_path("include")
    command = ["g++", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location("_frames", library)
    with pytest.raises(ImportError, match=r"know CPython 3\.11, 3\.12 and 3\.13; this is 3\."):
        importlib.util.module_from_spec(spec)


OTHER_VERSIONS = [
    version
    for version in ("3.11", "3.12", "3.13")
    if version != f"{sys.version_info[0]}.{sys.version_info[1]}"
]


def run_elsewhere(version, out, script, *arguments, sanitize=False):
    """Runs a script of this folder on another CPython, with the module built for it."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"no CPython {version} on this machine")
    build(python, out, sanitize)
    env = {**os.environ, "PYTHONPATH": str(out)}
    if sanitize:
        preload = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        env |= {
            "LD_PRELOAD": preload,
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",
        }
    command = [python, str(HERE / script), *arguments]
    return subprocess.run(command, env=env, cwd=HERE, capture_output=True, text=True)


@pytest.mark.full
@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_corpus_on_other_versions(version, tmp_path):
    done = run_elsewhere(version, tmp_path, "frames_proof.py", "--pairs", "6")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_cpython_tests_with_random_hand_backs(version, tmp_path):
    for seed in ("1", "2"):
        done = run_elsewhere(version, tmp_path, "frames_suites.py", "--seed", seed)
        if done.returncode == 2:
            pytest.skip(done.stdout.strip())
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_corpus_under_the_address_sanitizer(version, tmp_path):
    done = run_elsewhere(version, tmp_path, "frames_proof.py", "--pairs", "2", sanitize=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
