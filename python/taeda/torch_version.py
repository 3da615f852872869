"""A version that compares with texts and tuples by its numbers."""

__all__ = ["TorchVersion"]

_FORM = (
    r"v?(?P<release>\d+(\.\d+)*)(?P<stage>[-_.]?(a|alpha|b|beta|c|rc|pre|preview|post|rev|r|dev)"
    r"[-_.]?\d*)*(\+(?P<local>[a-z0-9]+([-_.][a-z0-9]+)*))?"
)
_STAGE = r"(alpha|beta|preview|post|rev|pre|dev|rc|a|b|c|r)[-_.]?(\d*)"
_RANKS = {"dev": -4, "a": -3, "b": -2, "rc": -1, "post": 1}
_STAGE_NAMES = {
    "alpha": "a",
    "beta": "b",
    "c": "rc",
    "pre": "rc",
    "preview": "rc",
    "rev": "post",
    "r": "post",
}


def _parse(text):
    """A key that orders versions: release, stage, local part; ValueError for another text."""
    import re

    text = text.strip().lower()
    form = re.fullmatch(_FORM, text)
    if form is None:
        raise ValueError(f"Invalid version: '{text}'")
    release = [int(n) for n in form["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    stages = []
    for name, number in re.findall(_STAGE, text.partition("+")[0]):
        stages.append((_RANKS[_STAGE_NAMES.get(name, name)], int(number or 0)))
    local = []
    for part in re.split(r"[-_.]", form["local"]) if form["local"] else ():
        local.append((1, int(part), "") if part.isdigit() else (0, 0, part))
    return release, [*stages, (0, 0)], local


class TorchVersion(str):
    """A version's text; `<`, `==` and the like compare numbers, with a text, a tuple or another.

    What is no version compares as text.
    """

    def _keys(self, other):
        if not isinstance(other, str):
            try:
                other = ".".join(str(part) for part in other)
            except TypeError:
                other = str(other)
        try:
            return _parse(str(self)), _parse(other)
        except ValueError:
            return str(self), str(other)

    def __lt__(self, other):
        own, others = self._keys(other)
        return own < others

    def __le__(self, other):
        own, others = self._keys(other)
        return own <= others

    def __gt__(self, other):
        own, others = self._keys(other)
        return own > others

    def __ge__(self, other):
        own, others = self._keys(other)
        return own >= others

    def __eq__(self, other):
        own, others = self._keys(other)
        return own == others

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
