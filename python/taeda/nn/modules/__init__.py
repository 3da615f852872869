"""The modules, each kind in a file of PyTorch's name."""

from taeda.nn.modules import (
    activation,
    container,
    dropout,
    flatten,
    linear,
    loss,
    normalization,
    sparse,
)
from taeda.nn.modules.activation import *
from taeda.nn.modules.container import *
from taeda.nn.modules.dropout import *
from taeda.nn.modules.flatten import *
from taeda.nn.modules.linear import *
from taeda.nn.modules.loss import *
from taeda.nn.modules.module import Module
from taeda.nn.modules.normalization import *
from taeda.nn.modules.sparse import *

_FILES = (activation, container, dropout, flatten, linear, loss, normalization, sparse)
__all__ = ["Module"]
for _file in _FILES:
    __all__ += _file.__all__
