"""Compiled programs that log or print: levels are guarded, settings leave calls out or behind."""

import importlib
import io
import logging
import os
import warnings

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
dynamo = importlib.import_module(f"{NAME}._dynamo")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

X = t.ones(3)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()
    counters.clear()


def make_logger(name):
    made = logging.Logger(name) if name == "unknown" else logging.getLogger(name)
    made.propagate = False
    made.handlers.clear()
    made.setLevel(logging.INFO)
    made.text = io.StringIO()
    handler = logging.StreamHandler(made.text)
    handler.setFormatter(logging.Formatter("%(levelname)s %(funcName)s %(lineno)d %(message)s"))
    made.addHandler(handler)
    return made


@pytest.fixture
def logger():
    return make_logger("tested.child")


def test_a_record_is_one_break_and_names_its_line(logger):
    def f(x):
        y = x + 1
        logger.info("shape %s", tuple(y.shape))
        return y * 2

    compiled = t.compile(f, backend="eager")
    for _ in range(2):
        assert t.equal(compiled(X), f(X))
    assert sum(counters["graph_break"].values()) == 1, dict(counters["graph_break"])
    line = f.__code__.co_firstlineno + 2
    assert logger.text.getvalue() == f"INFO f {line} shape (3,)\n" * 4


# A logger that no manager knows goes on as it began, in plain Python, too.
@pytest.mark.parametrize("name", ["tested.child", "unknown"])
def test_a_level_that_changes_is_noticed(name):
    def texts(compile_function):
        logger = make_logger(name)
        parent = logging.getLogger("tested")
        logger.parent = parent

        def f(x):
            logger.info("told")
            return x + 1

        f = compile_function(f)
        told = []
        changes = (
            lambda: logger.setLevel(logging.ERROR),
            lambda: logger.setLevel(logging.INFO),
            lambda: logger.setLevel(logging.ERROR),
            lambda: (logger.setLevel(logging.NOTSET), parent.setLevel(logging.ERROR)),
            lambda: parent.setLevel(logging.INFO),
            lambda: logging.disable(logging.INFO),
            lambda: logging.disable(logging.NOTSET),
            lambda: setattr(logger, "disabled", True),
            lambda: setattr(logger, "disabled", False),
        )
        for change in changes:
            change()
            f(X)
            told.append(logger.text.getvalue().count("told"))
        return told

    plain = texts(lambda f: f)
    assert texts(lambda f: t.compile(f, backend="eager")) == plain
    assert plain == ([0, 1, 1, 1, 2, 2, 3, 3, 4] if name == "tested.child" else [0] * 9)


def test_a_call_below_the_level_is_captured(logger):
    logger.setLevel(logging.ERROR)

    def f(x):
        logger.info("told %s", x)
        return x + 1

    compiled = t.compile(f, backend="eager", fullgraph=True)
    for _ in range(3):
        compiled(X)
    assert logger.text.getvalue() == "" and counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("setting", ["ignore_logging_functions", "ignore_logger_methods"])
def test_ignored_functions_are_not_called(logger, setting):
    other = logging.Logger("other")
    other.addHandler(logging.StreamHandler(logger.text))

    def note(x):
        raise AssertionError("called")

    def f(x):
        note(x)
        logger.info("sum %s", x.sum())
        other.warning("a warning")
        return x + 1

    with dynamo.config.patch({setting: {note, logger.info, logging.Logger.warning}}):
        compiled = t.compile(f, backend="eager", fullgraph=True)
        assert t.equal(compiled(X), X + 1)
    assert logger.text.getvalue() == ""


def test_a_method_of_one_logger_is_ignored(logger):
    other = logging.Logger("other")
    other.addHandler(logging.StreamHandler(logger.text))

    def f(x):
        logger.info("ignored")
        other.info("told")
        return x + 1

    with dynamo.config.patch(ignore_logging_functions={logger.info}):
        t.compile(f, backend="eager")(X)
    assert logger.text.getvalue() == "told\n"
    assert sum(counters["graph_break"].values()) == 1


def test_reorderable_functions_are_called_behind_the_graph(capsys):
    told = []

    def note(*values, end=""):
        told.append((values, end))

    def f(x, n):
        y = x * n
        print("y is", y, n, sep=": ")
        note(y, (n, "a"), end="!")
        return y + 1

    with dynamo.config.patch(reorderable_logging_functions={print, note}):
        compiled = t.compile(f, backend="eager", fullgraph=True)
        for n in (2, 3):
            assert t.equal(compiled(X, n), X * n + 1)
            assert capsys.readouterr().out == f"y is: {X * n}: {n}\n"
            ((y, rest), end) = told.pop()
            assert t.equal(y, X * n) and rest == (n, "a") and end == "!"
    assert not counters["graph_break"]


def test_a_call_behind_the_graph_that_raises_is_made_once():
    told = []

    def note(y):
        told.append(y.tolist())
        raise OSError("the disk is full")

    def f(x):
        note(x + 1)
        return x * 2

    with dynamo.config.patch(reorderable_logging_functions={note}):
        compiled = t.compile(f, backend="eager", fullgraph=True)
        for calls in (1, 2):
            with pytest.raises(OSError, match="disk is full"):
                compiled(X)
            assert told == [[2.0, 2.0, 2.0]] * calls


def test_reordered_values_that_may_change_are_a_break(capsys):
    def f(x):
        values = [1]
        print(values)
        values.append(2)
        return x + len(values)

    with dynamo.config.patch(reorderable_logging_functions={print}):
        assert t.equal(t.compile(f, backend="eager")(X), X + 2)
    assert capsys.readouterr().out == "[1]\n"
    assert sum(counters["graph_break"].values()) == 1


def test_warnings_stay_those_of_their_lines():
    def f(x):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return x + 1

    patched = dynamo.config.patch(reorderable_logging_functions={warnings.warn})
    with patched, pytest.warns(DeprecationWarning, match="old") as told:
        t.compile(f, backend="eager", fullgraph=True)(X)
    assert [one.lineno for one in told] == [f.__code__.co_firstlineno + 1]


def test_the_remedy_of_a_break_names_the_settings(logger):
    def f(x):
        logger.info("told")
        return x + 1

    with pytest.raises(dynamo.exc.Unsupported, match="reorderable_logging_functions"):
        t.compile(f, backend="eager", fullgraph=True)(X)


def test_exports_leave_logs_out(logger, capsys):
    export = importlib.import_module(f"{NAME}.export").export

    class Model(nn.Module):
        def forward(self, x):
            logger.info("told")
            return x + 1

    class Printing(Model):
        def forward(self, x):
            print("told")
            logging.warning("told")
            return super().forward(x)

    assert t.equal(dynamo.export(Model())(X).graph_module(X), X + 1)
    with pytest.raises(dynamo.exc.Unsupported, match="call of print"):
        dynamo.export(Printing())(X)
    for model in (Model(), Printing()):
        assert t.equal(export(model, (X,), strict=True).module()(X), X + 1)
    assert logger.text.getvalue() == capsys.readouterr().out == ""
    assert not dynamo.config.ignore_logging_functions
