"""The lines of odd calls: how they are drawn, and how one is run."""

import random
import re

from odd_call_names import NAMES, TRANSFORMS
from odd_callables import find_callables, find_samples
from odd_values import OddValues

import taeda

# The share of calls that are made from the records' samples.
SAMPLED = 0.5
# What a message says when a check of Taeda's own state failed, or a null pointer was read as text.
OWN_FAULT = re.compile(r"internal check failed|basic_string")


class OddCalls:
    """The calls of a seed, by number."""

    def __init__(self, seed, pattern=None):
        self.seed = seed
        self.callables = [c for c in find_callables() if pattern is None or pattern in c.text]
        self.samples = [c for c in find_samples() if pattern is None or pattern in c.text]
        self.rng = random.Random()
        self.values = OddValues(self.rng)

    def __getitem__(self, number):
        """The text of a call, and what it calls."""
        self.rng.seed(self.seed * 2**40 + number)
        if self.samples and self.rng.random() < SAMPLED:
            sample = self.values.pick(self.samples)
            return self._sampled(sample), sample
        odd = self.values.pick(self.callables)
        return self._text(odd), odd

    def _sampled(self, sample):
        """A record's sample call with one or two of its arguments changed."""
        pick, overload = self.values.pick, self.values.pick(sample.overloads)
        changes = {
            pick((0, 0, 1, 1, 2, 3)): self.values.change() for _ in range(pick((0, 1, 1, 2)))
        }
        changed = ", ".join(f"{place}: {change}" for place, change in changes.items())
        given = [repr(overload), repr(sample.key), repr(sample.sample), self.values.dtype()]
        given.append(f"{{{changed}}}")
        of_leaves = self.rng.random() < 0.3
        if of_leaves:
            given.append("of_leaves=True")
        if overload.endswith("out"):
            given.append(f"out={self.values.tensor()}")
        if self.rng.random() < 0.4:
            given.append(f"under={pick(tuple(TRANSFORMS))!r}")
        call = f"sampled({', '.join(given)})"
        if of_leaves:
            return f"differentiate({call})"
        return f"show({call})" if self.rng.random() < 0.2 else call

    def _text(self, odd):
        pick = self.values.pick
        receiver = self.values.tensor() if odd.receiver == "Tensor" else odd.receiver
        if odd.is_attribute:
            return f"setattr({receiver}, {odd.text!r}, {self.values.anything()})"
        function = odd.text if receiver is None else f"{receiver}.{odd.text}"
        arguments = self._arguments(pick(odd.signatures))
        call = f"{function}({', '.join(arguments)})"
        chance = self.rng.random()
        if chance < 0.1:
            return f"show({call})"
        if chance < 0.2:
            return f"differentiate({call})"
        if chance < 0.26:
            return f"t.vmap(lambda x: {self._of_x(odd, arguments)})({self.values.tensor()})"
        if chance < 0.28:
            return f"t.vmap({function})({', '.join(arguments)})"
        return call

    def _of_x(self, odd, arguments):
        """The call with `x` as the first of its tensors."""
        if odd.receiver == "Tensor":
            return f"x.{odd.text}({', '.join(arguments)})"
        return f"{odd.receiver + '.' if odd.receiver else ''}{odd.text}({', '.join(['x', *arguments[1:]])})"

    def _arguments(self, parameters):
        """Values in order, then by name; some optional ones, seldom too few, too many or unknown."""
        odds, value = self.rng.random, self.values.value
        positional, named = [], []
        for p in parameters:
            if p.is_optional and odds() < 0.45:
                if not p.is_keyword and not named and odds() < 0.5:
                    continue
                if p.name and odds() < 0.6:
                    continue
            if odds() < 0.01:
                continue
            by_name = p.name and (p.is_keyword or named or odds() < 0.12)
            if by_name:
                named.append(f"{p.name}={value(p.type)}")
            elif not named:
                positional.append(value(p.type))
        if odds() < 0.02:
            positional.append(self.values.anything())
        if odds() < 0.01:
            named.append(f"{self.values.pick(('out', 'dim', 'input', 'nonsense'))}={value('any')}")
        return positional + named


def complaint(text):
    """Runs a call; the reason why its outcome is a finding, or None."""
    taeda.manual_seed(0)
    try:
        eval(text, dict(NAMES))
    except Exception as error:
        if isinstance(error, SystemError) or OWN_FAULT.search(str(error)):
            return f"{type(error).__name__}: {error}"
    except BaseException as error:
        return f"{type(error).__name__}, not an Exception: {error}"
    return None
