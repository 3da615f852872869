"""Files when something fails: full disks, folders without rights, killed and competing processes."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from under_test import NAME, t

pytestmark = [pytest.mark.slow, pytest.mark.skipif(NAME != "taeda", reason="about Taeda's files")]

FORMATS = [pytest.param(True, id="archive"), pytest.param(False, id="stream")]


def run(code, *arguments, **options):
    """A process of its own; gives what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("is_archive", FORMATS)
def test_a_full_disk_leaves_the_old_file(is_archive, tmp_path):
    path = tmp_path / "a.pt"
    t.save(t.arange(3), path)
    code = """
        import resource, signal, sys, taeda as t
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        path, is_archive = sys.argv[1], sys.argv[2] == "True"
        try:
            t.save(t.zeros(10**6), path, _use_new_zipfile_serialization=is_archive)
        except (RuntimeError, OSError) as error:
            print(type(error).__name__, error)
    """
    assert "File too large" in run(code, path, is_archive)
    assert os.listdir(tmp_path) == ["a.pt"]
    assert t.load(path).tolist() == [0, 1, 2]


ON_A_SMALL_DISK = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"')


@pytest.fixture
def small_disk(tmp_path):
    """A command that sees a disk of one megabyte at a folder, which is given with it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [*ON_A_SMALL_DISK, str(disk)]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting needs a user namespace, which this machine does not give")
    return command, disk


@pytest.mark.parametrize("form", ["archive", "stream", "safetensors"])
def test_a_disk_that_is_really_full(form, small_disk):
    command, disk = small_disk
    code = """
        import os, sys, taeda as t
        from taeda.utils import safetensors
        form, folder = sys.argv[1:]
        path = os.path.join(folder, "a." + form)
        def save(x):
            if form == "safetensors":
                return safetensors.save_file({"x": x}, path)
            t.save({"x": x}, path, _use_new_zipfile_serialization=form == "archive")
        def load():
            return t.load(path)["x"]
        save(t.arange(1000))
        for i in range(3):
            try:
                save(t.zeros(10**6))
                print("no error")
            except (RuntimeError, OSError) as error:
                print("No space left on device" in str(error))
            print(os.listdir(folder) == [os.path.basename(path)], load().equal(t.arange(1000)))
        save(t.arange(2000))  # there is room again for what fits
        print(load().numel())
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [*command, sys.executable, "-c", textwrap.dedent(code), form, str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True", "True"] * 3 + ["2000"]


def test_devices_are_written_to_as_they_are():
    with pytest.raises(RuntimeError, match="cannot write /dev/full: No space left on device"):
        t.save(t.zeros(10**5), "/dev/full")
    t.save(t.zeros(10**5), "/dev/null")
    with pytest.raises(OSError, match="No space left"):
        t.save(t.zeros(10**5), "/dev/full", _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("is_archive", FORMATS)
def test_a_folder_without_rights(is_archive, tmp_path):
    path = tmp_path / "closed" / "a.pt"
    path.parent.mkdir()
    t.save(t.arange(3), path)
    path.parent.chmod(0o555)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
    code = """
        import io, os, sys
        import taeda as t
        value = t.ones(3)
        for form in (True, False):  # all that saving imports
            t.save(value, io.BytesIO(), _use_new_zipfile_serialization=form)
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        path, is_archive = sys.argv[1], sys.argv[2] == "True"
        try:
            t.save(value, path, _use_new_zipfile_serialization=is_archive)
        except (RuntimeError, OSError) as error:
            print(error)
    """
    try:
        assert "Permission denied" in run(code, path, is_archive)
    finally:
        path.parent.chmod(0o755)
    assert t.load(path).tolist() == [0, 1, 2]


def test_what_does_not_pickle_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    t.save(t.arange(3), path)
    for is_archive in (True, False):
        with pytest.raises((AttributeError, TypeError, ImportError)):
            t.save([t.zeros(10), lambda: 0], path, _use_new_zipfile_serialization=is_archive)
    assert os.listdir(tmp_path) == ["a.pt"] and t.load(path).tolist() == [0, 1, 2]


@pytest.mark.parametrize("is_archive", FORMATS)
def test_a_killed_process_leaves_the_old_file(is_archive, tmp_path):
    path = tmp_path / "a.pt"
    t.save(t.arange(3), path)
    code = """
        import sys, taeda as t
        big = t.zeros(64 << 20, dtype=t.uint8)
        print("ready", flush=True)
        while True:
            t.save([big] * 2 + [big.clone()], sys.argv[1] + ".other",
                   _use_new_zipfile_serialization=sys.argv[2] == "True")
            t.save({"n": big}, sys.argv[1], _use_new_zipfile_serialization=sys.argv[2] == "True")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(path), str(is_archive)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    loaded = t.load(path)
    if not isinstance(loaded, dict):
        assert loaded.tolist() == [0, 1, 2]
    else:
        assert loaded["n"].sum() == 0 and loaded["n"].numel() == 64 << 20
    for name in (path, f"{path}.other"):
        t.save(t.arange(2), name, _use_new_zipfile_serialization=is_archive)
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "a.pt.other"]


def test_only_what_dead_writers_of_this_file_left_is_removed(tmp_path):
    path = tmp_path / "a.pt"
    code = """
        import os, signal, sys, taeda as t
        sink = t._C.PyTorchFileWriter(sys.argv[1])
        print("open", flush=True)
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    writers = [subprocess.Popen(command, env=environment, **streams) for _ in range(2)]
    for writer in writers:
        assert writer.stdout.readline() == b"open\n"
    dead, living = writers
    dead.kill()
    dead.wait()
    others = ["a.pt.partial-", "a.pt.partial-1-2.txt", "a.pt.partial-x-1", "b.pt.partial-1-2"]
    for name in others:
        (tmp_path / name).write_bytes(b"somebody's")
    # A writer may take another number while a second one looks for what dead ones left.
    (left,) = tmp_path.glob(f"a.pt.partial-{dead.pid}-?")
    (kept,) = tmp_path.glob(f"a.pt.partial-{living.pid}-?")
    t.save(1, path)
    assert not left.exists()
    expected = {"a.pt", kept.name, *others}
    assert set(os.listdir(tmp_path)) == expected
    living.kill()
    for writer in writers:
        writer.communicate()


def test_two_processes_save_to_one_file(tmp_path):
    path = tmp_path / "a.pt"
    code = """
        import sys, taeda as t
        value = float(sys.argv[2])
        for _ in range(30):
            t.save(t.full((50000,), value), sys.argv[1])
    """
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(path), str(value)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for value in (1, 2)
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers) or not seen:
        if path.exists():
            values = t.load(path).unique().tolist()
            assert len(values) == 1
            seen.add(values[0])
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen <= {1, 2}
    assert os.listdir(tmp_path) == ["a.pt"]


def test_the_rights_and_the_links_of_a_file_stay(tmp_path):
    path = tmp_path / "a.pt"
    t.save(1, path)
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    t.save(2, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and t.load(path) == 2
    assert path.stat().st_mode & 0o777 == 0o640


class Failing(io.BytesIO):
    def write(self, data):
        if self.tell() > 100:
            raise OSError(28, "No space left on device")
        return super().write(data)


@pytest.mark.parametrize("is_archive", FORMATS)
def test_file_objects_that_fail(is_archive):
    with pytest.raises(OSError, match="No space left"):
        t.save(t.zeros(1000), Failing(), _use_new_zipfile_serialization=is_archive)


class Short(io.BytesIO):
    """Takes and gives at most seven bytes per call, as a raw file may."""

    def write(self, data):
        return super().write(bytes(data)[:7])

    def readinto(self, into):
        return super().readinto(memoryview(into)[:7])


def test_file_objects_that_move_little():
    file = Short()
    t.save(t.arange(20), file)
    file.seek(0)
    assert t.load(file).tolist() == list(range(20))


class Keeping(io.BytesIO):
    """Keeps what it is given for longer than the call."""

    def __init__(self):
        super().__init__()
        self.kept = []

    def write(self, data):
        self.kept.append(memoryview(data))
        return super().write(data)


def test_file_objects_that_keep_memory_keep_copies():
    file, value = Keeping(), t.ones(10**6)
    t.save(value, file)
    written = file.getvalue()
    value.zero_()
    assert b"".join(file.kept) == written
