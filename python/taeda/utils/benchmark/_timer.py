"""Timer: runs a statement in blocks that are long beside the cost of the clock."""

import enum
import statistics
import textwrap
import timeit

import taeda
from taeda.utils.benchmark import _callgrind
from taeda.utils.benchmark._callgrind import CopyIfCallgrind
from taeda.utils.benchmark._cpp_statement import CppStatement
from taeda.utils.benchmark._measurement import Measurement, TaskSpec, set_torch_threads

_LARGEST_BLOCK = 2**31 - 1


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


def timer():
    """Seconds of a clock, after everything that an accelerator has been given is done."""
    if taeda.accelerator.is_available():
        taeda.accelerator.synchronize()
    return timeit.default_timer()


def _tidy(code):
    code = textwrap.dedent(code)
    return code.removeprefix("\n").rstrip()


class Timer:
    """Measures a statement on one thread, or on `num_threads`.

    Statements of Python find `torch` and `taeda` beside `globals`. Those of C++ (`language="c++"`)
    are compiled with the system's compiler; `global_setup` stands before the function.
    """

    _timer_cls = timeit.Timer

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language=Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        is_cpp = language in (Language.CPP, "cpp", "c++")
        if not is_cpp and language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup and not is_cpp:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        if is_cpp and setup == "pass":
            setup = ""
        stmt, setup = _tidy(stmt), _tidy(setup)
        self._globals = dict(globals or {})
        if is_cpp:
            self._timer = CppStatement(stmt, setup, global_setup, globals)
        else:
            names = {"torch": taeda, "taeda": taeda, **CopyIfCallgrind.unwrap_all(self._globals)}
            self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _timeit(self, number):
        return max(self._timer.timeit(number), 1e-9)  # a clock may not have moved

    def _result(self, number, times):
        return Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number=1000000):
        """One measurement of `number` runs, after some that are not counted."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._result(number, [self._timeit(number)])

    def repeat(self, repeat=-1, number=-1):
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback=None):
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time):
        """Runs per block, such that the clock is a ten thousandth of it."""
        overhead = statistics.median(self._timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            is_long = overhead / taken <= 1e-4 and taken >= min_run_time / 1000
            if is_long or taken > min_run_time or number * 10 > _LARGEST_BLOCK:
                return number
            number *= 10

    def _measure(self, min_run_time, max_run_time, is_enough, callback):
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            total, times = 0.0, []
            while total < min_run_time or not is_enough(number, times):
                times.append(self._timeit(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
                if max_run_time is not None and total > max_run_time:
                    break
        return self._result(number, times)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """As many blocks as fit into `min_run_time` seconds."""
        return self._measure(min_run_time, None, lambda number, times: True, callback)

    def adaptive_autorange(
        self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None
    ):
        """Blocks until the quartiles are nearer to each other than `threshold` of the median."""

        def is_enough(number, times):
            return len(times) > 3 and self._result(number, times).meets_confidence(threshold)

        return self._measure(min_run_time, max_run_time, is_enough, callback)

    def collect_callgrind(
        self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False
    ):
        """The instructions of `number` runs, counted by valgrind; a tuple where `repeats` is given.

        The statement runs in another process. Globals are copied there and must be wrapped in
        `CopyIfCallgrind`. The baseline is as many empty statements.
        """
        if repeats is not None and repeats < 1:
            raise ValueError("If specified, `repeats` must be >= 1")
        if isinstance(self._timer, CppStatement):
            raise NotImplementedError("instructions of statements of C++ are not counted")
        self._timeit(1)  # an error is better seen here
        found = _callgrind.collect(
            self._task_spec,
            self._globals,
            number=number,
            repeats=repeats or 1,
            collect_baseline=collect_baseline,
            retain_out_file=retain_out_file,
        )
        return found[0] if repeats is None else found
