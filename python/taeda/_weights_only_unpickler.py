"""PyTorch's path of what may be loaded when only weights are."""

from taeda.serialization._safe_globals import (
    _get_allowed_globals,
    _get_user_allowed_globals,
    get_globals_in_pkl,
)

__all__ = ["_get_allowed_globals", "_get_user_allowed_globals", "get_globals_in_pkl"]
