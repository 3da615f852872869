#!/usr/bin/env python3
"""Writes docs/names.md: PyTorch's public names, and which of them Taeda has.

  python tools/public_names.py           writes the page
  python tools/public_names.py --check   fails where the page is old

Needs both packages. A name counts as PyTorch's if it is public and PyTorch's own: names that its
files import from elsewhere are left out. Signatures are compared by names, kinds and defaults of
arguments, where Python knows them. tools/names/reasons.toml says why names are missing, by pattern;
a missing name without a reason, or a pattern without a missing name, is an error. It also lists
names that are there with a use that raises; a use that does not is an error too.
"""

import importlib
import inspect
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "tools/names/reasons.toml"
PAGE = ROOT / "docs/names.md"
# The reason of a name that is an operator, or a function of nn.functional.
OPERATOR = "operators to come"
AREAS = (
    ("torch", "torch"),
    ("torch.Tensor", "Tensor"),
    ("torch.nn", "nn"),
    ("torch.nn.Module", "nn.Module"),
    ("torch.nn.functional", "nn.functional"),
    ("torch.nn.init", "nn.init"),
    ("torch.nn.utils", "nn.utils"),
    ("torch.nn.utils.rnn", "nn.utils.rnn"),
    ("torch.nn.utils.parametrize", "nn.utils.parametrize"),
    ("torch.nn.utils.parametrizations", "nn.utils.parametrizations"),
    ("torch.nn.utils.prune", "nn.utils.prune"),
    ("torch.nn.attention", "nn.attention"),
    ("torch.nn.attention.flex_attention", "nn.attention.flex_attention"),
    ("torch.nn.parallel", "nn.parallel"),
    ("torch.autograd", "autograd"),
    ("torch.autograd.functional", "autograd.functional"),
    ("torch.autograd.graph", "autograd.graph"),
    ("torch.func", "func"),
    ("torch.optim", "optim"),
    ("torch.optim.lr_scheduler", "optim.lr_scheduler"),
    ("torch.optim.swa_utils", "optim.swa_utils"),
    ("torch.distributions", "distributions"),
    ("torch.utils.data", "utils.data"),
    ("torch.multiprocessing", "multiprocessing"),
    ("torch.serialization", "serialization"),
    ("torch.testing", "testing"),
    ("torch.utils.benchmark", "utils.benchmark"),
    ("torch.hub", "hub"),
    ("torch.futures", "futures"),
    ("torch.quasirandom", "quasirandom"),
    ("torch.accelerator", "accelerator"),
    ("torch.backends.cuda", "backends.cuda"),
    ("torch.cuda", "cuda"),
    ("torch.xpu", "xpu"),
    ("torch.mps", "mps"),
    ("torch._inductor", "_inductor"),
    ("torch._inductor.custom_graph_pass", "_inductor.custom_graph_pass"),
    ("torch._inductor.decomposition", "_inductor.decomposition"),
    ("torch._inductor.exc", "_inductor.exc"),
    ("functorch.compile", "functorch.compile"),
)
# A package beside PyTorch's is a part of Taeda's.
BESIDE = "functorch."

HEAD = """# Names

PyTorch's public names and Taeda's, compared by `tools/public_names.py`, which writes this page; the
reasons are in `tools/names/reasons.toml`. "Other signature" counts names that both have with other
arguments, where Python can tell; the tables below say how they differ. Names that are there and
refuse a use which PyTorch has are shown with a call that raises.

| area | names | there | other signature | missing |
| --- | ---: | ---: | ---: | ---: |
"""


def found(path, root):
    """The object at a path of PyTorch's, in a package; None where there is none."""
    value = importlib.import_module(root)
    for part in path.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                return None
    return value


def theirs_at(path):
    """PyTorch's object at a path."""
    return found(path, "functorch" if path.startswith(BESIDE) else "torch")


def ours_at(path):
    """Taeda's."""
    return found(path, "taeda.functorch" if path.startswith(BESIDE) else "taeda")


def is_own(value):
    """Whether PyTorch defines the value, rather than imports it."""
    if isinstance(value, ModuleType):
        return value.__name__.startswith("torch.")
    owner = getattr(value, "__module__", None) or type(value).__module__
    is_builtin = owner == "builtins" and callable(value)
    return is_builtin or owner.split(".")[0] == "torch"


def names_of(area):
    """PyTorch's own public names in an area: those that it lists, or those of its own."""
    value = theirs_at(area)
    listed = getattr(value, "__all__", None)
    if area == "torch":  # its own list leaves out some functions of a file that it offers whole
        listed = [*listed, *found("torch.functional", "torch").__all__]
    names = sorted(name for name in set(listed or dir(value)) if not name.startswith("_"))
    if area.startswith("torch._inductor."):  # files, which list nothing
        return [name for name in names if getattr(getattr(value, name), "__module__", "") == area]
    if listed is None:
        names = [name for name in names if is_own(getattr(value, name))]
        names = [
            name for name in names if getattr(value, name) is not found("torch.Tensor", "torch")
        ]
    return names


def signature(value):
    """[argument as text] where Python knows the signature; None elsewhere."""
    is_class = inspect.isclass(value)
    value = value.__init__ if is_class else value
    if not inspect.isfunction(value):
        return None
    arguments = []
    for p in list(inspect.signature(value).parameters.values())[is_class:]:
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"={_default(p.default)}"
        place = "/kw" if p.kind == p.KEYWORD_ONLY else ""
        arguments.append(f"{mark}{p.name}{default}{place}")
    return arguments


def _default(value):
    if inspect.isroutine(value) or inspect.isclass(value):
        return value.__name__
    if type(value).__name__ == "Generator":
        return "default_generator"  # its repr holds an address
    return repr(value).replace("taeda.", "torch.")


def difference(theirs, ours):
    """(arguments that only PyTorch's has, only Taeda's); None where there is none to see."""
    theirs, ours = signature(theirs), signature(ours)
    if theirs is None or ours is None or theirs == ours or "*args" in theirs + ours:
        return None
    only = [a for a in theirs if a not in ours], [a for a in ours if a not in theirs]
    return only if any(only) else (theirs, ours)


class Reasons:
    """Why names are missing; notes which patterns were of use."""

    def __init__(self, text):
        given = tomllib.loads(text)
        self.rows, self.refused = given["missing"], given.get("refused", [])
        self.used = set()

    def of(self, area, name, value):
        for number, row in enumerate(self.rows):
            if area in row["areas"] and re.fullmatch("|".join(row["names"]), name):
                self.used.add(number)
                return row["reason"]
        if name == name.lower() and hasattr(found("torch.ops.aten", "torch"), name.rstrip("_")):
            return OPERATOR
        if area == "nn.functional" and inspect.isfunction(value):
            return OPERATOR
        return None

    def unused(self):
        return [row["reason"] for n, row in enumerate(self.rows) if n not in self.used]


def compared(reasons):
    """[(area, names, {name: difference}, {reason: names})], and what has no reason."""
    result, problems = [], []
    for path, area in AREAS:
        theirs, ours = theirs_at(path), ours_at(path)
        names, differing, missing = names_of(path), {}, {}
        for name in names:
            if ours is None or not hasattr(ours, name):
                reason = reasons.of(area, name, getattr(theirs, name))
                if reason is None:
                    problems.append(f"no reason: {path}.{name}")
                missing.setdefault(reason, []).append(name)
            elif change := difference(getattr(theirs, name), getattr(ours, name)):
                differing[name] = change
        result.append((path, names, differing, missing))
    problems += [f"a reason for no name: {reason}" for reason in reasons.unused()]
    problems += [f"does not raise: {row['call']}" for row in reasons.refused if not raises(row)]
    return result, problems


def raises(row):
    """Whether the use of a name that a row tells of is refused."""
    try:
        exec(row["call"], {"taeda": importlib.import_module("taeda")})
    except (RuntimeError, AttributeError, NotImplementedError):
        return True
    return False


def page(areas, refused):
    """The text of the page."""
    text = HEAD
    for path, names, differing, missing in areas:
        lost = sum(map(len, missing.values()))
        counts = f"{len(names)} | {len(names) - lost} | {len(differing)} | {lost}"
        text += f"| `{path}` | {counts} |\n"
    for path, _, differing, missing in areas:
        rows = [row for row in refused if row["area"] == path]
        if differing or missing or rows:
            text += f"\n## {path}\n"
        if differing:
            text += "\n| name | only PyTorch | only Taeda |\n| --- | --- | --- |\n"
            for name, sides in differing.items():
                text += f"| `{name}` | {_cell(sides[0])} | {_cell(sides[1])} |\n"
        for reason, names in missing.items():
            text += f"\nMissing, {reason}: {', '.join(f'`{name}`' for name in names)}.\n"
        for row in rows:
            text += f"\nThere, but `{row['call']}` raises: {row['reason']}.\n"
    return text


def _cell(arguments):
    return f"`{', '.join(arguments)}`".replace("|", "\\|") if arguments else ""


def main():
    reasons = Reasons(REASONS.read_text())
    areas, problems = compared(reasons)
    if problems:
        sys.exit("\n".join(problems))
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.read_text() == page(areas, reasons.refused) else f"{PAGE.name} is out of date"
        )
    PAGE.write_text(page(areas, reasons.refused))


if __name__ == "__main__":
    main()
