"""Models that a folder offers by the functions of its hubconf.py, and files that are fetched."""

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import taeda

try:
    from tqdm import tqdm
except ImportError:

    class tqdm:
        """Tells how much of a file is there, where the package of that name is missing."""

        def __init__(self, total=None, disable=False, unit=None, **options):
            self.total, self.disable, self.unit, self.n = total, disable, unit, 0

        def update(self, n):
            if self.disable:
                return
            self.n += n
            whole = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n} bytes"
            sys.stderr.write(f"\r{whole}")
            sys.stderr.flush()

        def close(self):
            if not self.disable and self.n:
                sys.stderr.write("\n")
            self.disable = True

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.close()


__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

READ_DATA_CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # of a file whose name tells its checksum

_folder = None


def _get_torch_home():
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir():
    """The folder of fetched files: `$TORCH_HOME/hub` if `set_dir` has not named another."""
    return _folder or os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Makes `d` the folder of fetched files."""
    global _folder
    _folder = os.path.expanduser(d)


@contextmanager
def _on_path(folder):
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _folder_of(repo_or_dir, source):
    """The folder that holds hubconf.py."""
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return os.path.expanduser(repo_or_dir)
    owner_and_name, _, branch = repo_or_dir.partition(":")
    name = f"{owner_and_name.replace('/', '_')}_{(branch or 'main').replace('/', '_')}"
    kept = os.path.join(get_dir(), name)
    if not os.path.isdir(kept):
        raise RuntimeError(
            f"repositories are not fetched from GitHub: put a copy of {repo_or_dir} into {kept}, "
            'or name its folder with source="local"'
        )
    return kept


def _hubconf(folder):
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf.py", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [
        name
        for name in getattr(module, "dependencies", ())
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module, name):
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return entry


def list(
    github,
    force_reload=False,
    skip_validation=False,
    trust_repo="check",
    verbose=True,
    *,
    source="github",
):
    """The names of the functions that a hubconf.py offers."""
    folder = _folder_of(github, source)
    with _on_path(folder):
        module = _hubconf(folder)
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(
    github, model, force_reload=False, skip_validation=False, trust_repo="check", *, source="github"
):
    """The docstring of a function that a hubconf.py offers."""
    folder = _folder_of(github, source)
    with _on_path(folder):
        return _entry(_hubconf(folder), model).__doc__


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo="check",
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """What the function `model` of the folder's hubconf.py returns for the other arguments."""
    folder = _folder_of(repo_or_dir, source)
    with _on_path(folder):
        return _entry(_hubconf(folder), model)(*args, **kwargs)


def _length(source):
    length = source.headers.get("Content-Length")
    return None if length is None else int(length)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Fetches a file whole or not at all; its SHA-256 must begin with `hash_prefix`, if given."""
    dst = os.path.expanduser(dst)
    request = Request(url, headers={"User-Agent": "torch.hub"})
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(
        dir=os.path.dirname(os.path.abspath(dst)), suffix=".partial", delete=False
    ) as file:
        try:
            with (
                urlopen(request) as source,
                tqdm(total=_length(source), disable=not progress, unit="B") as bar,
            ):
                while block := source.read(READ_DATA_CHUNK):
                    file.write(block)
                    digest.update(block)
                    bar.update(len(block))
            found = digest.hexdigest()
            if hash_prefix is not None and not found.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
            file.close()
            shutil.move(file.name, dst)
        finally:
            Path(file.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url,
    model_dir=None,
    map_location=None,
    progress=True,
    check_hash=False,
    file_name=None,
    weights_only=False,
):
    """What the file behind `url` holds; it is fetched once, into `model_dir`."""
    if os.environ.get("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead")
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        if progress:
            sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        expected = HASH_REGEX.search(os.path.basename(path)) if check_hash else None
        download_url_to_file(url, path, expected and expected[1], progress)
    return taeda.load(path, map_location=map_location, weights_only=weights_only)
