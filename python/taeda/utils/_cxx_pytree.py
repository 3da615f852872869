"""The pytree functions under the path where PyTorch keeps those of its C++ implementation."""

from taeda.utils._pytree import *  # noqa: F403
from taeda.utils._pytree import _broadcast_to_and_flatten, _private_register_pytree_node  # noqa: F401
