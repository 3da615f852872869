"""PyTorch's path of the errors of programs that cannot be exported: `taeda.export`."""

from taeda.export._errors import UserError

__all__ = ["UserError"]
