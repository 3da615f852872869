"""The two READMEs say the same: sections, links, code, and every number of the tables."""

import re

from driver.process import ROOT

ENGLISH = (ROOT / "README.md").read_text()
CHINESE = (ROOT / "README.zh.md").read_text()
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def _rows(text):
    """The sorted numbers of each row of each table, and how many tables there are."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    separators = [line for line in rows if set(line) <= set("|- ")]
    # A Chinese heading may write a small number in words.
    figures = [sorted(NUMBER.findall(row)) for row in rows if "PyTorch" not in row]
    return len(separators), figures


def _code(text):
    """The Python of the page without its comments."""
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.S)
    return [line.partition("  #")[0] for line in snippet.splitlines()]


def test_sections_and_links():
    assert ENGLISH.count("\n## ") == CHINESE.count("\n## ")
    links = [re.findall(r"\]\((docs/[^)]+)\)", text) for text in (ENGLISH, CHINESE)]
    assert links[0] == links[1]


def test_code():
    assert _code(ENGLISH) == _code(CHINESE)


def test_figures():
    assert _rows(ENGLISH)[0] > 0
    assert _rows(ENGLISH) == _rows(CHINESE)
