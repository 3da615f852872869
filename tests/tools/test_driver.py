"""The parts of `./run` that decide something: build times, caches, package links, probes, page links."""

import os
import shutil
import subprocess

import pytest
from driver import build, docs, environment, process
from link_package import link_package

NINJA_LOG = """\
# ninja log v6
0\t1500\t0\tCMakeFiles/taeda.dir/taeda/base/error.cpp.o\tabc
10\t20\t0\tpython/taeda/libtaeda.so\tabc
5\t2005\t0\tCMakeFiles/taeda.dir/taeda/base/error.cpp.o\tabc
"""


def test_the_last_compile_of_a_file_counts():
    times = build.compile_times(NINJA_LOG)
    assert times == {"CMakeFiles/taeda.dir/taeda/base/error.cpp.o": 2.0}
    assert build.source_of(*times) == "taeda/base/error.cpp"


@pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")
def test_a_cached_precompiled_header_follows_comments(tmp_path):
    """A header that came out of the cache with other comments would be read a second time."""
    env = {**os.environ, **build.ccache_env({"CCACHE_DIR": str(tmp_path / "cache")})}
    (tmp_path / "all.h").write_text('#include "part.h"\n')
    (tmp_path / "main.cpp").write_text('#include "part.h"\nPart part;\n')
    header = ["ccache", "g++", "-x", "c++-header", "-c", "all.h", "-o", "all.h.gch"]
    source = ["g++", "-include", "all.h", "-c", "main.cpp", "-o", "main.o"]

    def compile_with(comment):
        (tmp_path / "part.h").write_text(f"#pragma once\nstruct Part {{}};  // {comment}\n")
        for command in (header, source):
            subprocess.run(command, cwd=tmp_path, env=env, check=True)

    compile_with("a comment")
    compile_with("another")


def test_package_links_follow_added_and_removed_files(tmp_path):
    source, package = tmp_path / "source", tmp_path / "package"
    source.mkdir()
    package.mkdir()
    (package / "libtaeda.so").write_text("built")
    (source / "one.py").write_text("1")
    link_package([source, tmp_path / "absent"], package)
    assert (package / "one.py").resolve() == source / "one.py"
    (source / "one.py").unlink()
    (source / "two").mkdir()
    link_package([source], package)
    assert sorted(entry.name for entry in package.iterdir()) == ["libtaeda.so", "two"]


def test_a_folder_of_two_sources_is_a_folder_of_links(tmp_path):
    written, generated, package = (tmp_path / name for name in ("written", "generated", "package"))
    for folder, name in ((written, "one.py"), (generated, "two.py")):
        (folder / "nn").mkdir(parents=True)
        (folder / "nn" / name).write_text(name)
    link_package([written], package)
    assert (package / "nn").is_symlink()
    link_package([written, generated], package)
    assert sorted(entry.name for entry in (package / "nn").iterdir()) == ["one.py", "two.py"]
    link_package([written], package)
    assert (package / "nn").is_symlink()
    assert (generated / "nn" / "two.py").exists()


@pytest.mark.parametrize(
    ("probe", "is_present"),
    [
        ("command sh", True),
        ("command no-such-command-here", False),
        ("header no/such/header.h", False),
        ("file /", True),
        ("library no_such_library_here", False),
    ],
)
def test_probes(probe, is_present):
    assert environment.is_present(probe) is is_present


def test_unknown_probe():
    with pytest.raises(ValueError, match="unknown probe 'smell of solder'"):
        environment.is_present("smell of solder")


def test_every_probe_and_runtime_name_in_the_pins_is_known():
    table = environment.pins()
    tables = [table["system"]["required"], table["system"]["optional"]]
    tables += table["system"]["cross"].values()
    for probe in (probe for packages in tables for probe in packages.values()):
        environment.is_present(probe)
    assert set(table["pip"]["runtime"]["names"]) <= set(table["pip"]["tools"])
    assert table["pip"]["peers"]["numpy"] == table["pip"]["tools"]["numpy"]


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.md").write_text(
        "[b](b.md#part) [web](https://example.org) `[code](no.md)` [gone](gone.md)\n"
    )
    (tmp_path / "b.md").write_text("# B\n")
    assert docs.broken_links(tmp_path) == ["a.md: gone.md"]


def test_collected_pages_lead_out_of_their_folder_as_before(tmp_path):
    origin, copy = tmp_path / "docs", tmp_path / "build" / "docs"
    (tmp_path / "README.md").write_text("# Top\n")
    for folder in (origin, copy):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text("[top](../README.md#x) [b](b.md) [gone](../gone.md)\n")
    docs.redirect_links(copy, origin)
    expected = "[top](../../README.md#x) [b](b.md) [gone](../gone.md)\n"
    assert (copy / "a.md").read_text() == expected


PAGES = [*process.ROOT.glob("*.md"), *process.ROOT.glob("docs/*.md")]
PAGES += [*process.ROOT.glob("taeda/**/README.md"), *process.ROOT.glob("python/**/README.md")]
PAGES += [
    page
    for name in ("tools", "tests", "bench", "examples")
    for page in process.ROOT.glob(f"{name}/*.md")
]


def test_every_folder_has_a_readme():
    folders = ["tools", "tests", "bench", "examples", "docs", "python", "python/interop"]
    folders += ["python/src", *(str(f) for f in process.ROOT.glob("python/src/*") if f.is_dir())]
    folders += [str(f) for f in (process.ROOT / "taeda").iterdir() if f.is_dir()]
    assert [name for name in folders if not (process.ROOT / name / "README.md").exists()] == []


def test_the_index_names_every_page():
    folder = process.ROOT / "docs"
    index = (folder / "README.md").read_text()
    pages = [page.name for page in folder.glob("*.md") if page.name != "README.md"]
    assert [name for name in pages if f"]({name})" not in index] == []


def test_collected_index_names_operator_pages(tmp_path):
    (tmp_path / "operators").mkdir()
    (tmp_path / "operators" / "view.md").write_text("# Operators: view\n")
    (tmp_path / "README.md").write_text("# Index\n")
    docs.add_operators(tmp_path)
    assert "[view](operators/view.md)" in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(process.ROOT)))
def test_links_of_the_tree_resolve(page):
    assert docs.broken_links_of(page) == []
