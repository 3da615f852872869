"""Schedules whose factors are functions of the epoch."""

import types

from taeda.optim.lr_scheduler._base import LRScheduler


class _FunctionLR(LRScheduler):
    """A function of the epoch per group. A state dict has the fields of those that are objects."""

    _unsaved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self):
        """Refuses functions that are none."""

    def state_dict(self):
        """Everything but the optimizer and plain functions."""
        fields = [
            None if isinstance(function, types.FunctionType) else vars(function).copy()
            for function in self.lr_lambdas
        ]
        return {**super().state_dict(), "lr_lambdas": fields}

    def load_state_dict(self, state_dict):
        """Takes over the values of a `state_dict`."""
        state_dict = dict(state_dict)
        fields = state_dict.pop("lr_lambdas")
        super().load_state_dict(state_dict)
        for function, values in zip(self.lr_lambdas, fields):
            if values is not None:
                vars(function).update(values)


class LambdaLR(_FunctionLR):
    """Sets the first learning rate times a function of the epoch."""

    def get_lr(self):
        self._warn_outside_step()
        return [
            base_lr * function(self.last_epoch)
            for function, base_lr in zip(self.lr_lambdas, self.base_lrs)
        ]


class MultiplicativeLR(_FunctionLR):
    """Multiplies the learning rate by a function of the epoch."""

    def _check_functions(self):
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial:
            return self._unchanged()
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups)
        ]
