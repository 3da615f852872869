"""Neural network parts: parameters, modules, functions, initial values."""

from taeda.nn import functional, init, modules, parameter, utils
from taeda.nn.modules import *
from taeda.nn.modules import Module
from taeda.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
