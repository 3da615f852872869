"""LRScheduler: sets the learning rates of an optimizer's groups, once per call of `step`."""

import contextlib
import warnings
from functools import wraps
from weakref import ref

from taeda import _C
from taeda.optim._settings import _to_scalar
from taeda.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def _copied(value):
    return value.clone() if isinstance(value, _C.Tensor) else value


def _format_param(name, optimizer, param):
    """An option as a list with a value per group."""
    groups = len(optimizer.param_groups)
    if not isinstance(param, (list, tuple)):
        param = [param] * groups
    elif len(param) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} "
            f"values, param_groups has {groups}."
        )
    return [_copied(value) for value in param]


def _param_groups_val_list(optimizer, key):
    """An option of all groups; tensors are copied, since schedules change them in place."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def _update_param_group_val(param_group, key, val):
    """Sets an option of a group; a tensor in place."""
    if isinstance(param_group[key], _C.Tensor):
        param_group[key].fill_(_to_scalar(val))
    else:
        param_group[key] = val


def check_optimizer(optimizer):
    """Refuses what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


@contextlib.contextmanager
def _flag(scheduler, name):
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


def _enable_get_lr_call(scheduler):
    """The scope of a step, in which `get_lr` may be called."""
    return _flag(scheduler, "_get_lr_called_within_step")


def _initial_mode(scheduler):
    """The scope of the step that sets the first learning rates."""
    return _flag(scheduler, "_is_initial")


class LRScheduler:
    """Base of the schedules. A subclass gives the learning rates of the groups in `get_lr`.

    `get_lr` goes from the current values to the next, so that schedules may be chained;
    `_get_closed_form_lr`, where there is one, gives those of an epoch.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    # What a state dict leaves out.
    _unsaved = ("optimizer",)

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        with _initial_mode(self):
            self.step()

    # ---- state ----
    def state_dict(self):
        """Everything but the optimizer."""
        return {key: value for key, value in vars(self).items() if key not in self._unsaved}

    def load_state_dict(self, state_dict):
        """Takes over the values of a `state_dict`."""
        vars(self).update(state_dict)

    # ---- learning rates ----
    def get_last_lr(self):
        """The learning rates set last, one per group."""
        return self._last_lr

    def get_lr(self):
        """The next learning rates, one per group."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Sets the next learning rates."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self):
        """Warns if the optimizer did not step before the schedule did."""
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
                f"the first value of the learning rate schedule. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch=None):
        with _enable_get_lr_call(self):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            if epoch is not None and hasattr(self, "_get_closed_form_lr"):
                values = self._get_closed_form_lr()
            else:
                values = self.get_lr()
        self._set_lrs(values)

    def _set_lrs(self, values):
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _update_param_group_val(group, "lr", lr)
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")

    # ---- what schedules are made of ----
    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _unchanged(self):
        return _param_groups_val_list(self.optimizer, "lr")

    def _scaled(self, factor):
        """The current learning rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _of_base(self, factor):
        """The first learning rates times a factor."""
        return [base_lr * factor for base_lr in self.base_lrs]


class _LRScheduler(LRScheduler):
    """The old name of the base."""


def _note_steps(optimizer):
    """Makes the optimizer's `step` note that it was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    owner, step = ref(optimizer), optimizer.step.__func__

    @wraps(step)
    def wrapper(*args, **kwargs):
        optimizer = owner()
        optimizer._opt_called = True
        return step.__get__(optimizer, type(optimizer))(*args, **kwargs)

    wrapper._wrapped_by_lr_sched = True
    optimizer.step = wrapper
