"""Files go both ways between Taeda and PyTorch."""

import importlib
import io

import pytest
from save_load_values import named_tensors, newer_values, shown, trained, values
from taeda.utils import safetensors as own_safetensors

import taeda

FORMATS = [pytest.param(True, id="archive"), pytest.param(False, id="stream")]


def through(value, writer, reader, is_archive, **options):
    buffer = io.BytesIO()
    writer.save(value, buffer, _use_new_zipfile_serialization=is_archive)
    buffer.seek(0)
    return reader.load(buffer, **options)


@pytest.mark.parametrize("is_archive", FORMATS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_pytorch_reads_what_taeda_writes(torch, is_archive, weights_only):
    make = newer_values if is_archive else values
    loaded = through(make(taeda), taeda, torch, is_archive, weights_only=weights_only)
    assert shown(loaded) == shown(make(torch))


@pytest.mark.parametrize("is_archive", FORMATS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_taeda_reads_what_pytorch_writes(torch, is_archive, weights_only):
    make = newer_values if is_archive else values
    loaded = through(make(torch), torch, taeda, is_archive, weights_only=weights_only)
    assert shown(loaded) == shown(make(taeda))


@pytest.mark.parametrize("is_archive", FORMATS)
def test_whole_modules(torch, is_archive):
    for writer, reader in ((taeda, torch), (torch, taeda)):
        model, _ = trained(writer)
        loaded = through(model.eval(), writer, reader, is_archive, weights_only=False)
        x = [[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]
        expected = model(writer.tensor(x)).tolist()
        assert loaded(reader.tensor(x)).tolist() == [pytest.approx(row) for row in expected]


def test_mapped_files(torch, tmp_path):
    for writer, reader in ((taeda, torch), (torch, taeda)):
        writer.save(newer_values(writer), tmp_path / "a.pt")
        assert shown(reader.load(tmp_path / "a.pt", mmap=True)) == shown(newer_values(reader))


def test_computed_places_of_storages(torch, tmp_path):
    """PyTorch's computed offsets hold for Taeda's files, and Taeda's for PyTorch's."""
    for writer, reader in ((taeda, torch), (torch, taeda)):
        value = {str(i): writer.arange(i * 7) for i in range(20)}
        writer.save(value, tmp_path / "a.pt")
        config = importlib.import_module(f"{reader.__name__}.utils.serialization").config
        config.load.calculate_storage_offsets = True
        try:
            loaded = reader.load(tmp_path / "a.pt", mmap=True)
        finally:
            config.load.calculate_storage_offsets = False
        assert [x.tolist() for x in loaded.values()] == [list(range(i * 7)) for i in range(20)]


def test_the_same_file_but_for_ids(torch):
    """Records, their order and their places are PyTorch's."""
    places = []
    for t in (taeda, torch):
        buffer = io.BytesIO()
        t.save(t.nn.Linear(3, 2).state_dict(), buffer)
        buffer.seek(0)
        reader = torch._C.PyTorchFileReader(buffer)
        names = reader.get_all_records()
        places.append([(name, reader.get_record_offset(name)) for name in names])
        places[-1].append(reader.get_record("data.pkl"))
    assert places[0] == places[1]


def lacking(torch):
    x = torch.eye(2)
    yield x.to_sparse(), "the file has a sparse tensor"
    yield x.to_sparse_csr(), "the file has a sparse tensor"
    yield torch.nested.nested_tensor([x[0], x[1, :1]]), "the file has a nested tensor"
    yield torch.ones(2, dtype=torch.complex32), "the file needs torch.complex32"
    yield torch.quantize_per_tensor(x, 1, 0, torch.quint8), "the file needs torch.QUInt8Storage"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_that_taeda_lacks(torch, weights_only):
    for value, message in lacking(torch):
        with pytest.raises(NotImplementedError, match=message):
            through(value, torch, taeda, True, weights_only=weights_only)


def test_safetensors(safetensors, torch, tmp_path):
    theirs = importlib.import_module("safetensors.torch")
    own_safetensors.save_file(named_tensors(taeda), tmp_path / "a.safetensors", {"k": "v"})
    loaded = theirs.load_file(tmp_path / "a.safetensors")
    assert {n: shown(x) for n, x in loaded.items()} == {
        n: shown(x) for n, x in named_tensors(torch).items()
    }
    theirs.save_file(named_tensors(torch), tmp_path / "b.safetensors")
    loaded = own_safetensors.load_file(tmp_path / "b.safetensors", mmap=True)
    assert {n: shown(x) for n, x in loaded.items()} == {
        n: shown(x) for n, x in named_tensors(taeda).items()
    }
