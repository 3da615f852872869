"""`./run bench --peers` without PyTorch: options, turns, workers, the table's arithmetic."""

import re
import sys
from argparse import Namespace

import pytest
from side_by_side import kernels, micro, models, start
from side_by_side.arguments import MODELS, SECTIONS, parse
from side_by_side.networks import networks
from side_by_side.table import as_json, lines_of, text
from side_by_side.turns import later, lines, turns
from side_by_side.worker import chosen, figures


def test_options():
    options = parse(["--sections", "micro,kernels", "--rows", "^add"])
    assert options.sections == ["micro", "kernels"] and options.rows.search("add_us")
    assert options.frameworks == ["taeda", "torch"] and options.modes == ["eager", "compile"]
    assert parse([]).sections == list(SECTIONS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--sections", "micro,tiny"], "unknown 'tiny'; known are start, micro, kernels, models"),
        (["--rows", "["], "'[' is no regular expression"),
        (["--rounds", "0"], "expected at least 1 round"),
        (["--rounds", "two"], "expected a number of at least 0, got 'two'"),
        (["--dtype", "int8"], "invalid choice: 'int8'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        parse(arguments)
    printed = capsys.readouterr().err
    assert stopped.value.code == 2 and message in printed
    assert printed.startswith("./run bench --peers: ") and printed.count("\n") == 1


def test_frameworks_take_turns_and_start_has_one_round():
    options = Namespace(sections=["start", "micro"], rounds=2, frameworks=["taeda", "torch"])
    assert turns(options) == [
        ("start", 0, "taeda"),
        ("start", 0, "torch"),
        ("micro", 0, "taeda"),
        ("micro", 0, "torch"),
        ("micro", 1, "taeda"),
        ("micro", 1, "torch"),
    ]


def test_a_first_call_in_a_later_process_is_warm():
    assert later("compile_first_ms") == "compile_warm_ms"
    assert later("gpt2_infer_b4_compile_settled_first_s") == "gpt2_infer_b4_compile_settled_warm_s"
    assert later("add_us") == "add_us"


def test_rows_choose_cases():
    cases = iter([("add_us", float), ("sum_us", float), ("add_grad_us", float)])
    options = Namespace(rows=re.compile("^add"))
    assert [name for name, _ in chosen(cases, options)] == ["add_us", "add_grad_us"]


def test_a_case_that_cannot_run_is_a_row_of_its_own():
    def missing():
        raise AttributeError("no conv2d\nin this build")

    assert figures("conv_ms", missing) == {"conv_ms_error": "AttributeError: no conv2d"}
    assert figures("sum_ms", lambda: 2.0) == {"sum_ms": 2.0}
    assert figures("import", lambda: {"import_ms": 3.0}) == {"import_ms": 3.0}


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("print('chatter'); print('[\"add_us\", 0.5]')", [("add_us", 0.5)]),
        (
            "print('[\"a\", 1]'); 1 / 0",
            [("a", 1), ("micro_failed", "ZeroDivisionError: division by zero")],
        ),
        ("import sys; sys.exit(3)", [("micro_failed", "exit 3")]),
    ],
)
def test_what_workers_print(program, found, tmp_path):
    assert list(lines([sys.executable, "-c", program], tmp_path, "micro")) == found


FIGURES = {
    "add_us": {"taeda": [1.0, 3.0], "torch": [4.0, 4.0]},
    "mm_float32_gflops": {"taeda": [50.0], "torch": [100.0]},
    "conv_ms": {"torch": [7.0]},
    "conv_ms_error": {"taeda": ["AttributeError: no conv2d", "AttributeError: no conv2d"]},
}


def test_medians_and_ratios():
    table = as_json(lines_of(FIGURES, ["taeda", "torch"]), ["taeda", "torch"])
    assert table["add_us"] == {"taeda": 2.0, "torch": 4.0, "ratio": 0.5}
    assert table["mm_float32_gflops"]["ratio"] == 2.0
    assert table["conv_ms"] == {"taeda": None, "torch": 7.0, "ratio": None}
    assert table["conv_ms_error"]["taeda"] == "AttributeError: no conv2d"


def test_the_table():
    printed = text(lines_of(FIGURES, ["taeda", "torch"]), ["taeda", "torch"]).splitlines()
    assert printed[0].split() == ["case", "taeda", "torch", "ratio"]
    assert printed[1].split() == ["add_us", "2.000", "4.000", "0.50"]
    assert printed[3].split() == ["conv_ms", "-", "7.000"]
    assert printed[4].split()[:2] == ["conv_ms_error", "AttributeError:"]
    assert printed[-1] == "2 compared, 1 at or ahead; geometric mean ratio 1.00"


def test_one_framework_alone_has_no_ratio():
    printed = text(lines_of({"add_us": {"taeda": [1.0]}}, ["taeda"]), ["taeda"])
    assert printed.splitlines()[1:] == [f"{'add_us':44}{1:14.3f}{'':10}"]


def test_the_installed_size_counts_files_behind_links_once(tmp_path):
    source, package = tmp_path / "source", tmp_path / "package"
    (source / "__pycache__").mkdir(parents=True)
    package.mkdir()
    (source / "a.py").write_text("12345")
    (source / "__pycache__" / "a.pyc").write_text("x" * 1000)
    (package / "part").symlink_to(source)
    (package / "a.py").symlink_to(source / "a.py")
    (package / "lib.so").write_text("123")
    assert start.installed_bytes(package) == 8


def test_every_section_has_cases_of_distinct_names():
    import taeda

    options = parse(["--modes", "eager"])
    for section in (start, micro, kernels, models):
        names = [name for name, _ in section.cases(taeda, options)]
        assert names and len(set(names)) == len(names)
    assert set(networks(taeda)) == set(MODELS)
    assert [name for name, _ in models.cases(taeda, parse(["--models", "mlp"]))][:2] == [
        "mlp_infer1_b1_eager",
        "mlp_infer1_b1_compile",
    ]
