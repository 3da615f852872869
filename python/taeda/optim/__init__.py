"""Optimizers, schedules of learning rates, and averages of models."""

from taeda._own_names import adopt_private_classes
from taeda.optim._adafactor import Adafactor
from taeda.optim._muon import Muon
from taeda.optim._stateless import swap_in_optimizer_params_and_state
from taeda.optim.adadelta import Adadelta
from taeda.optim.adagrad import Adagrad
from taeda.optim.adam import Adam
from taeda.optim.adamax import Adamax
from taeda.optim.adamw import AdamW
from taeda.optim.asgd import ASGD
from taeda.optim.lbfgs import LBFGS
from taeda.optim.nadam import NAdam
from taeda.optim.optimizer import Optimizer
from taeda.optim.radam import RAdam
from taeda.optim.rmsprop import RMSprop
from taeda.optim.rprop import Rprop
from taeda.optim.sgd import SGD
from taeda.optim.sparse_adam import SparseAdam

from taeda.optim import lr_scheduler, swa_utils  # isort: skip

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]

adopt_private_classes(globals())
