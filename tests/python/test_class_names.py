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


@pytest.mark.skipif(NAME != "taeda", reason="about Taeda's operators")
def test_every_operator_with_named_results_has_its_return_type(torch):
    def operator(name):
        is_linalg = name.startswith("linalg_")
        return getattr(t.linalg if is_linalg else t, name.removeprefix("linalg_"), None)

    shared = [name for name in _classes(torch, "return_types") if operator(name)]
    assert len(shared) > 20
    # The results of this one are a tensor and a list.
    assert [n for n in shared if not hasattr(t.return_types, n)] == ["histogramdd"]
