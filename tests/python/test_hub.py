"""hub: models of a folder's hubconf.py, and files that are fetched whole or not at all."""

import hashlib

import pytest
from under_test import t

HUBCONF = '''
dependencies = ["math"]
from parts import make

def layer(size, bias=True):
    """A layer."""
    return make(size, bias)

def _hidden():
    pass

value = 3
'''
PARTS = f"import {t.__name__} as t\ndef make(size, bias):\n    return t.nn.Linear(size, size, bias=bias)\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "parts.py").write_text(PARTS)
    return str(tmp_path)


def test_a_folder(folder):
    layer = t.hub.load(folder, "layer", 3, source="local", bias=False)
    assert layer.weight.shape == (3, 3) and layer.bias is None


@pytest.mark.skipif(t.__name__ != "taeda", reason="PyTorch lists what GitHub has")
def test_what_a_folder_offers(folder):
    assert "layer" in t.hub.list(folder, source="local")
    assert "_hidden" not in t.hub.list(folder, source="local")
    assert t.hub.help(folder, "layer", source="local") == "A layer."


def test_refusals(folder, tmp_path):
    with pytest.raises(RuntimeError, match="Cannot find callable value in hubconf"):
        t.hub.load(folder, "value", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        t.hub.load(folder, "layer", source="elsewhere")
    with pytest.raises(ValueError, match="should be a string"):
        t.hub.load(folder, 3, source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        t.hub.load(folder, "layer", source="local")


def test_the_folder_of_files(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(t.hub, "_folder" if t.__name__ == "taeda" else "_hub_dir", None)
    assert t.hub.get_dir() == str(tmp_path / "hub")
    t.hub.set_dir(str(tmp_path / "other"))
    assert t.hub.get_dir() == str(tmp_path / "other")


def test_files(monkeypatch, tmp_path):
    source = tmp_path / "weights.pt"
    t.save({"w": t.ones(2)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    url = source.as_uri()
    t.hub.download_url_to_file(url, str(tmp_path / "copy.pt"), digest[:8], progress=False)
    assert (tmp_path / "copy.pt").read_bytes() == source.read_bytes()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        t.hub.download_url_to_file(url, str(tmp_path / "bad.pt"), "0" * 8, progress=False)
    assert not (tmp_path / "bad.pt").exists()
    assert not list(tmp_path.glob("*.partial"))
    found = t.hub.load_state_dict_from_url(url, model_dir=str(tmp_path / "kept"), progress=False)
    source.unlink()
    again = t.hub.load_state_dict_from_url(url, model_dir=str(tmp_path / "kept"), progress=False)
    assert found["w"].equal(again["w"])


@pytest.mark.skipif(t.__name__ != "taeda", reason="PyTorch fetches from GitHub")
def test_github_is_not_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(t.hub, "_folder", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"put a copy of owner/name:v1 into .*owner_name_v1"):
        t.hub.load("owner/name:v1", "layer")
