"""utils.benchmark: what a measurement says of its times, and tables of several."""

import shutil

import pytest
from under_test import t

benchmark = pytest.importorskip(f"{t.__name__}.utils.benchmark")
Compare, Measurement, TaskSpec, Timer = (
    benchmark.Compare,
    benchmark.Measurement,
    benchmark.TaskSpec,
    benchmark.Timer,
)


def measured(times, number=1, **spec):
    return Measurement(number, times, TaskSpec(**{"stmt": "x + y", "setup": "pass", **spec}))


WIDE = measured(
    [1e-6, 1.1e-6, 1.2e-6, 1.05e-6, 3e-6], label="add", sub_label="small", description="a"
)
NARROW = measured(
    [2.3e-6, 2.2e-6, 2.25e-6, 2.21e-6, 2.2e-6], label="add", sub_label="small", description="bb"
)
LARGE = measured([7e-5] * 5, label="add", sub_label="large one", description="a")
THREADS = measured([9e-6] * 5, label="add", sub_label="large one", description="a", num_threads=4)


def test_statistics():
    assert WIDE.median == pytest.approx(1.1e-6) and WIDE.mean == pytest.approx(1.47e-6)
    assert WIDE.iqr == pytest.approx(1.5e-7)
    assert WIDE.has_warnings and not NARROW.has_warnings
    assert [m.significant_figures for m in (WIDE, NARROW, LARGE)] == [1, 1, 3]
    assert measured([4.0, 2.0], number=2).times == [2.0, 1.0]
    assert LARGE.num_threads == 1 and LARGE.sub_label == LARGE.as_row_name == "large one"
    with pytest.raises(AttributeError, match="nothing"):
        _ = LARGE.nothing


def test_printed_form():
    assert "\n".join(repr(WIDE).splitlines()[1:]) == (
        "add: small\n"
        "a\n"
        "  Median: 1.10 us\n"
        "  IQR:    0.15 us (1.05 to 1.20)\n"
        "  5 measurements, 1 runs per measurement, 1 thread\n"
        "  WARNING: Interquartile range is 13.6% of the median measurement.\n"
        "           This could indicate system fluctuation."
    )
    single = measured([1.0], number=10, stmt="a\nb", setup="c\nd", sub_label="q", num_threads=2)
    assert "\n".join(repr(single).splitlines()[1:]) == (
        "stmt: (q)\n  a\n  b\n\nsetup:\n  c\n  d\n\n  100.00 ms\n  1 measurement, 10 runs , 2 threads"
    )


def test_table():
    table = Compare([WIDE, NARROW, LARGE, THREADS])
    assert str(table) == (
        "[------------ add -------------]\n"
        "                 |   a    |   bb\n"
        "1 threads: ---------------------\n"
        "      small      |   1.1  |  2.2\n"
        "      large one  |  70.0  |     \n"
        "4 threads: ---------------------\n"
        "      large one  |   9.0  |     \n"
        "\n"
        "Times are in microseconds (us).\n"
    )
    table.trim_significant_figures()
    table.highlight_warnings()
    assert "(! 14%)" in str(table) and "high variance" in str(table)
    table.colorize()
    assert "\033[92m" in str(table)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([3])


def test_merging():
    (merged,) = Measurement.merge([measured([2.0], number=2), measured([3.0], number=1)])
    assert merged.raw_times == [1.0, 3.0] and merged.number_per_run == 1


def test_units():
    assert benchmark.select_unit(5e-9) == ("ns", 1e-9)
    assert benchmark.select_unit(2e-3) == ("ms", 1e-3)
    assert benchmark.select_unit(30)[0] == "s"
    assert benchmark.unit_to_english("us") == "microsecond"
    assert benchmark.trim_sigfig(314.159, 2) == pytest.approx(310, rel=1e-6)
    assert benchmark.ordered_unique([2, 1, 2]) == [2, 1]


def test_timer():
    threads = t.get_num_threads()
    found = Timer("y = x + 1", globals={"x": t.ones(2)}, label="add").timeit(50)
    assert found.number_per_run == 50 and len(found.raw_times) == 1 and found.median > 0
    calls = []
    found = Timer("torch.ones(2)").blocked_autorange(
        lambda n, s: calls.append(n), min_run_time=0.01
    )
    assert len(calls) == len(found.raw_times) and sum(found.raw_times) >= 0.01
    assert len(Timer("pass").adaptive_autorange(max_run_time=0.05).raw_times) >= 1
    assert t.get_num_threads() == threads


def test_timer_refusals():
    with pytest.raises(ValueError, match="only a `str` stmt"):
        Timer(lambda: 1)
    with pytest.raises(ValueError, match="global_setup is C"):
        Timer("1", global_setup="int x;")
    with pytest.raises(ValueError, match="Invalid language"):
        Timer("1", language="ada")
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        Timer("1").repeat()


FuzzedParameter, FuzzedTensor, Fuzzer = (
    benchmark.FuzzedParameter,
    benchmark.FuzzedTensor,
    benchmark.Fuzzer,
)


def fuzzer(**options):
    return Fuzzer(
        [
            FuzzedParameter("rows", 1, 64, "uniform"),
            [FuzzedParameter("columns", 4, 1024, "loguniform")],
            FuzzedParameter("scale", 0.5, 2, "uniform"),
            FuzzedParameter("step", 1, 3, "uniform", strict=True),
        ],
        [
            FuzzedTensor(
                "x",
                ("rows", "columns"),
                steps=("step", 2),
                max_elements=5000,
                probability_contiguous=0.3,
            ),
            [FuzzedTensor("i", (4, "rows"), dtype=t.int16)],
        ],
        **options,
    )


def test_fuzzed_sizes_are_those_of_the_seed():
    found = list(fuzzer(seed=7).take(3))
    assert [(p["rows"], p["columns"], p["step"]) for _, _, p in found] == [
        (26, 23, 1),
        (43, 17, 1),
        (56, 19, 1),
    ]
    tensors, properties, parameters = found[0]
    assert parameters["scale"] == pytest.approx(1.9673343456178736)
    assert tensors["x"].shape == (26, 23) and tensors["x"].stride() == (1, 52)
    assert tensors["i"].dtype == t.int16 and tensors["i"].min() >= 1
    assert list(properties["x"]["order"]) == [1, 0] and properties["x"]["numel"] == 26 * 23
    assert properties["x"]["steps"] == (1, 2) and not properties["x"]["is_contiguous"]


def test_fuzzed_tensors_meet_their_bounds():
    few = fuzzer(seed=1, constraints=[lambda params: params["rows"] > 32])
    for tensors, _, parameters in few.take(20):
        assert tensors["x"].numel() <= 5000 and parameters["rows"] > 32
    assert 0 < few.rejection_rate < 1
    impossible = Fuzzer(
        [FuzzedParameter("n", 1, 3, "uniform")],
        [FuzzedTensor("x", ("n",), min_elements=9)],
        seed=1,
    )
    with pytest.raises(ValueError, match="Failed to generate a set of valid parameters"):
        next(impossible.take(1))


def test_fuzzed_dimensions():
    made = Fuzzer(
        [FuzzedParameter("dim", 1, 4, "uniform"), FuzzedParameter("n", 2, 5, "uniform")],
        [FuzzedTensor("x", ("n", 3), dim_parameter="dim")],
        seed=2,
    )
    for tensors, _, params in made.take(10):
        assert tensors["x"].shape == ((params["n"], 3, 1, 1)[: params["dim"]])


@pytest.mark.skipif(t.__name__ != "taeda", reason="PyTorch refuses probabilities that sum to one")
def test_fuzzed_choices_and_aliases():
    alias = benchmark.ParameterAlias
    made = Fuzzer(
        [
            FuzzedParameter("x", 2, 9, "uniform"),
            FuzzedParameter("y", distribution={1: 0.5, alias("x"): 0.5}),
        ],
        [FuzzedTensor("a", ("x",)), FuzzedTensor("b", ("y",))],
        seed=3,
    )
    sizes = [(t["a"].shape[0], t["b"].shape[0]) for t, _, _ in made.take(20)]
    assert all(y in (1, x) for x, y in sizes) and len({y == 1 for _, y in sizes}) == 2
    circle = FuzzedParameter("x", distribution={alias("y"): 1.0})
    back = FuzzedParameter("y", distribution={alias("x"): 1.0})
    with pytest.raises(ValueError, match="ParameterAlias cycle detected"):
        next(Fuzzer([circle, back], []).take(1))
    for distribution, message in (
        ({1: -0.5, 2: 1.5}, "cannot be negative"),
        ({1: 0.5}, "not normalized"),
        ("normal", "Unknown distribution: normal"),
    ):
        with pytest.raises(AssertionError, match=message):
            FuzzedParameter("x", distribution=distribution)


def test_fuzzed_names_are_names_of_one_thing():
    with pytest.raises(ValueError, match="Duplicate names in parameters and tensors"):
        Fuzzer([FuzzedParameter("x", 1, 2, "uniform")], [FuzzedTensor("x", ("x",))])


@pytest.mark.slow
def test_statements_of_cpp(tmp_path, monkeypatch):
    monkeypatch.setenv("TAEDA_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    timed = Timer(
        "counter += x.sum().item<int64_t>(); std::this_thread::sleep_for(wait);",
        "auto x = torch::ones({3}); int64_t counter = 0; std::chrono::milliseconds wait(2);",
        "#include <thread>",
        language="c++",
    )
    assert 2e-3 <= timed.timeit(5).median < 1
    with pytest.raises(RuntimeError, match="no_such_name"):
        Timer("no_such_name();", language="cpp").timeit(1)
    with pytest.raises(ValueError, match="C\\+\\+ timing does not support globals"):
        Timer("x;", globals={"x": 1}, language=benchmark.Language.CPP)
    with pytest.raises(ValueError, match="global_setup is C\\+\\+ only"):
        Timer("x", global_setup="int x;")


# ---- instructions ----
def counted(*rows, inclusive=False):
    rows = tuple(benchmark.FunctionCount(*row) for row in rows)
    return benchmark.FunctionCounts(rows, inclusive)


def test_counts_of_functions():
    before = counted((30, "a.c:f [lib.so]"), (20, "b.c:g"), (1, "dictobject.c:lookdict_unicode"))
    after = counted((35, "a.c:f [lib.so]"), (20, "b.c:g"))
    assert before.sum() == 51 and before.denoise().sum() == 50 and len(before) == 3
    assert list(after - before) == [
        (5, "a.c:f [lib.so]"),
        (-1, "dictobject.c:lookdict_unicode"),
    ]
    assert (after + before)[0].count == 65
    assert (after * 2).sum() == 110
    assert before.transform(lambda name: name[0])[0] == (30, "a")
    assert before.filter(lambda name: "g" in name).sum() == 20
    assert [row.function for row in before[1:]] == ["b.c:g", "dictobject.c:lookdict_unicode"]
    with pytest.raises(AssertionError, match="inclusive and exclusive"):
        before + counted(inclusive=True)


def test_printed_counts():
    few = counted((1200, "a.c:f"), (-7, "b.c:" + "g" * 90))
    first, second, _, total = repr(few).splitlines()[1:]
    assert (first, total) == ("  1200  a.c:f", "Total: 1193")
    assert second.startswith("    -7  b.c:ggg") and " ... " in second and len(second) <= 80
    many = repr(counted(*((100 - i, f"f{i}") for i in range(40))))
    assert "..." in many and "f20" not in many and "f39" in many


def test_globals_of_counted_statements():
    with pytest.raises(ValueError, match="requires that globals be wrapped in `CopyIfCallgrind`"):
        Timer("x", globals={"x": 1}).collect_callgrind()
    with pytest.raises(ValueError, match="restricts globals to the following types"):
        benchmark.CopyIfCallgrind(t.ones(1))
    with pytest.raises(ValueError, match="`repeats` must be >= 1"):
        Timer("1").collect_callgrind(repeats=0)
    wrapped = benchmark.CopyIfCallgrind(3)
    assert Timer("assert x == 3", globals={"x": wrapped}).timeit(1).times


def test_counting_needs_valgrind(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match="Missing: valgrind, callgrind_annotate"):
        Timer("1").collect_callgrind()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_instructions_of_statements():
    wrapped = {"n": benchmark.CopyIfCallgrind(64)}
    few = Timer("x.add(x)", "x = torch.ones(n)", globals=wrapped)
    # In the first one the interpreter still learns about the code.
    _, few, again = few.collect_callgrind(number=20, repeats=3)
    more = Timer("x.add(x); x.add(x)", "x = torch.ones(64)").collect_callgrind(number=20)
    base = few.baseline_exclusive_stats.sum()
    assert 0 < base < few.counts()
    assert again.counts() == pytest.approx(few.counts(), rel=0.15)
    assert base < 10_000 and few.counts() < 500_000  # nothing around the statements is counted
    assert more.counts() - base == pytest.approx(2 * (few.counts() - base), rel=0.15)
    assert more.delta(few).sum() == more.counts() - few.counts()
    assert "Instructions:" in repr(few) and "20 runs per measurement, 1 thread" in repr(few)
