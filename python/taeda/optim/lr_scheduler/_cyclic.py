"""CyclicLR: the learning rate goes up and down between two limits."""

import math
import types
from functools import partial

from taeda.optim.lr_scheduler import _momentum
from taeda.optim.lr_scheduler._base import (
    LRScheduler,
    _format_param,
    _update_param_group_val,
    check_optimizer,
)


class CyclicLR(LRScheduler):
    """Cycles between `base_lr` and `max_lr`, whose amplitude may shrink; momentum goes against it.

    `mode` says how: "triangular" not at all, "triangular2" by half each cycle, "exp_range" by
    `gamma` each step; or `scale_fn`, of the cycle or the step as `scale_mode` says.
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                _update_param_group_val(group, "lr", lr)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum.has_betas(optimizer)
            self.base_momentums = _format_param("base_momentum", optimizer, base_momentum)
            self.max_momentums = _format_param("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                _momentum.start_momentum(
                    optimizer, self.base_momentums, self.max_momentums, self.use_beta1
                )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self):
        if self._scale_fn_custom is not None:
            return
        self._scale_fn_ref, self.scale_mode = {
            "triangular": (self._triangular_scale_fn, "cycle"),
            "triangular2": (self._triangular2_scale_fn, "cycle"),
            "exp_range": (partial(self._exp_range_scale_fn, self.gamma), "iterations"),
        }[self.mode]

    def scale_fn(self, x):
        """The factor of the amplitude in a cycle, or at a step."""
        custom = self._scale_fn_custom
        return self._scale_fn_ref(x) if custom is None else custom(x)

    @staticmethod
    def _triangular_scale_fn(x):
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x):
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma, x):
        return gamma**x

    def get_lr(self):
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        is_rising = x <= self.step_ratio
        height = x / self.step_ratio if is_rising else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            limits = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums)
            for group, least, most in limits:
                momentum = most - (most - least) * height * scale
                _momentum.set_momentum(group, momentum, self.use_beta1)
        return [
            base_lr + (max_lr - base_lr) * height * scale
            for base_lr, max_lr in zip(self.base_lrs, self.max_lrs)
        ]

    def state_dict(self):
        """Everything but the optimizer and plain functions."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")  # goes to the end, as in PyTorch
        is_object = custom is not None and not isinstance(custom, types.FunctionType)
        state["_scale_fn_custom"] = vars(custom).copy() if is_object else None
        return state

    def load_state_dict(self, state_dict):
        """Takes over the values of a `state_dict`."""
        state_dict = dict(state_dict)
        fields = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if fields is not None:
            vars(self._scale_fn_custom).update(fields)
        self._init_scale_fn()
