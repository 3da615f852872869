"""The pytree functions under the path where PyTorch keeps those of its C++ implementation."""

from taeda.utils._pytree import *  # noqa: F403
from taeda.utils._pytree import (  # noqa: F401
    __all__,
    _broadcast_to_and_flatten,
    _private_register_pytree_node,
)
