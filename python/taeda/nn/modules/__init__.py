"""The modules, each kind in a file of PyTorch's name."""

from taeda.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    linear,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
    utils,
)
from taeda.nn.modules.activation import *
from taeda.nn.modules.adaptive import *
from taeda.nn.modules.batchnorm import *
from taeda.nn.modules.channelshuffle import *
from taeda.nn.modules.container import *
from taeda.nn.modules.conv import *
from taeda.nn.modules.distance import *
from taeda.nn.modules.dropout import *
from taeda.nn.modules.flatten import *
from taeda.nn.modules.fold import *
from taeda.nn.modules.instancenorm import *
from taeda.nn.modules.linear import *
from taeda.nn.modules.linear_cross_entropy_options import *
from taeda.nn.modules.loss import *
from taeda.nn.modules.module import Module
from taeda.nn.modules.normalization import *
from taeda.nn.modules.padding import *
from taeda.nn.modules.pixelshuffle import *
from taeda.nn.modules.pooling import *
from taeda.nn.modules.rnn import *
from taeda.nn.modules.sparse import *
from taeda.nn.modules.transformer import *
from taeda.nn.modules.upsampling import *

_FILES = (
    (activation, adaptive, batchnorm, channelshuffle, container, conv, distance, dropout)
    + (flatten, fold, instancenorm, linear, linear_cross_entropy_options, loss, normalization)
    + (padding, pixelshuffle, pooling, rnn, sparse, transformer, upsampling)
)
__all__ = ["Module"]
for _file in _FILES:
    __all__ += _file.__all__
