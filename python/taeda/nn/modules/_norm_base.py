"""The base of normalization by channel: scale, shift and running statistics, also made lazily."""

from taeda import _C
from taeda.nn.modules._weights import add_parameters, fill_affine
from taeda.nn.modules.lazy import LazyModuleMixin
from taeda.nn.modules.module import Module
from taeda.nn.parameter import UninitializedBuffer, UninitializedParameter


class _NormBase(Module):
    """The members of batch and instance normalization; version 2 counts the batches."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    # The numbers of dimensions that an input may have.
    _input_dims = None

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        shape = (num_features,)
        shapes = {"weight": shape if affine else None, "bias": shape if affine and bias else None}
        add_parameters(self, shapes, device, dtype)
        mean = var = count = None
        if track_running_stats:
            mean = _C.zeros(num_features, device=device, dtype=dtype)
            var = _C.ones(num_features, device=device, dtype=dtype)
            count = _C.tensor(0, dtype=_C.int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forgets the batches seen so far."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Scale one, shift zero, and no batches seen."""
        self.reset_running_stats()
        if self.affine:
            fill_affine(self.weight, self.bias)

    def _check_input_dim(self, input):
        if self._input_dims is None:
            raise NotImplementedError
        if input.dim() not in self._input_dims:
            expected = " or ".join(f"{ndim}D" for ndim in self._input_dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # The first version did not count the batches.
            count = self.num_batches_tracked
            if count is None or count.is_meta:
                count = _C.tensor(0, dtype=_C.int64)
            state_dict[key] = count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalization whose number of channels is that of the first input."""

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        # Members of no channels would be filled for nothing.
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = _C.tensor(0, dtype=_C.int64, device=device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        members = [self.weight, self.bias] if self.affine else []
        if self.track_running_stats:
            members += [self.running_mean, self.running_var]
        for tensor in members:
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()
