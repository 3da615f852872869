"""Linear algebra functions with PyTorch's names."""

from taeda._C._linalg import *  # noqa: F403
from taeda._errors import LinAlgError  # noqa: F401
