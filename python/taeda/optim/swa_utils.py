"""Averages of models: stochastic weight averaging, exponential moving averages."""

import math
from copy import deepcopy
from itertools import chain

from taeda import _C
from taeda.autograd.grad_mode import no_grad
from taeda.nn.modules.module import Module
from taeda.optim._tensor_groups import _group_tensors_by_device_and_dtype
from taeda.optim.lr_scheduler import LRScheduler
from taeda.optim.lr_scheduler._base import _format_param

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _can_lerp(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_multi_avg_fn(decay=0.999):
    """A function that moves lists of averages towards lists of parameters by `1 - decay`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        if _can_lerp(ema_param_list[0]):
            _C._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
        else:
            for average, current in zip(ema_param_list, current_param_list):
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn():
    """A function that takes lists of parameters into lists of equally weighted means."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        weight = 1 / (num_averaged + 1)
        if _can_lerp(averaged_param_list[0]):
            _C._foreach_lerp_(averaged_param_list, current_param_list, float(weight))
        else:
            for average, current in zip(averaged_param_list, current_param_list):
                average.add_((current - average) * weight)

    return swa_update


def get_ema_avg_fn(decay=0.999):
    """A function that moves an average towards a parameter by `1 - decay`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn():
    """A function that takes a parameter into an equally weighted mean."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are means of those seen by `update_parameters`.

    `avg_fn(average, parameter, count)` or `multi_avg_fn` (of lists, in place) say which means;
    without them all models count the same. Buffers are averaged too if `use_buffers`, else copied.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        """Calls the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the parameters of a model into the means."""
        own, given = self._averaged(self.module), self._averaged(model)
        averages = [average.detach() for average in own]
        params = [param.detach().to(average.device) for param, average in zip(given, averages)]
        if self.n_averaged == 0:
            for average, param in zip(averages, params):
                average.copy_(param)
        elif self.avg_fn is None:
            self._update_lists(averages, params)
        else:
            for average, param in zip(averages, params):
                average.copy_(self.avg_fn(average, param, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for average, buffer in zip(self.module.buffers(), model.buffers()):
                average.detach().copy_(buffer.detach().to(average.device))
        self.n_averaged += 1

    def _averaged(self, model):
        """The tensors of a model that are averaged."""
        return list(chain(model.parameters(), model.buffers() if self.use_buffers else ()))

    def _update_lists(self, averages, params):
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        groups = _group_tensors_by_device_and_dtype([averages, params])
        for (device, dtype), (lists, _) in groups.items():
            count = self.n_averaged.to(device)
            if self.multi_avg_fn or dtype.is_floating_point or dtype.is_complex:
                update(*lists, count)
                continue
            # Counters have no mean in their own type: it is rounded to it.
            mean = get_swa_avg_fn()
            for average, param in zip(*lists):
                average.copy_(mean(average, param, count))


@no_grad()
def update_bn(loader, model, device=None):
    """Computes the running statistics of the model's batch norms anew, over a loader's batches.

    A batch that is a list or tuple has the model's input first.
    """
    norms = [module for module in model.modules() if hasattr(module, "reset_running_stats")]
    if not norms:
        return
    momenta = [module.momentum for module in norms]
    was_training = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in zip(norms, momenta):
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes to a fixed learning rate `swa_lr` over `anneal_epochs`, along a cosine or a line."""

    _unsaved = ("optimizer", "anneal_func")

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for lr, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t):
        return t

    @staticmethod
    def _cosine_anneal(t):
        return (1 - math.cos(math.pi * t)) / 2

    def _set_anneal_func(self, anneal_strategy):
        self._anneal_strategy = anneal_strategy
        is_cos = anneal_strategy == "cos"
        self.anneal_func = self._cosine_anneal if is_cos else self._linear_anneal

    def _weight(self, step):
        """The weight of `swa_lr` at a step."""
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self):
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, weight = self._weight(step - 1), self._weight(step)
        return [
            group["swa_lr"] * weight
            + self._get_initial_lr(group["lr"], group["swa_lr"], before) * (1 - weight)
            for group in self.optimizer.param_groups
        ]

    @staticmethod
    def _get_initial_lr(lr, swa_lr, alpha):
        """The learning rate of which `lr` is the mean with `swa_lr`, weighted by `alpha`."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def load_state_dict(self, state_dict):
        """Takes over the values of a `state_dict`."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
