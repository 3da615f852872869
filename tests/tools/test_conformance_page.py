"""The page of PyTorch's own tests: a reason for each that does not pass, shares that leave out the rest."""

import conformance_page as made
import pytest

GROUP = {
    "id": "pt-x",
    "passed": 6,
    "total": 10,
    "failures": {"a": "E", "b": "E", "c": "E", "d": "E"},
}
REASONS = """# group, test, reason
pt-x\ta\tmissing operator: conv2d
pt-x\tb\tlater area: sparse tensors
pt-x\tc\tdifference by choice: a | b
pt-x\td\topen: a message
"""


def test_the_share_leaves_out_what_is_to_come():
    assert made.row(GROUP, made.read_reasons(REASONS)) == (
        "| pt-x | 10 | 6 | 1 | 1 | 0 | 0 | 1 | 1 | 75 % |"
    )


def test_tests_under_another_name_count_where_they_pass():
    reasons = made.read_reasons(REASONS.replace("open: a message", "another name: of the package"))
    assert made.row(GROUP, reasons) == "| pt-x | 10 | 6 | 1 | 1 | 1 | 0 | 1 | 0 | 88 % |"
    made.check_renamed([{"id": "pt-x", "passed": 1, "failures": {}}], reasons)
    for renamed in ([], [{"id": "pt-x", "passed": 0, "failures": {"d": "E"}}]):
        with pytest.raises(SystemExit, match="not all of the tests under another name"):
            made.check_renamed(renamed, reasons)


def test_every_test_has_its_line():
    text = made.page([GROUP], made.read_reasons(REASONS))
    assert "| `a` | missing operator: conv2d |" in text
    assert "| `c` | difference by choice: a &#124; b |" in text


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({**GROUP, "failures": {**GROUP["failures"], "e": "E"}}, "no reason: pt-x e"),
        ({**GROUP, "failures": {"a": "E"}}, "passes, or is no test: pt-x b"),
    ],
)
def test_reasons_and_failures_must_agree(group, message):
    with pytest.raises(SystemExit, match=message):
        made.check([group], made.read_reasons(REASONS))


def test_reasons_of_other_groups_are_left_alone():
    made.check([GROUP], made.read_reasons(REASONS + "pt-y\tz\topen: a message\n"))


@pytest.mark.parametrize("line", ["pt-x\ta", "pt-x\ta\tno kind", "pt-x\ta\topen"])
def test_lines_that_are_no_reason(line):
    with pytest.raises(SystemExit, match="not group, test and a reason"):
        made.read_reasons(line)


def test_the_committed_page_has_the_committed_reasons():
    reasons = made.read_reasons(made.REASONS.read_text())
    text = made.PAGE.read_text()
    for (_, test), reason in reasons.items():
        assert f"| `{test}` | {reason.replace('|', '&#124;')} |" in text
