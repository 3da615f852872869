"""`./run parity`: options, verdicts, the summary, processes that crash or hang, carried tensors."""

import json
import os
import signal
import time
from types import SimpleNamespace

import pytest
from parity.arguments import parse
from parity.bridge import Bridge
from parity.counterparts import named
from parity.isolation import isolated
from parity.refusals import other_refusal
from parity.report import Row, Tally, Verdict, as_json, is_to_come, slowest, summary

import taeda


def test_options():
    options = parse(["--only", "^add$", "--dtypes", "bool,float32,bool", "--samples", "0"])
    assert options.only.search("add") and not options.only.search("addmm")
    assert options.dtypes == ["bool", "float32"] and options.samples == 0
    assert options.grad and not options.errors and not options.built
    assert parse([]).dtypes == ["float32", "int64"] and parse(["--no-grad"]).grad is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--dtypes", "float32,float31"], "unknown 'float31'; known are float64, float32"),
        (["--only", "("], "'(' is no regular expression"),
        (["--samples", "-1"], "expected a number of at least 0, got '-1'"),
        (["--timeout", "0"], "expected seconds above 0, got '0'"),
        (["--json", "no/such/folder/out.json"], "cannot write 'no/such/folder/out.json'"),
        (["--phrases"], "--phrases needs --errors"),
    ],
)
def test_wrong_options_are_refused_in_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        parse(arguments)
    printed = capsys.readouterr().err
    assert stopped.value.code == 2 and message in printed
    assert printed.startswith("./run parity: ") and printed.count("\n") == 1


def test_a_tally_keeps_the_first_reason():
    tally = Tally("float32")
    for index, difference in enumerate([None, "values differ", None, "shape (1,)"]):
        tally.add(f"sample {index}", difference)
    assert tally.row() == Row("float32", 2, 2, "sample 1: values differ")


def test_verdicts_and_summary():
    passed = Verdict.of("add", [Row("float32", 10, 0, None), Row("int64", 5, 0, None)])
    part = Verdict.of("exp", [Row("float32", 3, 0, None), Row("int64", 1, 2, "sample 0: no")])
    failed = Verdict.of("qr:thin", [Row.failed("float32", "missing: qr")])
    assert str(passed) == "pass add 15/15"
    assert str(part) == "part exp 4/6 int64 sample 0: no"
    assert str(failed) == "fail qr:thin 0/1 float32 missing: qr"
    assert Verdict.of("angle", [Row("int64", 0, 0, None)]) is None
    verdicts = [passed, part, failed]
    assert summary(verdicts) == "records: 1 pass, 1 part, 1 fail of 3 (33.3 %); samples 19/22"
    assert summary([]) == "records: 0 pass, 0 part, 0 fail of 0 (0.0 %); samples 0/0"
    assert json.loads(json.dumps(as_json(verdicts)))[1] == {
        "op": "exp",
        "verdict": "part",
        "good": 4,
        "bad": 2,
        "why": "int64 sample 0: no",
        "fallbacks": [],
        "seconds": 0.0,
    }


def test_fallbacks_and_time():
    rows = [Row("float32", 2, 0, None, ["sort", "histc"]), Row("int64", 1, 0, None, ["histc"])]
    quick, slow = Verdict.of("add", [Row("int64", 1, 0, None)], 0.25), Verdict.of("a", rows, 3.125)
    assert slow.fallbacks == ["histc", "sort"] and quick.fallbacks == []
    assert summary([quick]).endswith("samples 1/1")
    assert summary([quick, slow]).endswith("samples 4/4; 1 records with fallbacks (50.0 %)")
    assert slowest([quick, slow]) == "slowest: a 3.1 s, add 0.2 s"
    assert slowest([quick, slow], 1) == "slowest: a 3.1 s"


def test_what_is_to_come():
    assert is_to_come(NotImplementedError("'nuc' needs singular values, which are not there yet"))
    assert not is_to_come(NotImplementedError("not implemented for 'Long'"))
    assert not is_to_come(RuntimeError("not there yet"))


def test_rows_come_out_of_a_process_of_their_own():
    rows = [Row("float32", 1, 0, None), Row("int64", 0, 1, str(os.getpid()))]
    assert isolated(lambda: rows, timeout=60) == rows
    assert isolated(lambda: [Row("pid", os.getpid(), 0, None)], 60)[0].good != os.getpid()


@pytest.mark.parametrize(
    ("work", "timeout", "why"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), 60, "crashed with signal 9"),
        (lambda: time.sleep(60), 0.1, "no answer in 0.1 s"),
        (lambda: 1 // 0, 60, "ZeroDivisionError: integer division or modulo by zero"),
        (lambda: exit(3), 60, "SystemExit: 3"),
    ],
)
def test_what_breaks_off_is_a_row(work, timeout, why):
    assert isolated(work, timeout) == [Row("all", 0, 1, why)]


def test_refusals():
    error = IndexError("Dimension out of range (got 3)")
    assert other_refusal(error, (IndexError, RuntimeError), "out of range") is None
    assert other_refusal(error, (LookupError,), "") is None
    wrong = other_refusal(error, (TypeError,), "")
    assert wrong == "IndexError, expected TypeError: Dimension out of range (got 3)"
    assert other_refusal(error, (IndexError,), "no such").startswith("phrase 'no such' not in")


def test_tensors_share_memory_as_in_the_sample_and_only_so(torch):
    base = torch.arange(6.0)
    sample = SimpleNamespace(input=base[1:4], args=[base.view(2, 3).t()], kwargs={"out": base})
    value, (transposed,), kwargs = Bridge(torch, taeda).call_of(sample)
    assert value.tolist() == [1, 2, 3] and transposed.stride() == (1, 3)
    value.fill_(9)
    assert transposed.tolist() == [[0, 9], [9, 4], [9, 5]] and kwargs["out"][3].item() == 9
    assert base.tolist() == [0, 1, 2, 3, 4, 5]


def test_tensors_that_are_made_on_the_way_stay_apart(torch):
    """A conjugated view is carried out first, and the next one must not take its place."""
    bridge = Bridge(torch, taeda)
    views = [torch.full((250,), complex(i, 1)).conj() for i in range(20)]
    _, carried, _ = bridge.call_of(SimpleNamespace(input=None, args=views, kwargs={}))
    assert [x[0].item() for x in carried] == [complex(i, -1) for i in range(20)]


def test_dotted_names():
    root = SimpleNamespace(nn=SimpleNamespace(functional=SimpleNamespace(relu=abs)))
    assert named(root, "nn.functional.relu") is abs
    with pytest.raises(AttributeError):
        named(root, "nn.relu")
