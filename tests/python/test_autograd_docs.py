"""Runs the Python snippets of docs/autograd.md, one after the other, as a reader would."""

import pathlib
import re

import pytest
from under_test import NAME

PAGE = pathlib.Path(__file__).parents[2] / "docs/autograd.md"


@pytest.mark.skipif(NAME != "taeda", reason="the page speaks of Taeda")
def test_snippets_run():
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(snippets) >= 5
    names = {}
    for snippet in snippets:
        exec(snippet, names)
