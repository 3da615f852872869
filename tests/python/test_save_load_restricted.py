"""What `load` refuses by default: files that name code, and files that lie."""

import collections
import io
import os
import pickle
import random
import resource
import struct
import subprocess
import sys
import warnings
import zipfile

import pytest
from save_load_values import newer_values
from under_test import NAME, t

only_taeda = pytest.mark.skipif(NAME != "taeda", reason="what Taeda adds")


def saved(value, **options):
    buffer = io.BytesIO()
    t.save(value, buffer, **options)
    return buffer.getvalue()


def with_records(data, **records):
    """An archive in which some records are others; None leaves one out."""
    names = {"pickle": "archive/data.pkl", "first": "archive/data/0"}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w") as made:
        for name in given.namelist():
            content = given.read(name)
            for key, value in records.items():
                content = value if names.get(key) == name else content
            if content is not None:
                made.writestr(name, content)
    return out.getvalue()


def load(data, **options):
    return t.load(io.BytesIO(data), **options)


def load_pickle(pickled):
    """Of an archive with this pickle and one storage of ten floats."""
    return load(with_records(saved(t.zeros(10)), pickle=pickled))


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harm",)


class Evaluated:
    def __reduce__(self):
        return eval, ("1 + 1",)


@pytest.mark.parametrize("is_archive", [True, False])
def test_no_code_runs(is_archive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = saved([t.ones(2), Harmful()], _use_new_zipfile_serialization=is_archive)
    with pytest.raises(
        pickle.UnpicklingError, match=r"GLOBAL posix.mkdir whose module posix is bl"
    ):
        load(data)
    assert os.listdir() == []
    data = saved(Evaluated(), _use_new_zipfile_serialization=is_archive)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL eval was not an"):
        load(data)
    with t.serialization.safe_globals([os.mkdir]), pytest.raises(pickle.UnpicklingError):
        load(saved(Harmful()))


Point = collections.namedtuple("Point", "x y")


class Settings:
    def __init__(self):
        self.depth = 3


def test_the_user_allows_classes():
    point, settings = saved(Point(1, t.ones(2))), saved(Settings())
    name = f"{__name__}.Point"
    with pytest.raises(pickle.UnpicklingError, match=rf"add_safe_globals\(\[{name}\]\)"):
        load(point)
    assert t.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(point)) == [name]
    with t.serialization.safe_globals([Point, Settings]):
        assert load(point).x == 1
        assert load(settings).depth == 3
        assert t.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(point)) == []
    with pytest.raises(pickle.UnpicklingError):
        load(settings)
    t.serialization.add_safe_globals([(Settings, f"{__name__}.Settings")])
    try:
        assert t.serialization.get_safe_globals() == [(Settings, f"{__name__}.Settings")]
        assert load(settings).depth == 3
    finally:
        t.serialization.clear_safe_globals()
    assert t.serialization.get_safe_globals() == []


def test_other_instructions_and_protocols_are_refused():
    with pytest.raises(pickle.UnpicklingError, match="Unsupported operand 149"), pytest.warns():
        load(saved(t.ones(2), pickle_protocol=4))
    with pytest.raises(RuntimeError, match="explicit pickle_module is specified"):
        load(saved(1), pickle_module=pickle, weights_only=True)


REFUSED = {
    "call of what is no function": (b"\x80\x02K\x01)R.", "call reduce for unrecognized function 1"),
    "object of no class": (b"\x80\x02K\x01)\x81.", "Can only create new object"),
    "state of a number": (b"\x80\x02K\x01}b.", "Can only build Tensor, Parameter, OrderedDict"),
    "append to a dict": (b"\x80\x02}K\x01a.", "Can only append to lists"),
    "items of a list": (b"\x80\x02]K\x01K\x02s.", "Can only SETITEM for dict"),
    "persistent id of a text": (b"\x80\x02X\x01\0\0\0aQ.", "persistent_load id must be tuple or"),
    "persistent id of no storage": (b"\x80\x02K*\x85Q.", "but got <class 'int'>"),
}
CALLS = {
    "a tensor's size": (
        b"\x80\x02ctorch\nFloatTensor\nM\xff\xff\x85R.",
        "with arguments is not loa",
    ),
    "a storage's size": (
        b"\x80\x02ctorch.storage\nUntypedStorage\nM\xff\xff\x85\x81.",
        "with arguments is not loaded",
    ),
    "an encoding": (
        b"\x80\x02c_codecs\nencode\nX\1\0\0\0aX\4\0\0\0idna\x86R.",
        "the encoding 'idna' is not loaded",
    ),
    "a call inside": (
        b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(c__builtin__\nbytearray\n"
        b"ctorch\nTensor\nM\xff\xff\x85}tR.",
        "a tensor rebuilt by <class 'bytearray'> is not loaded",
    ),
}
DAMAGED = {
    "empty stack": b"\x80\x02.",
    "nothing to put": b"\x80\x02q\0.",
    "unknown memo": b"\x80\x02h\x05.",
    "tuple of too few": b"\x80\x02K\x01\x87.",
    "no mark": b"\x80\x02K\x01t.",
    "below a mark": b"\x80\x02K\x01(R.",
    "odd items": b"\x80\x02}(K\x01u.",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_instructions(name):
    pickled, message = REFUSED[name]
    with pytest.raises(pickle.UnpicklingError, match=message):
        load_pickle(pickled)


@only_taeda
@pytest.mark.parametrize("name", CALLS)
def test_calls_that_no_pickler_writes(name):
    pickled, message = CALLS[name]
    with pytest.raises(pickle.UnpicklingError, match=message):
        load_pickle(pickled)


@only_taeda
@pytest.mark.parametrize("name", ["collections Counter", "collections OrderedDict", "builtins set"])
def test_containers_do_not_go_through_tensors(name):
    # The tensor of the archive, handed to a class: its size may be any number.
    with zipfile.ZipFile(io.BytesIO(saved(t.zeros(10)))) as archive:
        tensor = archive.read("archive/data.pkl")
    call = b"c" + name.replace(" ", "\n").encode() + b"\n"
    with pytest.raises(pickle.UnpicklingError, match="of the elements of a tensor is not loaded"):
        load_pickle(
            b"\x80\x02" + call + tensor.removeprefix(b"\x80\x02").removesuffix(b".") + b"\x85R."
        )


@only_taeda
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_pickles_name_the_byte(name):
    with pytest.raises(
        pickle.UnpicklingError, match=r"the pickle is damaged: .* \(before byte \d+ of "
    ):
        load_pickle(DAMAGED[name])


@only_taeda
def test_truncated_pickles_name_the_byte():
    whole = b"\x80\x02X\xff\xff\xff\xff"
    with pytest.raises(
        EOFError, match=r"Ran out of input: the pickle ends at byte \d+ of the file object, "
    ):
        load_pickle(whole)
    with pytest.raises(EOFError):
        load(b"")


def bomb(opening, closing, depth):
    return b"\x80\x02" + opening * depth + b"N" + closing * depth + b"."


@only_taeda
@pytest.mark.parametrize(
    "pickled",
    [
        pytest.param(bomb(b"", b"\x85", 10**6), id="tuples"),
        pytest.param(bomb(b"](", b"e", 10**5), id="lists"),
        pytest.param(bomb(b"}(K\x01", b"u", 10**5), id="dicts"),
    ],
)
def test_recursion_bombs(pickled):
    with pytest.raises(
        pickle.UnpicklingError, match=r"nests more than 2000 objects \(before byte \d+ of "
    ):
        load_pickle(pickled)


@only_taeda
def test_marks_alone_do_no_harm():
    with pytest.raises(pickle.UnpicklingError, match="damaged"):
        load_pickle(b"\x80\x02" + b"(" * 10**6 + b".")


@pytest.mark.slow
@only_taeda
def test_claims_are_not_believed():
    """Sizes that a file only claims cost no memory."""
    code = (
        "import io, pickle, resource, taeda as t\n"
        "from test_save_load_restricted import CLAIMS\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "for name, data in CLAIMS().items():\n"
        "    try:\n"
        "        t.load(io.BytesIO(data))\n"
        "    except (RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as e:\n"
        "        assert 'memory' not in str(e), (name, e)\n"
        "        print(name)\n"
    )
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == list(CLAIMS()), done.stdout + done.stderr


def CLAIMS():
    good = saved(t.zeros(10))
    pickled = zipfile.ZipFile(io.BytesIO(good)).read("archive/data.pkl")
    huge = b"\x8a\x08" + struct.pack("<q", 2**50)
    size = b"K\x00K\n\x85q\x06"
    assert b"K\ntq\x05Q" in pickled and size in pickled
    stream = saved(t.zeros(10), _use_new_zipfile_serialization=False)
    return {
        "text": with_records(good, pickle=b"\x80\x02X\xff\xff\xff\x7fabc."),
        "storage": with_records(good, pickle=pickled.replace(b"K\ntq\x05Q", huge + b"tq\x05Q")),
        "tensor": with_records(good, pickle=pickled.replace(size, b"K\x00" + huge + b"\x85q\x06")),
        "bytearray": with_records(
            good, pickle=b"\x80\x02c__builtin__\nbytearray\n" + huge + b"\x85R."
        ),
        "memo": with_records(good, pickle=b"\x80\x02K\x01r\xff\xff\xff\xff0."),
        "stream": stream.replace(b"K\nNtq", huge + b"Ntq"),
        "streams": _many_claims(),
    }


def _many_claims():
    """A stream of many storages that each claim most of the file."""
    value = [t.zeros(1) for _ in range(20000)]
    stream = saved(value, _use_new_zipfile_serialization=False)
    most = b"J" + struct.pack("<i", len(stream) // 8)
    return stream.replace(b"K\x01Nt", most + b"Nt")


@only_taeda
def test_records_that_do_not_fit():
    good = saved(t.zeros(10))
    with pytest.raises(
        RuntimeError, match=r"record size \(20 bytes\) does not match .* \(40 bytes"
    ):
        load(with_records(good, first=bytes(20)))
    with pytest.raises(RuntimeError, match="failed locating file data/0: file not found"):
        load(with_records(good, first=None))
    with pytest.raises(RuntimeError, match=r"the checksum of archive/data/0 in .* is wrong"):
        load(good.replace(bytes(40), bytes(39) + b"\1"))


@only_taeda
def test_every_truncation_is_an_error():
    for data in (saved(t.arange(4.0)), saved(t.arange(4.0), _use_new_zipfile_serialization=False)):
        for size in range(len(data)):
            with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
                load(data[:size])


@only_taeda
def test_hostile_archives():
    with pytest.raises(RuntimeError, match="is there twice"):
        load(_twice(saved(t.zeros(10))))
    for path in ("../../../../x", "/etc/passwdxx", "archive\\data0"):
        with pytest.raises(RuntimeError, match="the name of an entry is refused"):
            load(_with_name(path))


def _twice(good):
    """The same archive with its first entry added once more."""
    out = io.BytesIO(good)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02N.")
    return out.getvalue()


def _with_name(path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("archive/data.pkl")
        archive.writestr(info, b"\x80\x02N.")
        archive.writestr("archive/version", b"3\n")
        info = zipfile.ZipInfo("x")
        info.filename = path
        archive.writestr(info, b"")
    return out.getvalue()


@pytest.mark.slow
@only_taeda
def test_zip_bombs():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("archive/data.pkl", "w", force_zip64=True) as record:
            for _ in range(1100):
                record.write(bytes(1 << 20))
        archive.writestr("archive/version", b"3\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RuntimeError, match="too much to be data"):
        load(out.getvalue())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500 << 10


@only_taeda
def test_mutations_never_crash():
    """TAEDA_FUZZ_ROUNDS sets how many."""
    rounds = int(os.environ.get("TAEDA_FUZZ_ROUNDS", "300"))
    numbers = random.Random(0)
    good = saved(newer_values(t))
    pickled = zipfile.ZipFile(io.BytesIO(good)).read("archive/data.pkl")
    stream = saved(t.ones(3), _use_new_zipfile_serialization=False)
    loaded = 0
    for round_number in range(rounds):
        form = round_number % 3
        data = bytearray((good, pickled, stream)[form])
        for _ in range(numbers.randrange(1, 4)):
            at = numbers.randrange(len(data))
            data[at] = numbers.choice((numbers.randrange(256), data[at] ^ 1, 0, 255))
        try:
            load(with_records(good, pickle=bytes(data)) if form == 1 else bytes(data))
            loaded += 1
        except Exception as error:
            assert not isinstance(error, (MemoryError, SystemError)), error
    assert loaded < rounds
