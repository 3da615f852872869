"""PyTorch's path of what hooks on guards get: `taeda.compiler._guards`."""

from taeda.compiler._guards import GuardFail, GuardFilterEntry

__all__ = ["GuardFail", "GuardFilterEntry"]
