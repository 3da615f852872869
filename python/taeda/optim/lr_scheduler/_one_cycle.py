"""OneCycleLR: up to the highest learning rate and down to nearly nothing, once."""

import math

from taeda.optim.lr_scheduler import _momentum
from taeda.optim.lr_scheduler._base import LRScheduler, _format_param, check_optimizer


def _phase(end_step, lrs, momentums):
    """A part of the cycle: its last step, and the options of a group it starts and ends at."""
    return {
        "end_step": end_step,
        "start_lr": lrs[0],
        "end_lr": lrs[1],
        "start_momentum": momentums[0],
        "end_momentum": momentums[1],
    }


def _check_count(name, value):
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")


class OneCycleLR(LRScheduler):
    """One cycle over all steps: a rise to `max_lr`, and a fall; momentum goes against it."""

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = self._phases(pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum.has_betas(optimizer)
            most = _format_param("max_momentum", optimizer, max_momentum)
            least = _format_param("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                _momentum.start_momentum(optimizer, least, most, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start, three_phase):
        last = self.total_steps - 1
        up = float(pct_start * self.total_steps) - 1
        rise = _phase(up, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
        if not three_phase:
            return [rise, _phase(last, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
        down = float(2 * pct_start * self.total_steps) - 2
        return [
            rise,
            _phase(down, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum")),
            _phase(last, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
        ]

    @staticmethod
    def _annealing_cos(start, end, pct):
        """From `start` to `end` along half a cosine."""
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start, end, pct):
        """From `start` to `end` along a line."""
        return (end - start) * pct + start

    def _anneal_func(self, start, end, pct):
        is_cos = self._anneal_func_type == "cos"
        return (self._annealing_cos if is_cos else self._annealing_linear)(start, end, pct)

    def get_lr(self):
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        pct = (step - start) / (phase["end_step"] - start)
        lrs = []
        for group in self.optimizer.param_groups:
            ends = group[phase["start_lr"]], group[phase["end_lr"]]
            lrs.append(self._anneal_func(*ends, pct))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _momentum.set_momentum(group, self._anneal_func(*ends, pct), self.use_beta1)
        return lrs


def _total(total_steps, epochs, steps_per_epoch):
    if total_steps is not None:
        _check_count("total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    _check_count("epochs", epochs)
    _check_count("steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch
