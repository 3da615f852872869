"""FileCheck: strings that a text must have, one after the other."""

import itertools
import re
from typing import NamedTuple


class _Check(NamedTuple):
    kind: str  # "", NEXT, SAME, NOT, DAG, COUNT, REGEX or SOURCE-HIGHLIGHTED
    text: str
    count: int = 1

    def __str__(self):
        name = "-".join(filter(None, ["CHECK", self.kind]))
        return (
            f"{name}-{self.count}: {self.text}" if self.kind == "COUNT" else f"{name}: {self.text}"
        )


class FileCheck:
    """Collects checks and runs them over a text; each begins behind the match of the one before.

    `FileCheck().check("a").check_not("b").check_next("c").run(text)`: "a", and on the line behind
    it "c", with no "b" between them. A check that fails is a RuntimeError.
    """

    def __init__(self):
        self._checks = []

    def _added(self, *check):
        self._checks.append(_Check(*check))
        return self

    def check(self, text):
        """`text` follows."""
        return self._added("", text)

    def check_next(self, text):
        """`text` follows on the next line."""
        return self._added("NEXT", text)

    def check_same(self, text):
        """`text` follows on the same line."""
        return self._added("SAME", text)

    def check_not(self, text):
        """`text` is not there before the next match, or the end."""
        return self._added("NOT", text)

    def check_dag(self, text):
        """`text` follows, in any order with the checks of this kind beside it."""
        return self._added("DAG", text)

    def check_regex(self, pattern):
        """A match of the pattern follows."""
        return self._added("REGEX", pattern)

    def check_source_highlighted(self, text):
        """`text` follows, with a ~ below each of its letters."""
        return self._added("SOURCE-HIGHLIGHTED", text)

    def check_count(self, text, count, exactly=False):
        """`text` follows so many times; with `exactly`, not once more."""
        if count == 0 and not exactly:
            raise RuntimeError("Count == 0 && !exactly doesn't do anything")
        if count:
            self._added("COUNT", text, count)
        return self.check_not(text) if exactly else self

    def run(self, *texts):
        """Runs the checks over a text, or over the second text those in comments of the first."""
        *comments, text = map(str, texts)
        for source in comments:
            self._read(source)
        if not self._checks:
            raise RuntimeError(
                "No checks have been added to this instance of Filecheck! Check for bad input."
            )
        place, forbidden = 0, []
        # Neighbours of these two kinds are looked for together.
        for kind, group in itertools.groupby(self._checks, lambda c: c.kind):
            group = list(group)
            if kind == "NOT":
                forbidden = group
                continue
            for checks in [group] if kind == "DAG" else [[check] for check in group]:
                start, end = _matched(text, place, checks)
                _refuse(text, place, start, forbidden)
                place, forbidden = end, []
        _refuse(text, place, len(text), forbidden)

    def _read(self, source):
        """Adds the checks of comments: `# CHECK: a`, `# CHECK-COUNT-2: b`."""
        for line in re.findall(r"#[ \t]{0,6}CHECK(.*)", source):
            found = re.fullmatch(r"(?:-(NEXT|SAME|NOT|DAG|REGEX|SOURCE-HIGHLIGHTED))?: (.*)", line)
            counted = re.fullmatch(r"-COUNT-(EXACTLY-)?(\d+): (.*)", line)
            if counted:
                self.check_count(counted[3], int(counted[2]), exactly=bool(counted[1]))
            elif found:
                self._added(found[1] or "", found[2])
            else:
                raise RuntimeError(f"Could not parse check at:\nCHECK{line}\nCheck for bad input.")


def _matched(text, place, checks):
    """Where the match of a group of checks begins and ends."""
    check = checks[0]
    if check.kind == "DAG":
        starts = [_find(text, place, c) for c in checks]
        return min(starts), max(at + len(c.text) for at, c in zip(starts, checks))
    if check.kind == "REGEX":
        found = re.compile(check.text).search(text, place)
        if found is None:
            raise RuntimeError(_missing(text, place, check, "find regex"))
        return found.span()
    if check.kind == "SOURCE-HIGHLIGHTED":
        _check_highlight(text, place, check)
        return place, place
    if check.kind == "NEXT":
        place = _find(text, place, check, "\n") + 1
    start = _find(text, place, check)
    if check.kind in ("NEXT", "SAME"):
        _refuse(text, place, start, [check], "\n")
    end = start + len(check.text)
    for _ in range(check.count - 1):
        end = _find(text, end, check) + len(check.text)
    return start, end


def _find(text, place, check, part=None):
    part = check.text if part is None else part
    found = text.find(part, place)
    if found < 0:
        raise RuntimeError(_missing(text, place, check, "find", part))
    return found


def _missing(text, place, check, verb, part=None):
    quoted = _quoted(check.text if part is None else part)
    return (
        f"Expected to {verb} {quoted} but did not find it\n"
        f"Searched string:\n{text[place:]}\nFrom {check}\n"
    )


def _refuse(text, start, end, checks, part=None):
    """Raises where a text of the checks is between the places."""
    for check in checks:
        unwanted = check.text if part is None else part
        found = text.find(unwanted, start, max(end, start))
        if found >= 0:
            line = text[text.rfind("\n", 0, found) + 1 :].partition("\n")[0]
            raise RuntimeError(
                f"Expected to not find {_quoted(unwanted)} but found it\n{line}\nFrom {check}\n"
            )


def _check_highlight(text, place, check):
    start = _find(text, place, check)
    while start >= 0:
        column = start - (text.rfind("\n", 0, start) + 1)
        below = text[start:].partition("\n")[2].partition("\n")[0]
        if re.match(rf"[^~]{{{column}}}~{{{len(check.text)}}}(?!~)", below):
            return
        start = text.find(check.text, start + 1)
    raise RuntimeError(f"Expected to find {_quoted(check.text)} highlighted but it is not.\n{text}")


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
