"""Schedules of learning rates."""

from taeda._own_names import adopt_private_classes
from taeda.optim.lr_scheduler._base import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    _enable_get_lr_call,
    _format_param,
    _initial_mode,
    _LRScheduler,
    _param_groups_val_list,
    _update_param_group_val,
)
from taeda.optim.lr_scheduler._composed import ChainedScheduler, SequentialLR
from taeda.optim.lr_scheduler._cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from taeda.optim.lr_scheduler._cyclic import CyclicLR
from taeda.optim.lr_scheduler._decay import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from taeda.optim.lr_scheduler._functions import LambdaLR, MultiplicativeLR
from taeda.optim.lr_scheduler._one_cycle import OneCycleLR
from taeda.optim.lr_scheduler._plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

adopt_private_classes(globals())
