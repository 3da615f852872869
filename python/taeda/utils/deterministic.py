"""What use_deterministic_algorithms does with memory that nobody has written to."""

import sys
import types

from taeda import _C


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether new memory is filled while results must be the same from run to run."""
        return _C._get_determinism()[2]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        is_required, is_warning_enough, _ = _C._get_determinism()
        _C._set_determinism(is_required, is_warning_enough, mode)


sys.modules[__name__].__class__ = _Deterministic
