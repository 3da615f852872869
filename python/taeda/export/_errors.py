"""The exceptions of export."""

import enum

from taeda.compiler._errors import TorchDynamoException

__all__ = ["UserError", "UserErrorType"]


class UserErrorType(enum.Enum):
    """What about a program export cannot take; PyTorch's names."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = enum.auto()


class UserError(TorchDynamoException):
    """Export cannot do this with the user's program; `msg` is the text."""

    def __init__(self, msg, error_type=UserErrorType.INVALID_INPUT):
        super().__init__(msg)
        self.msg = self.message = msg
        self.error_type = error_type
