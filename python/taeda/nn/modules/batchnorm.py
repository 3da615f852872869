"""Batch normalization: statistics of each channel over the batch, kept for evaluation."""

import taeda
from taeda import _C
from taeda._own_names import adopt_private_classes
from taeda.compiler import is_compiling
from taeda.nn import functional as F
from taeda.nn.modules._norm_base import _LazyNormBase, _NormBase

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


def _batch_norm(input, running_mean, running_var, weight, bias, factor, eps):
    """F.batch_norm in training, with a tensor for the weight of the new batch."""
    mean, var = taeda.zeros_like(running_mean), taeda.zeros_like(running_var)
    result = F.batch_norm(input, mean, var, weight, bias, True, 1.0, eps)
    with taeda.no_grad():
        running_mean.copy_((1 - factor) * running_mean + factor * mean)
        running_var.copy_((1 - factor) * running_var + factor * var)
    return result


class _BatchNorm(_NormBase):
    """The base of batch normalization: how the running statistics move."""

    def _averaging_factor(self):
        """The weight of the new batch; counts the batch in training."""
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # A number would be a constant of a compiled program, and another at each batch.
                is_tensor = is_compiling() and self.running_mean is not None
                count = self.num_batches_tracked
                factor = 1.0 / (count.double() if is_tensor else float(count))
        return factor

    def forward(self, input):
        self._check_input_dim(input)
        factor = self._averaging_factor()
        mean, var = self.running_mean, self.running_var
        uses_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        if isinstance(factor, _C.Tensor):
            return _batch_norm(input, mean, var, self.weight, self.bias, factor, self.eps)
        return F.batch_norm(input, mean, var, self.weight, self.bias, uses_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of (N, C) or (N, C, L)."""

    _input_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of (N, C, H, W)."""

    _input_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of (N, C, D, H, W)."""

    _input_dims = (5,)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A BatchNorm1d whose num_features is that of its first input."""

    cls_to_become = BatchNorm1d
    _input_dims = (2, 3)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A BatchNorm2d whose num_features is that of its first input."""

    cls_to_become = BatchNorm2d
    _input_dims = (4,)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A BatchNorm3d whose num_features is that of its first input."""

    cls_to_become = BatchNorm3d
    _input_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes of a group.

    Taeda runs in one process: evaluation is that of BatchNorm, training without a group too.
    """

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input):
        if self.training and self.process_group is not None:
            raise NotImplementedError(
                "[SyncBatchNorm] statistics over a process group need communication between "
                "processes, which Taeda does not have; process_group=None normalizes over the "
                "batch of this process"
            )
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with each batch normalization replaced, here and below; states are shared."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls._like(module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @staticmethod
    def _like(module, process_group):
        converted = SyncBatchNorm(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            process_group,
            bias=module.bias is not None,
        )
        if module.affine:
            converted.weight, converted.bias = module.weight, module.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            setattr(converted, name, getattr(module, name))
        converted.training = module.training
        return converted


adopt_private_classes(globals())
