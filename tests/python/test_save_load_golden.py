"""Files that PyTorch wrote, read by every reader there is."""

import pathlib

import pytest
from save_load_values import named_tensors, newer_values, shown, trained, values
from under_test import NAME, t

FOLDER = pathlib.Path(__file__).parents[1] / "golden" / "serialization"
EXPECTED = {"archive": newer_values, "stream": values}

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's readers")


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("weights_only", [True, False])
def test_values_are_pytorchs(name, weights_only):
    loaded = t.load(FOLDER / f"{name}.pt", weights_only=weights_only)
    assert shown(loaded) == shown(EXPECTED[name](t))


@pytest.mark.parametrize("name", EXPECTED)
def test_tensors_share_what_they_shared(name):
    loaded = t.load(FOLDER / f"{name}.pt")
    loaded["base"].fill_(9)
    assert loaded["row"].tolist() == [9] * 4
    assert loaded["turned"][2].tolist() == [9] * 3


def test_a_mapped_archive():
    loaded = t.load(FOLDER / "archive.pt", mmap=True)
    assert shown(loaded) == shown(newer_values(t))
    loaded["base"].fill_(9)
    assert t.load(FOLDER / "archive.pt")["base"][0, 1] == 1


@pytest.mark.parametrize("name", EXPECTED)
def test_cpp_reads_the_same(name):
    loaded = t.serialization.load_archive(FOLDER / f"{name}.pt")
    expected = EXPECTED[name](t)
    assert loaded["row"].untyped_storage()._cdata == loaded["base"].untyped_storage()._cdata
    for key in ("base", "row", "turned", "tensors", "conj", "scalar", "empty"):
        assert shown(loaded[key]) == shown(expected[key])
    assert loaded["plain"][:9] == expected["plain"][:9]
    assert loaded["plain"][10:12] == [(1, (2,)), {3, 4}]
    assert shown(loaded["model"]["0.weight"]) == shown(expected["model"]["0.weight"])


def test_a_module_of_cpp():
    loaded = t.serialization.load_archive(FOLDER / "module.pt")
    model, _ = trained(t)
    assert {f"{k}.{name}" for k, part in loaded.items() for name in part} == set(model.state_dict())
    for key, expected in model.state_dict().items():
        part, name = key.split(".")
        assert t.allclose(loaded[part][name], expected), key


def test_an_optimizer_of_cpp():
    loaded = t.serialization.load_archive(FOLDER / "adam.pt")
    assert loaded["pytorch_version"] == "1.5.0"
    options = loaded["param_groups"]["param_groups/0"]["options"]
    assert options["lr"] == 0.5 and options["betas"] == (0.9, 0.999)
    keys = [loaded["param_groups"]["param_groups/0"][f"params/{i}"] for i in range(4)]
    _, optimizer = trained(t)
    for i, key in enumerate(keys):
        state = loaded["state"][key]
        assert state["step"] == 1
        expected = optimizer.state_dict()["state"][i]["exp_avg"]
        assert t.allclose(state["exp_avg"], expected, atol=1e-6)


@pytest.mark.parametrize("mmap", [False, True])
def test_safetensors(mmap):
    loaded = t.utils.safetensors.load_file(FOLDER / "tensors.safetensors", mmap=mmap)
    expected = named_tensors(t)
    assert {name: shown(x) for name, x in loaded.items()} == {
        name: shown(x) for name, x in expected.items()
    }
