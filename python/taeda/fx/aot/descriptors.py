"""What an input of a traced graph stands for."""

import dataclasses

__all__ = ["AOTInput", "BufferAOTInput", "DifferentiableAOTInput", "ParamAOTInput", "PlainAOTInput"]


class AOTInput:
    """An input."""

    def expr(self):
        """The input as an expression of the program."""
        raise NotImplementedError(type(self).__name__)

    def is_param(self):
        return False

    def is_buffer(self):
        return False


class DifferentiableAOTInput(AOTInput):
    """One that may have a gradient."""


@dataclasses.dataclass(frozen=True)
class ParamAOTInput(DifferentiableAOTInput):
    """A parameter, by its name in the module."""

    target: str

    def expr(self):
        return f"self.get_parameter({self.target!r})"

    def is_param(self):
        return True


@dataclasses.dataclass(frozen=True)
class BufferAOTInput(DifferentiableAOTInput):
    """A buffer, by its name in the module."""

    target: str

    def expr(self):
        return f"self.get_buffer({self.target!r})"

    def is_buffer(self):
        return True


@dataclasses.dataclass(frozen=True)
class PlainAOTInput(DifferentiableAOTInput):
    """A leaf of the arguments, by its number."""

    idx: int

    def expr(self):
        return f"args[{self.idx}]"
