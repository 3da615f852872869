"""Files go both ways between Taeda and PyTorch."""

import importlib
import io
import subprocess
import sys

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


def _hooked(t):
    return importlib.import_module(f"{t.__name__}.nn.utils").spectral_norm(t.nn.Linear(3, 4))


def _pruned(t):
    prune = importlib.import_module(f"{t.__name__}.nn.utils.prune")
    return prune.l1_unstructured(t.nn.Linear(3, 4), "weight", 2)


# How to make a module, and the shapes of its input.
WHOLE_MODULES = {
    "LSTM": (lambda t: t.nn.LSTM(3, 4, 2, bidirectional=True), [(5, 2, 3)]),
    "GRU": (lambda t: t.nn.GRU(3, 4), [(5, 2, 3)]),
    "RNN": (lambda t: t.nn.RNN(3, 4), [(5, 2, 3)]),
    "LSTMCell": (lambda t: t.nn.LSTMCell(3, 4), [(2, 3)]),
    "Softmax": (lambda t: t.nn.Softmax(dim=1), [(2, 3)]),
    "AdaptiveAvgPool2d": (lambda t: t.nn.AdaptiveAvgPool2d(1), [(1, 2, 3, 3)]),
    "MultiheadAttention": (lambda t: t.nn.MultiheadAttention(4, 2), [(2, 4)] * 3),
    "TripletMarginLoss": (lambda t: t.nn.TripletMarginLoss(), [(2, 3)] * 3),
    "spectral_norm": (_hooked, [(2, 3)]),
    "prune": (_pruned, [(2, 3)]),
}


def _flat(value):
    if isinstance(value, (tuple, list)):
        return [number for part in value for number in _flat(part)]
    return [] if value is None else value.detach().flatten().tolist()


def _numbers(t, module, shapes):
    """What the module gives for fixed inputs."""
    size = 0
    inputs = []
    for shape in shapes:
        count = t.Size(shape).numel()
        inputs.append((t.arange(size, size + count) * 0.1).sin().reshape(shape))
        size += count
    return _flat(module(*inputs))


@pytest.mark.parametrize("is_archive", FORMATS)
@pytest.mark.parametrize("name", WHOLE_MODULES)
def test_whole_modules_that_private_files_define(torch, name, is_archive):
    make, shapes = WHOLE_MODULES[name]
    for writer, reader in ((taeda, torch), (torch, taeda), (taeda, taeda)):
        writer.manual_seed(0)
        model = make(writer).eval()
        loaded = through(model, writer, reader, is_archive, weights_only=False)
        assert type(loaded).__module__ == f"{reader.__name__}.{type(model).__module__[6:]}"
        expected = _numbers(writer, model, shapes)
        assert _numbers(reader, loaded, shapes) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("is_archive", FORMATS)
def test_modules_without_shapes_yet(torch, is_archive):
    for writer, reader in ((taeda, torch), (torch, taeda), (taeda, taeda)):
        loaded = through(writer.nn.LazyLinear(4), writer, reader, is_archive, weights_only=False)
        assert loaded(reader.ones(2, 3)).shape == (2, 4)
        assert type(loaded) is reader.nn.Linear and loaded.in_features == 3
        again = through(loaded.state_dict(), reader, writer, is_archive)
        fresh = writer.nn.LazyLinear(4)
        fresh.load_state_dict(again)  # its hook gives the parameters their shapes
        assert fresh.weight.shape == (4, 3)


def test_hooks_before_loading_keep_their_module(torch):
    for writer, reader in ((taeda, torch), (torch, taeda), (taeda, taeda)):
        layer = writer.nn.Linear(1, 1)
        layer.register_load_state_dict_pre_hook(_count)
        loaded = through(layer, writer, reader, True, weights_only=False)
        loaded.load_state_dict(loaded.state_dict())
        assert loaded.loads == 1


def _count(module, *args):
    module.loads = getattr(module, "loads", 0) + 1


SCHEDULERS = {
    "StepLR": {"step_size": 2},
    "CosineAnnealingLR": {"T_max": 5},
    "OneCycleLR": {"max_lr": 1.0, "total_steps": 12},
    "ReduceLROnPlateau": {},
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_whole_schedulers(torch, name):
    for writer, reader in ((taeda, torch), (torch, taeda)):
        optimizer = writer.optim.SGD(writer.nn.Linear(2, 2).parameters(), lr=1.0, momentum=0.9)
        schedule = getattr(writer.optim.lr_scheduler, name)(optimizer, **SCHEDULERS[name])
        optimizer.step()
        loaded = through(schedule, writer, reader, True, weights_only=False)
        for _ in range(5):
            for each in (schedule, loaded):
                each.optimizer.step()
                each.step(*([1.0] if name == "ReduceLROnPlateau" else []))
            assert loaded.get_last_lr() == pytest.approx(schedule.get_last_lr())


@pytest.mark.parametrize("is_archive", FORMATS)
def test_named_results(torch, is_archive):
    for writer, reader in ((taeda, torch), (torch, taeda), (taeda, taeda)):
        value = writer.tensor([1.0, 3.0, 2.0]).topk(2)
        loaded = through(value, writer, reader, is_archive, weights_only=False)
        assert type(loaded) is reader.return_types.topk
        assert loaded.values.tolist() == [3.0, 2.0] and loaded.indices.tolist() == [1, 2]


def test_named_results_of_every_operator(torch):
    names = [n for n in dir(taeda.return_types) if hasattr(torch.return_types, n)]
    assert len(names) > 40
    for name in names:
        for writer, reader in ((taeda, torch), (torch, taeda)):
            cls = getattr(writer.return_types, name)
            value = cls([writer.tensor(i) for i in range(cls.n_fields)])
            loaded = through(value, writer, reader, True, weights_only=False)
            assert type(loaded) is getattr(reader.return_types, name)
            assert [int(each) for each in loaded] == list(range(cls.n_fields))


def test_named_results_in_a_process_that_has_made_none(torch, tmp_path):
    torch.save(torch.tensor([1.0, 3.0]).max(0), tmp_path / "a.pt")
    code = (
        "import sys, taeda\n"
        "loaded = taeda.load(sys.argv[1], weights_only=False)\n"
        "print(type(loaded).__name__, loaded.values.item(), loaded.indices.item())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.pt")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["max", "3.0", "1"]


def _generator(t):
    """One that has drawn numbers, of the engine that both have."""
    made = t.Generator(**({"engine": "mt19937"} if t is taeda else {})).manual_seed(5)
    t.rand(3, generator=made)
    return made


@pytest.mark.parametrize("is_archive", FORMATS)
def test_generators(torch, is_archive):
    for writer, reader in ((taeda, torch), (torch, taeda), (taeda, taeda)):
        if reader is torch and not is_archive:
            continue  # PyTorch takes the state before it has read it
        made = _generator(writer)
        loaded = through({"g": made}, writer, reader, is_archive, weights_only=False)["g"]
        assert loaded.initial_seed() == 5
        expected = writer.rand(3, generator=made).tolist()
        assert reader.rand(3, generator=loaded).tolist() == expected


def test_errors(torch):
    for writer, reader in ((taeda, torch), (torch, taeda)):
        value = writer.linalg.LinAlgError("singular")
        loaded = through(value, writer, reader, True, weights_only=False)
        assert type(loaded) is reader.linalg.LinAlgError and loaded.args == ("singular",)


def test_operators_as_values(torch):
    for writer, reader in ((taeda, torch), (torch, taeda), (taeda, taeda)):
        values = [
            writer.relu,
            writer.softmax,
            writer.rand,
            writer.nn.functional.relu,
            writer.nn.functional.conv2d,
            writer.nn.functional.gelu,
        ]
        loaded = through(values, writer, reader, True, weights_only=False)
        assert loaded == [
            reader.relu,
            reader.softmax,
            reader.rand,
            reader.nn.functional.relu,
            reader.nn.functional.conv2d,
            reader.nn.functional.gelu,
        ]


def test_limits_of_dtypes(torch):
    for value in (taeda.finfo(taeda.float64), taeda.iinfo(taeda.int8)):
        for reader in (torch, taeda):
            loaded = through(value, taeda, reader, True, weights_only=False)
            assert type(loaded) is getattr(reader, type(value).__name__)
            assert loaded.max == value.max and str(loaded) == str(value)


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
