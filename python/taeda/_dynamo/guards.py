"""PyTorch's path of guards: `taeda.compiler._guards`."""

from taeda.compiler._guards import Guard, GuardFail, GuardFilterEntry

__all__ = ["Guard", "GuardFail", "GuardFilterEntry"]
