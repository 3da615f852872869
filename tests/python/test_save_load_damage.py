"""Damaged files: the error names the file and the byte, wherever the damage is."""

import io
import re
import tarfile
import traceback
import zipfile
from pickle import UnpicklingError

import pytest
from taeda.utils import safetensors
from taeda.utils.data import TokenFile
from under_test import NAME, t

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's messages")

VALUE = {"w": t.arange(6.0).reshape(2, 3), "n": [1, "text", None]}


def archive(path):
    t.save(VALUE, path)


def deflated(path):
    t.save(VALUE, path)
    with zipfile.ZipFile(path) as stored:
        entries = {info.filename: stored.read(info) for info in stored.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in entries.items():
            zipped.writestr(name, data)


def stream(path):
    t.save(VALUE, path, _use_new_zipfile_serialization=False)


def named_tensors(path):
    safetensors.save_file({"w": VALUE["w"], "n": t.arange(3)}, path)


LOADS = {
    "archive": (archive, t.load),
    "mapped": (archive, lambda path: t.load(path, mmap=True)),
    "archive, any code": (archive, lambda path: t.load(path, weights_only=False)),
    "deflated": (deflated, t.load),
    "stream": (stream, t.load),
    "stream, any code": (stream, lambda path: t.load(path, weights_only=False)),
    "safetensors": (named_tensors, safetensors.load_file),
    "by C++": (archive, t.serialization.load_archive),
}


def error_of(load, path):
    """What is raised, with its notes; None where nothing is."""
    try:
        load(path)
    except Exception as error:
        return "".join(traceback.format_exception_only(error))
    return None


def names_the_place(text, path):
    return re.search(r"byte \d+", text) is not None and str(path) in text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", LOADS)
def test_truncated_files(form, tmp_path):
    write, load = LOADS[form]
    path = tmp_path / "a.pt"
    write(path)
    whole = path.read_bytes()
    step = max(1, len(whole) // 150)
    for size in {*range(0, len(whole), step), len(whole) - 1}:
        path.write_bytes(whole[:size])
        text = error_of(load, path)
        assert text is not None, size
        assert names_the_place(text, path), (size, text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", LOADS)
def test_changed_bytes(form, tmp_path):
    write, load = LOADS[form]
    path = tmp_path / "a.pt"
    write(path)
    whole = path.read_bytes()
    failures = 0
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        for change in (0xFF, 0x01):
            damaged = bytearray(whole)
            damaged[at] ^= change
            path.write_bytes(damaged)
            text = error_of(load, path)
            failures += text is not None
            assert text is None or names_the_place(text, path), (at, text)
    assert failures > 10


def test_the_place_is_that_of_the_damage(tmp_path):
    path = tmp_path / "a.pt"
    archive(path)
    whole = bytearray(path.read_bytes())
    at = whole.index(VALUE["w"].numpy().tobytes())
    whole[at + 5] ^= 1
    path.write_bytes(whole)
    with pytest.raises(RuntimeError, match=f"damaged between byte {at} and byte {at + 24}"):
        t.load(path)
    with pytest.raises(RuntimeError, match=f"the file object is .* between byte {at} "):
        t.load(io.BytesIO(whole))


def test_pickles_inside_of_archives_count_from_the_start_of_the_file(tmp_path):
    path = tmp_path / "a.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/version", "3\n")
        file.writestr("a/data.pkl", b"\x80\x02K")
    at = path.read_bytes().index(b"\x80\x02K")
    with pytest.raises(EOFError, match=f"ends at byte {at + 3} of {re.escape(str(path))}"):
        t.load(path)
    with pytest.raises(
        UnpicklingError, match=rf"\(before byte {at + 3} of {re.escape(str(path))}\)"
    ):
        t.load(path, weights_only=False)


def tar(
    path, storages=b"\x80\x02K\x00.\x80\x02].", tensors=b"\x80\x02K\x00.", pickle=b"\x80\x02K\x07."
):
    with tarfile.open(path, "w") as file:
        for name, data in (("storages", storages), ("tensors", tensors), ("pickle", pickle)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))


def test_tar_archives(tmp_path):
    path = tmp_path / "a.pt"
    load = lambda path: t.load(path, weights_only=False)
    tar(path)
    assert load(path) == 7
    whole = path.read_bytes()
    for size in range(262, 2600, 61):
        path.write_bytes(whole[:size])
        text = error_of(load, path)
        assert text is not None and names_the_place(text, path), (size, text)
    for part in ("storages", "tensors", "pickle"):
        tar(path, **{part: b"\x80\x02K"})
        text = error_of(load, path)
        assert text is not None and names_the_place(text, path), (part, text)


def test_token_files(tmp_path):
    path = tmp_path / "tokens.bin"
    path.write_bytes(bytes(101))
    with pytest.raises(
        ValueError, match=r"tokens.bin is truncated .* the last one begins at byte 100"
    ):
        TokenFile(path, 8)
    path.write_bytes(bytes(10))
    with pytest.raises(ValueError, match=r"tokens.bin has 5 tokens and ends at byte 10; .* need 9"):
        TokenFile(path, 8)
    path.write_bytes(bytes(100))
    state = TokenFile(path, 8).__getstate__()
    path.write_bytes(bytes(60))
    copy = TokenFile.__new__(TokenFile)
    with pytest.raises(RuntimeError, match="is truncated: it ends at byte 60 and had 100 bytes"):
        copy.__setstate__(state)
    with pytest.raises(TypeError, match=r"tokens are integers: .* got torch.float32"):
        TokenFile(path, 8, dtype=t.float32)


def test_bytes_after_the_end_of_an_archive(tmp_path):
    buffer = io.BytesIO()
    t.save([t.ones(3)], buffer)
    for tail in (b"x", b"junk" * 10):
        path = tmp_path / "a.pt"
        path.write_bytes(buffer.getvalue() + tail)
        for source in (path, io.BytesIO(path.read_bytes())):
            assert t.load(source)[0].tolist() == [1.0, 1.0, 1.0]


def test_an_alignment_that_is_no_number(tmp_path):
    path = tmp_path / "a.pt"
    t.save(t.ones(3), path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.pt", "w") as new:
        for name in old.namelist():
            is_alignment = name.endswith(".storage_alignment")
            new.writestr(name, b"many" if is_alignment else old.read(name))
    message = "many" if NAME == "torch" else r"got b'many' \(at byte \d+ of .*b.pt"
    patch = t.utils.serialization.config.patch("load.calculate_storage_offsets", True)
    with patch, pytest.raises(ValueError, match=message):
        t.load(tmp_path / "b.pt", mmap=True)
