"""FileCheck: strings in order, and errors that name what is missing."""

import pytest
from under_test import NAME, t

FileCheck = t.testing.FileCheck
TEXT = "one two\nthree two four\nfive\n"


def passes(check, text=TEXT):
    try:
        check.run(text)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda c: c.check("one").check("four"), True),
        (lambda c: c.check("four").check("one"), False),
        (lambda c: c.check("two").check("two"), True),
        (lambda c: c.check("two").check("two").check("two"), False),
        (lambda c: c.check("one").check_same("two"), True),
        (lambda c: c.check("one").check_same("three"), False),
        (lambda c: c.check("one").check_next("four"), True),
        (lambda c: c.check("one").check_next("five"), False),
        (lambda c: c.check("five").check_next("one"), False),
        (lambda c: c.check_not("six"), True),
        (lambda c: c.check_not("five"), False),
        (lambda c: c.check_not("three").check("two"), True),
        (lambda c: c.check("one").check_not("three").check("four"), False),
        (lambda c: c.check("one").check_not("one").check_not("six"), True),
        (lambda c: c.check_count("two", 2), True),
        (lambda c: c.check_count("two", 1), True),
        (lambda c: c.check_count("two", 3), False),
        (lambda c: c.check_count("two", 2, exactly=True), True),
        (lambda c: c.check_count("two", 1, exactly=True), False),
        (lambda c: c.check_count("six", 0, exactly=True), True),
        (lambda c: c.check_dag("four").check_dag("one").check("five"), True),
        (lambda c: c.check_dag("five").check_dag("one").check("four"), False),
        (lambda c: c.check_dag("four").check_dag("six"), False),
        (lambda c: c.check_regex("t[a-z]+e"), True),
        (lambda c: c.check_regex("^six"), False),
    ],
)
def test_checks(make, expected):
    assert passes(make(FileCheck())) is expected


def test_errors_name_what_is_missing_or_too_much():
    with pytest.raises(RuntimeError) as caught:
        FileCheck().check("one").check('s"ix').run(TEXT)
    assert 'Expected to find "s\\"ix" but did not find it\nSearched string:\n' in str(caught.value)
    assert 'From CHECK: s"ix\n' in str(caught.value)
    with pytest.raises(RuntimeError, match='Expected to not find "two" but found it') as caught:
        FileCheck().check_not("two").run(TEXT)
    assert "one two" in str(caught.value) and "From CHECK-NOT: two\n" in str(caught.value)
    with pytest.raises(RuntimeError, match="From CHECK-COUNT-3: two"):
        FileCheck().check_count("two", 3).run(TEXT)
    with pytest.raises(RuntimeError, match="No checks have been added"):
        FileCheck().run(TEXT)
    with pytest.raises(RuntimeError, match="doesn't do anything"):
        FileCheck().check_count("two", 0)


def test_checks_in_comments():
    checks = """
    # CHECK: one
    #CHECK-NEXT: three
    # CHECK-COUNT-EXACTLY-1: two
    # CHECK-SAME: four
    # CHECK-NOT: six
    """
    FileCheck().run(checks.replace("# CHECK-SAME: four\n", ""), TEXT)
    with pytest.raises(RuntimeError, match='Expected to not find "two"'):
        FileCheck().run("# CHECK-COUNT-EXACTLY-1: two\n", TEXT)
    with pytest.raises(RuntimeError, match="Could not parse check at"):
        FileCheck().run("# CHECK-SOON: one\n", TEXT)


def test_what_is_underlined():
    text = "x = call(y)\n    ~~~~ <--- HERE\n"
    FileCheck().check_source_highlighted("call").run(text)
    for token in ("x", "cal"):
        with pytest.raises(RuntimeError):
            FileCheck().check_source_highlighted(token).run(text)


@pytest.mark.skipif(NAME != "taeda", reason="PyTorch takes graphs of TorchScript")
def test_graphs():
    graph = t.fx.symbolic_trace(lambda x: x.relu() + 1).graph
    FileCheck().check("relu").check("add").check("return").run(graph)
