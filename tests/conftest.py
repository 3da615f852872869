"""Gives tests the packages that Taeda is compared with, as fixtures named after them.

A test that needs PyTorch takes the fixture `torch` and thereby the marker `peers`. Without the
package it is skipped; under `./run test --peers`, which runs these tests alone, it fails.

Of the cases of a test that is marked `sampled(n)`, all but one in n are marked `spared`.
"""

import collections
import importlib
import os

import pytest

# Tests that draw without a seed draw the same numbers in every run. Set before Taeda is imported.
os.environ.setdefault("TAEDA_SEED", "67280421310721")

PEERS = ("torch", "transformers", "safetensors", "einops")


def _imported(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    if os.environ.get("TAEDA_PEERS") == "required":
        pytest.fail(f"{name} is not installed, and this run must not skip it", pytrace=False)
    pytest.skip(f"needs {name}: ./run test --peers installs it and runs this test")


def _fixture_of(name):
    return pytest.fixture(scope="session", name=name)(lambda: _imported(name))


torch, transformers, safetensors, einops = map(_fixture_of, PEERS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks what takes a peer or a longer run, before tests are chosen by their markers."""
    cases = collections.Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0] != 0:
                item.add_marker("spared")
            cases[test] += 1
        if not set(PEERS).isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("peers")
