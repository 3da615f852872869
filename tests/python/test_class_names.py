"""Public classes say PyTorch's module as their home, also where a private file defines them."""

import copy
import importlib
import inspect
import pickle
import subprocess
import sys

import pytest
from under_test import NAME, t

AREAS = ("nn", "optim", "optim.lr_scheduler", "distributions", "utils.data", "nn.utils.prune")


def _area(package, name):
    return importlib.import_module(f"{package.__name__}.{name}")


def _classes(package, area):
    """The public classes of a module that the package defines, by name."""
    return {
        name: value
        for name, value in vars(_area(package, area)).items()
        if isinstance(value, type)
        and not name.startswith("_")
        and value.__module__.split(".")[0] == package.__name__
    }


def _is_private(module):
    return any(part.startswith("_") for part in module.split("."))


@pytest.mark.skipif(NAME != "taeda", reason="about where Taeda's code lies")
@pytest.mark.parametrize("area", AREAS)
def test_no_public_class_names_a_private_module(area):
    classes = _classes(t, area)
    assert len(classes) > 5
    assert [name for name, cls in classes.items() if _is_private(cls.__module__)] == []


@pytest.mark.parametrize("area", AREAS)
def test_classes_have_the_module_that_pytorch_has(torch, area):
    own = {name: cls.__module__.partition(".")[2] for name, cls in _classes(t, area).items()}
    theirs = {name: cls.__module__.partition(".")[2] for name, cls in _classes(torch, area).items()}
    shared = own.keys() & theirs.keys()
    assert len(shared) > 5
    assert {n: own[n] for n in shared} == {n: theirs[n] for n in shared}


@pytest.mark.parametrize("area", AREAS)
def test_a_class_is_found_at_its_home(area):
    for name, cls in _classes(t, area).items():
        assert pickle.loads(pickle.dumps(cls)) is cls, name
        assert copy.deepcopy(cls) is cls
        assert inspect.getmodule(cls) is sys.modules[cls.__module__], name
        assert repr(cls) == f"<class '{cls.__module__}.{cls.__qualname__}'>"


@pytest.mark.skipif(NAME != "taeda", reason="about `taeda run`")
def test_under_another_name_of_the_package():
    code = (
        "import torch\n"
        "print(torch.nn.Softmax.__module__, torch.nn.LSTMCell.__module__,\n"
        "      torch.optim.lr_scheduler.StepLR.__module__, torch.return_types.topk.__module__)"
    )
    command = [sys.executable, "-m", "taeda", "run", "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [
        "torch.nn.modules.activation",
        "torch.nn.modules.rnn",
        "torch.optim.lr_scheduler",
        "torch.return_types",
    ]


def test_return_types_are_there_before_a_call():
    code = (
        f"import {NAME} as t\n"
        "kinds = [t.return_types.max, t.return_types.linalg_qr, t.return_types.lu_unpack]\n"
        "print(*(kind.__name__ for kind in kinds), t.ones(2).max(0).__class__ is kinds[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["max", "linalg_qr", "lu_unpack", "True"]


def test_a_return_type_of_no_operator():
    with pytest.raises(AttributeError, match="has no attribute 'relu'"):
        t.return_types.relu  # noqa: B018


def _is_result(name, value):
    return isinstance(value, type) and issubclass(value, tuple) and value.__name__ == name


def test_every_operator_with_named_results_has_its_return_type(torch):
    def operator(name):
        is_linalg = name.startswith("linalg_")
        own_name = name.removeprefix("linalg_").removesuffix("_out")
        return getattr(t.linalg if is_linalg else t, own_name, None)

    theirs = {name: v for name, v in vars(torch.return_types).items() if _is_result(name, v)}
    shared = [name for name in theirs if not name.startswith("_") and operator(name)]
    assert len(shared) > 40
    own = {name: getattr(t.return_types, name) for name in shared}
    assert {n: own[n].__match_args__ for n in shared} == {
        n: theirs[n].__match_args__ for n in shared
    }


def test_results_with_out_have_their_own_type():
    values = t.empty(2), t.empty(2, dtype=t.int64)
    result = t.topk(t.ones(3), 2, out=values)
    assert type(result) is t.return_types.topk_out and result.values is values[0]


def test_results_are_copied_and_pickled():
    names = [n for n in dir(t.return_types) if _is_result(n, getattr(t.return_types, n))]
    assert len(names) > 40
    for name in names:
        cls = getattr(t.return_types, name)
        value = cls(range(cls.n_fields))
        for again in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
            assert type(again) is cls and again == value
        assert repr(cls) == f"<class '{NAME}.return_types.{name}'>"
        assert repr(value).startswith(f"torch.return_types.{name}(\n")


@pytest.mark.parametrize("command", [["-c"], ["-m", "taeda", "run", "-c"]])
@pytest.mark.skipif(NAME != "taeda", reason="about `taeda run`")
def test_a_fresh_process_reads_pickled_results(command, tmp_path):
    package = NAME if command == ["-c"] else "torch"
    path = str(tmp_path / "result.pkl")
    write = (
        f"import pickle, {package} as t\npickle.dump(t.arange(3.0).topk(2), open({path!r}, 'wb'))"
    )
    read = f"import pickle\nv = pickle.load(open({path!r}, 'rb'))\nprint(type(v), v.values.sum())"
    for code in (write, read):
        done = subprocess.run(
            [sys.executable, *command, code], check=True, capture_output=True, text=True
        )
    assert done.stdout == f"<class '{package}.return_types.topk'> tensor(3.)\n"
