"""PyTorch's public names: each is there or has a reason, and docs/names.md says so."""

import pytest
from under_test import NAME

pytestmark = pytest.mark.skipif(NAME != "taeda", reason="about Taeda's names")


@pytest.fixture(scope="module")
def tool(torch):
    import public_names

    return public_names


@pytest.fixture(scope="module")
def reasons(tool):
    return tool.Reasons(tool.REASONS.read_text())


@pytest.fixture(scope="module")
def comparison(tool, reasons):
    return tool.compared(reasons)


def test_every_missing_name_has_a_reason(comparison):
    assert [problem for problem in comparison[1] if problem.startswith("no reason")] == []


def test_every_reason_is_of_a_missing_name(comparison):
    assert [problem for problem in comparison[1] if not problem.startswith("no reason")] == []


def test_the_page_is_up_to_date(tool, reasons, comparison):
    page = tool.page(comparison[0], reasons.refused)
    assert tool.PAGE.read_text() == page, "tools/public_names.py writes it"


def test_signatures_are_compared_by_names_kinds_and_defaults(tool):
    def theirs(a, b=1, *, c=None):
        pass

    def ours(a, b=2, c=None):
        pass

    assert tool.difference(theirs, theirs) is None
    assert tool.difference(theirs, ours) == (["b=1", "c=None/kw"], ["b=2", "c=None"])


def test_a_missing_name_without_a_reason_is_told(tool):
    _, problems = tool.compared(tool.Reasons("missing = []"))
    assert "no reason: torch.nn.qat" in problems


def test_a_reason_of_no_name_is_told(tool):
    text = '[[missing]]\nareas = ["nn"]\nnames = ["Linear"]\nreason = "a slip"\n'
    _, problems = tool.compared(tool.Reasons(text))
    assert "a reason for no name: a slip" in problems


def test_a_use_that_does_not_raise_is_told(tool):
    call = "taeda.nn.Linear(1, 1)"
    text = f'missing = []\n[[refused]]\narea = "torch.nn"\ncall = "{call}"\nreason = "a slip"\n'
    _, problems = tool.compared(tool.Reasons(text))
    assert f"does not raise: {call}" in problems
