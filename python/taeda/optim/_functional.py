"""PyTorch's path of the steps as functions of lists."""

from taeda.optim.adadelta import adadelta
from taeda.optim.adagrad import adagrad
from taeda.optim.adam import adam
from taeda.optim.adamax import adamax
from taeda.optim.adamw import adamw
from taeda.optim.asgd import asgd
from taeda.optim.nadam import nadam
from taeda.optim.radam import radam
from taeda.optim.rmsprop import rmsprop
from taeda.optim.rprop import rprop
from taeda.optim.sgd import sgd

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
]
