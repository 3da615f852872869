"""`save` and `load`: what goes in comes out, through every kind of file."""

import collections
import copy
import gzip
import io
import os
import pathlib
import pickle
import struct
import tarfile
import warnings
import zipfile

import pytest
from save_load_values import newer_values, shown, values
from under_test import NAME, t

FORMATS = [pytest.param(True, id="archive"), pytest.param(False, id="stream")]
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="Taeda's own behaviour")


def round_trip(value, is_archive=True, **options):
    buffer = io.BytesIO()
    t.save(value, buffer, _use_new_zipfile_serialization=is_archive)
    buffer.seek(0)
    return t.load(buffer, **options)


@pytest.mark.parametrize("is_archive", FORMATS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_every_plain_value(is_archive, weights_only):
    value = newer_values(t) if is_archive else values(t)
    assert shown(round_trip(value, is_archive, weights_only=weights_only)) == shown(value)


@pytest.mark.parametrize("is_archive", FORMATS)
def test_shared_memory_stays_shared(is_archive):
    base = t.arange(6.0)
    first, second, other = round_trip([base[:3], base[3:], base.clone()], is_archive)
    assert first.untyped_storage()._cdata == second.untyped_storage()._cdata
    assert other.untyped_storage()._cdata != first.untyped_storage()._cdata
    assert second.storage_offset() == 3


@pytest.mark.parametrize("is_archive", FORMATS)
def test_paths_and_file_objects(is_archive, tmp_path):
    x = t.arange(5)
    options = {"_use_new_zipfile_serialization": is_archive}
    for path in (str(tmp_path / "a.pt"), tmp_path / "b\u00e9\u677e.pt"):
        t.save(x, path, **options)
        assert t.equal(t.load(path), x)
    with open(tmp_path / "c", "wb") as file:
        file.write(b"before")
        t.save(x, file, **options)
    with open(tmp_path / "c", "rb") as file:
        file.seek(6)
        assert t.equal(t.load(file), x)
    with gzip.open(tmp_path / "d", "wb") as file:
        t.save(x, file, **options)
    with gzip.open(tmp_path / "d", "rb") as file:
        assert t.equal(t.load(file), x)
    with open(tmp_path / "e", "wb", buffering=0) as file:
        t.save(x, file, **options)
    assert t.equal(t.load(tmp_path / "e"), x)


def test_several_streams_in_one_file():
    buffer = io.BytesIO()
    for number in range(3):
        t.save(t.tensor(number), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [t.load(buffer).item() for _ in range(3)] == [0, 1, 2]


def test_long_texts_of_streams():
    value = {"text": "x" * 20_000_000, "keys": {f"k{i}": i for i in range(20_000)}}
    buffer = io.BytesIO()
    t.save([value, t.ones(2)], buffer, _use_new_zipfile_serialization=False)
    buffer.write(b"after")
    buffer.seek(0)
    loaded, ones = t.load(buffer)
    assert loaded == value and ones.tolist() == [1, 1]
    assert buffer.read() == b"after"


def test_records_of_an_archive(tmp_path):
    t.save({"a": t.zeros(3), "b": t.ones(2)}, tmp_path / "model.pt")
    with zipfile.ZipFile(tmp_path / "model.pt") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "model/data.pkl",
            "model/.format_version",
            "model/.storage_alignment",
            "model/byteorder",
            "model/data/0",
            "model/data/1",
            "model/version",
            "model/.data/serialization_id",
        ]
        assert archive.read("model/version") == b"3\n"
        assert archive.read("model/byteorder") == b"little"
        assert archive.read("model/.storage_alignment") == b"64"
        assert b"ctorch._utils\n_rebuild_tensor_v2\n" in archive.read("model/data.pkl")
        assert b"taeda" not in archive.read("model/data.pkl")
    reader = t._C.PyTorchFileReader(str(tmp_path / "model.pt"))
    assert all(reader.get_record_offset(f"data/{i}") % 64 == 0 for i in (0, 1))


@only_taeda
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_names_are_pytorchs_in_every_protocol(protocol):
    buffer = io.BytesIO()
    t.save(t.nn.Linear(2, 2), buffer, pickle_protocol=protocol)
    names = t._C._pickle_globals(zipfile.ZipFile(buffer).read("archive/data.pkl"))
    assert "torch.nn.modules.linear.Linear" in names
    assert not [name for name in names if name.startswith("taeda")]
    buffer.seek(0)
    assert isinstance(t.load(buffer, weights_only=False), t.nn.Linear)


@only_taeda
def test_a_text_that_is_also_a_module_stays_as_it_is():
    module = type(t.nn.Linear(1, 1)).__module__
    value = round_trip_protocol([module, t.nn.Linear], 4)
    assert value == [module, t.nn.Linear]


def round_trip_protocol(value, protocol):
    buffer = io.BytesIO()
    t.save(value, buffer, pickle_protocol=protocol)
    buffer.seek(0)
    return t.load(buffer, weights_only=False)


class Scaled(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.BatchNorm2d(2))
        self.scale = t.nn.Parameter(t.ones(1))
        self.register_buffer("steps", t.tensor(3))

    def forward(self, x):
        return self.inner(x) * self.scale


@pytest.mark.parametrize("is_archive", FORMATS)
def test_whole_modules(is_archive):
    model = Scaled()
    x = t.randn(2, 1, 5, 5)
    model(x)
    model.eval()
    loaded = round_trip(model, is_archive, weights_only=False)
    assert isinstance(loaded, Scaled) and not loaded.training
    assert t.equal(loaded(x), model(x))


@pytest.mark.parametrize("mmap", [False, True])
def test_state_dicts_through_files(mmap, tmp_path):
    model, other = Scaled(), Scaled()
    model(t.randn(2, 1, 5, 5))
    t.save(model.state_dict(), tmp_path / "m.pt")
    state = t.load(tmp_path / "m.pt", mmap=mmap)
    assert isinstance(state, collections.OrderedDict)
    assert state._metadata == model.state_dict()._metadata
    assert other.load_state_dict(state).missing_keys == []
    for name, value in model.state_dict().items():
        assert t.equal(other.state_dict()[name], value)
    with t.device("meta"):
        empty = Scaled()
    empty.load_state_dict(state, assign=True)
    assert t.equal(empty.inner[0].weight, model.inner[0].weight)


def test_training_goes_on_from_a_file(tmp_path):
    def run(model, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            model(t.ones(1, 1, 4, 4)).pow(2).sum().backward()
            optimizer.step()

    def make():
        model = Scaled()
        return model, t.optim.AdamW(model.parameters(), lr=0.1)

    first, first_optimizer = make()
    run(first, first_optimizer, 2)
    state = {"model": first.state_dict(), "optimizer": first_optimizer.state_dict()}
    t.save(state, tmp_path / "run.pt")
    second, second_optimizer = make()
    loaded = t.load(tmp_path / "run.pt")
    second.load_state_dict(loaded["model"])
    second_optimizer.load_state_dict(loaded["optimizer"])
    run(first, first_optimizer, 2)
    run(second, second_optimizer, 2)
    for name, value in first.state_dict().items():
        assert t.equal(second.state_dict()[name], value), name


def test_map_location():
    x = t.arange(4.0)
    seen = []

    def keep(storage, tag):
        seen.append((storage.nbytes(), tag))
        return storage

    for location in ("cpu", t.device("cpu"), {"cpu": "cpu"}, keep, lambda storage, tag: None):
        assert t.equal(round_trip(x, map_location=location), x)
    assert seen == [(16, "cpu")]
    assert round_trip(x, map_location="meta").device.type == "meta"
    assert round_trip(x, map_location={"cpu": "meta"}).is_meta
    with pytest.raises(RuntimeError, match=r"don't know how to restore data location .* nowhere"):
        round_trip(x, map_location="nowhere")


def test_a_file_of_a_device_that_is_not_here():
    if t.cuda.is_available():
        pytest.skip("there is CUDA")
    buffer = io.BytesIO()
    t.save(t.ones(2), buffer)
    buffer = io.BytesIO(replaced(buffer.getvalue(), b"\x03\0\0\0cpu", b"\x06\0\0\0cuda:1"))
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        t.load(buffer)
    buffer.seek(0)
    assert t.load(buffer, map_location="cpu").tolist() == [1, 1]


def replaced(archive, old, new):
    """An archive in whose pickle some bytes are others."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as given, zipfile.ZipFile(out, "w") as made:
        for name in given.namelist():
            data = given.read(name)
            if name.endswith("data.pkl"):
                assert old in data
                data = data.replace(old, new)
            made.writestr(name, data)
    return out.getvalue()


def test_packages_tag_and_restore():
    module = t.serialization
    registry = module._locations._package_registry if NAME == "taeda" else module._package_registry
    before = list(registry)
    try:
        module.register_package(
            5,
            lambda storage: "shelf" if storage.nbytes() == 12 else None,
            lambda storage, location: storage.clone() if location == "shelf" else None,
        )
        buffer = io.BytesIO()
        t.save([t.ones(3), t.ones(2)], buffer)
        assert b"shelf" in buffer.getvalue()
        buffer.seek(0)
        assert [x.tolist() for x in t.load(buffer)] == [[1, 1, 1], [1, 1]]
    finally:
        registry[:] = before
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="tagged with shelf"):
        t.load(buffer)


class Labelled(t.Tensor):
    pass


def test_subclasses_and_attributes():
    x = t.arange(3.0).as_subclass(Labelled)
    x.label = "a"
    with t.serialization.safe_globals([Labelled]):
        loaded = round_trip(x)
    assert type(loaded) is Labelled and loaded.label == "a" and loaded.tolist() == [0, 1, 2]
    y = t.ones(2)
    y.note = {"k": 1}
    assert round_trip(y).note == {"k": 1}
    p = t.nn.Parameter(t.ones(2))
    p.note = 5
    loaded = round_trip(p)
    assert isinstance(loaded, t.nn.Parameter) and loaded.note == 5


def test_views_of_one_memory_as_two_dtypes_are_refused():
    x = t.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        t.save([x, x.view(t.int32)], io.BytesIO())


def test_gradients_flags_and_layouts():
    z = t.tensor([1 + 2j, 3j])
    for value in (z.conj(), z.imag, t._neg_view(z), z.conj().imag):
        loaded = round_trip(value)
        assert (loaded.is_conj(), loaded.is_neg()) == (value.is_conj(), value.is_neg())
        assert t.equal(loaded, value)
    leaf = t.ones(2, requires_grad=True)
    assert round_trip(leaf).requires_grad and round_trip(leaf).is_leaf
    assert round_trip((leaf * 2).detach()).requires_grad is False
    image = t.randn(2, 3, 4, 5).to(memory_format=t.channels_last)
    assert round_trip(image).is_contiguous(memory_format=t.channels_last)
    assert round_trip([t.strided]) == [t.strided]


def test_pickle_and_copies_of_tensors_and_storages():
    x = t.arange(6.0).view(2, 3)
    loaded = pickle.loads(pickle.dumps([x[1], t.nn.Parameter(x), x.untyped_storage()]))
    assert loaded[0].tolist() == [3, 4, 5] and loaded[0].storage_offset() == 3
    assert isinstance(loaded[1], t.nn.Parameter)
    assert bytes(loaded[2].tolist()) == bytes(x.untyped_storage().tolist())
    shallow = copy.copy(x)
    shallow[0, 0] = 7
    assert x[0, 0] == 7
    deep = copy.deepcopy([x, x[0]])
    deep[0].fill_(1)
    assert deep[1].tolist() == [1, 1, 1] and x[0, 0] == 7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = pickle.loads(pickle.dumps(x.storage()))
    assert typed.dtype == t.float32 and typed.tolist() == x.flatten().tolist()


def test_settings():
    config = t.utils.serialization.config
    assert t.serialization.get_crc32_options() is True
    x = t.arange(3.0)
    t.serialization.set_crc32_options(False)
    try:
        buffer = io.BytesIO()
        t.save(x, buffer)
    finally:
        t.serialization.set_crc32_options(True)
    with pytest.raises(zipfile.BadZipFile, match="Bad CRC-32"):
        zipfile.ZipFile(buffer).read("archive/data/0")
    buffer.seek(0)
    assert t.equal(t.load(buffer), x)
    before = config.save.storage_alignment
    config.save.storage_alignment = 4096
    try:
        buffer = io.BytesIO()
        t.save(x, buffer)
        buffer.seek(0)
        assert t._C.PyTorchFileReader(buffer).get_record_offset("data/0") % 4096 == 0
    finally:
        config.save.storage_alignment = before


def test_byte_orders():
    x = {"f": t.arange(3.0), "i": t.arange(3, dtype=t.int16), "c": t.tensor([1 + 2j])}
    buffer = io.BytesIO()
    t.save(x, buffer, _disable_byteorder_record=True)
    swapped = io.BytesIO()
    widths = iter([4, 2, 4])
    with zipfile.ZipFile(buffer) as given, zipfile.ZipFile(swapped, "w") as made:
        for name in given.namelist():
            data = bytearray(given.read(name))
            if "/data/" in name:
                width = next(widths)
                data[:] = b"".join(
                    bytes(reversed(data[i : i + width])) for i in range(0, len(data), width)
                )
            if not name.endswith("byteorder"):
                made.writestr(name, bytes(data))
    t.serialization.set_default_load_endianness(t.serialization.LoadEndianness.BIG)
    try:
        swapped.seek(0)
        assert shown(t.load(swapped)) == shown(x)
    finally:
        t.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        t.serialization.set_default_load_endianness("big")


def test_mapped_files(tmp_path):
    from mmap import MAP_PRIVATE, MAP_SHARED

    path = tmp_path / "m.pt"
    t.save({"x": t.zeros(4)}, path)
    t.load(path, mmap=True)["x"].fill_(1)
    assert t.load(path)["x"].sum() == 0
    with t.serialization.set_default_mmap_options(MAP_SHARED):
        t.load(path, mmap=True)["x"].fill_(1)
    assert t.serialization.get_default_mmap_options() == MAP_PRIVATE
    # What was written through the map does not have the checksum that was saved.
    assert t.load(path, mmap=True)["x"].sum() == 4
    with pytest.raises(ValueError, match="f must be a file path"):
        t.load(io.BytesIO(path.read_bytes()), mmap=True)
    t.save(t.ones(2), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        t.load(path, mmap=True)
    with pytest.raises(ValueError, match=r"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        t.serialization.set_default_mmap_options(7)


@only_taeda
def test_checksums_of_mapped_files_on_request(tmp_path):
    path = tmp_path / "m.pt"
    t.save(t.zeros(100), path)
    start = t._C.PyTorchFileReader(path).get_record_offset("data/0")
    data = bytearray(path.read_bytes())
    data[start] ^= 1
    path.write_bytes(data)
    assert t.load(path, mmap=True)[0] != 0
    wrong = pytest.raises(RuntimeError, match=r"the checksum of m/data/0 in .* is wrong")
    with t.utils.serialization.config.patch("load.check_mapped_crc32", True), wrong:
        t.load(path, mmap=True)
    with pytest.raises(RuntimeError, match=r"the checksum of m/data/0 in .* is wrong"):
        t.load(path)


def test_skipping_data(tmp_path):
    path = tmp_path / "s.pt"
    with t.serialization.skip_data():
        t.save({"x": t.ones(1000)}, path)
    assert t.load(path)["x"].sum() == 0
    with open(path, "r+b") as file:
        file.seek(t._C.PyTorchFileReader(str(path)).get_record_offset("data/0"))
        file.write(bytes(t.ones(1000).untyped_storage().tolist()))
    assert t.load(path)["x"].sum() == 1000
    with t.serialization.skip_data():
        assert t.load(path)["x"].shape == (1000,)
        with pytest.raises(RuntimeError, match="skip_data=True"):
            t.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


def test_storages_in_files(tmp_path):
    path = str(tmp_path / "raw")
    storage = t.UntypedStorage.from_file(path, shared=True, nbytes=8)
    storage[3] = 5
    assert pathlib.Path(path).read_bytes() == b"\0\0\0\5\0\0\0\0"
    assert storage[2:5].tolist() == [0, 5, 0]
    private = t.UntypedStorage.from_file(path, shared=False, nbytes=8)
    private[0] = 9
    assert pathlib.Path(path).read_bytes()[0] == 0
    with pytest.raises(RuntimeError):
        t.UntypedStorage.from_file(str(tmp_path / "absent"), shared=False, nbytes=8)
    assert t.UntypedStorage(5).nbytes() == 5 and t.UntypedStorage([1, 2]).tolist() == [1, 2]


def test_fakes_know_where_their_bytes_are(tmp_path):
    from importlib import import_module

    mode = import_module(f"{NAME}._subclasses.fake_tensor").FakeTensorMode
    path = tmp_path / "f.pt"
    t.save({"x": t.arange(4.0)}, path)
    with mode():
        x = t.load(path)["x"]
    offset = x.untyped_storage()._checkpoint_offset
    assert path.read_bytes()[offset : offset + 16] == bytes(
        t.arange(4.0).untyped_storage().tolist()
    )
    assert x.device.type == "cpu" and type(x).__name__ == "FakeTensor"


def test_environment_forces_the_restriction(monkeypatch):
    buffer = io.BytesIO()
    t.save(t.nn.Linear(1, 1), buffer)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        t.load(buffer, weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        t.load(buffer)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    buffer.seek(0)
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        t.load(buffer)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises((RuntimeError, OSError)):
        t.save(1, tmp_path)
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        t.save(1, str(tmp_path / "none" / "a.pt"))
    with pytest.raises(FileNotFoundError):
        t.load(tmp_path / "absent.pt")
    assert os.listdir(tmp_path) == []


def test_tensors_in_files(tmp_path):
    path = str(tmp_path / "raw")
    x = t.from_file(path, shared=True, size=3, dtype=t.int16)
    x.copy_(t.tensor([1, 2, 3]))
    assert pathlib.Path(path).read_bytes() == b"\1\0\2\0\3\0"
    assert t.from_file(path, size=2, dtype=t.int16).tolist() == [1, 2]


def tar_file(path, parts):
    with tarfile.open(path, "w") as tar:
        for name, data in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


@only_taeda
def test_the_first_files_of_pytorch(tmp_path):
    """Tar archives of 2016, written here as PyTorch wrote them."""

    def dumped(value):
        return t._C._move_pickle_globals(pickle.dumps(value, 2), "taeda", "torch")

    numbers = bytes(t.arange(6.0).untyped_storage().tolist())
    storages = dumped(1) + dumped((11, "cpu", t.FloatStorage)) + struct.pack("<q", 6) + numbers
    storages += dumped([(12, 11, 2, 3)])
    geometry = struct.pack("<ii2q2qq", 2, 0, 2, 2, 3, 1, 1)
    tensors = dumped(1) + dumped((21, 11, t.FloatTensor)) + geometry

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj[1] if isinstance(obj, tuple) and obj[:1] == ("kept",) else None

    buffer = io.BytesIO()
    Pickler(buffer, 2).dump({"x": ("kept", "21"), "s": ("kept", "12")})
    parts = {"storages": storages, "tensors": tensors, "pickle": buffer.getvalue()}
    tar_file(tmp_path / "old.pt", parts)
    loaded = t.load(tmp_path / "old.pt", weights_only=False)
    assert loaded["x"].tolist() == [[1, 2], [4, 5]]
    assert loaded["s"].tolist() == [2, 3, 4]
    with pytest.raises(RuntimeError, match=r"files saved in the legacy \.tar format"):
        t.load(tmp_path / "old.pt")
    tar_file(tmp_path / "bad.pt", {**parts, "tensors": tensors[:-1] + b"\xff"})
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        t.load(tmp_path / "bad.pt", weights_only=False)


def test_hooks_that_files_do_not_keep():
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="on tensor will not be serialized.  If this is expected"):
        round_trip(x)
    marked = t.ones(2, requires_grad=True)
    marked.register_hook(t.utils.hooks.unserializable_hook(lambda grad: grad))
    parameter = t.nn.Parameter(t.ones(2))
    parameter.register_hook(lambda grad: grad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        round_trip([marked, parameter])


@pytest.mark.parametrize("flag", ["x", 1, None])
def test_a_gradient_flag_that_is_no_bool(flag):
    buffer = t.storage.TypedStorage(
        wrap_storage=t.ones(2).untyped_storage(), dtype=t.float32, _internal=True
    )
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        t._utils._rebuild_tensor_v2(buffer, 0, (2,), (1,), flag, {})


@pytest.mark.parametrize("size", [(0, 2**62), (2**62, 0)])
def test_large_sizes_without_elements(size):
    storage = t.storage.TypedStorage(
        wrap_storage=t.ones(2).untyped_storage(), dtype=t.float32, _internal=True
    )
    strides = (2**62,) * len(size)
    loaded = t._utils._rebuild_tensor_v2(storage, 0, size, strides, False, {})
    assert loaded.shape == size and loaded.stride() == strides
