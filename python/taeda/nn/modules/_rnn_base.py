"""The base of recurrent layers: their parameters, checks, and calls with and without packing."""

import math
import numbers
from warnings import warn

from taeda import _C
from taeda.nn import init
from taeda.nn.modules._weights import add_parameters, check_memory
from taeda.nn.modules.module import Module
from taeda.nn.utils.rnn import PackedSequence

# How many vectors of hidden_size the weights of a step make.
_NUM_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _apply_permutation(tensor, permutation, dim=1):
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """Layers of a recurrence, in one or two directions; `mode` names the recurrence."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_flags(bias=bias, batch_first=batch_first)
        _check_sizes(input_size=input_size, hidden_size=hidden_size)
        _check_layers(mode, num_layers, hidden_size, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names = []
        self._all_weights = []
        check_memory(f"{mode} layer", num_layers, [0 for _ in self._shapes(1)])
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._num_directions]:
                shapes = {f"{name}_l{layer}{suffix}": shape for name, shape in self._shapes(layer)}
                add_parameters(self, shapes, device, dtype)
                self._flat_weights_names += shapes
                self._all_weights.append(list(shapes))
        self.reset_parameters()

    @property
    def _num_directions(self):
        return 2 if self.bidirectional else 1

    @property
    def _output_size(self):
        """The size of a hidden state, which may be projected to a smaller one."""
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    def _shapes(self, layer):
        """(name, shape) of the parameters of a layer in one direction."""
        gates = _NUM_GATES[self.mode] * self.hidden_size
        size = self.input_size if layer == 0 else self._output_size * self._num_directions
        yield "weight_ih", (gates, size)
        yield "weight_hh", (gates, self._output_size)
        if self.bias:
            yield "bias_ih", (gates,)
            yield "bias_hh", (gates,)
        if self.proj_size > 0:
            yield "weight_hr", (self.proj_size, self.hidden_size)

    @property
    def _flat_weights(self):
        """The parameters in the operator's order, as they are now; None where one is gone."""
        table = self._parameters
        return [
            table[name] if name in table else getattr(self, name, None)
            for name in self._flat_weights_names
        ]

    @property
    def all_weights(self):
        """The parameters by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """PyTorch's request to put the parameters into one block; there is nothing to do."""

    def reset_parameters(self):
        """All parameters uniform within one over the root of hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self):
        # PyTorch's layers keep this list, and look for it in what they are given.
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.pop("_flat_weights", None)  # here the parameters tell it
        self.__dict__.setdefault("proj_size", 0)

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        for name, default in defaults.items():
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)

    # ---- checks of a call ----
    def check_input(self, input, batch_sizes):
        """The dtype, number of dimensions and last size of the input."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not _C.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert "
                f"input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        ndim = 3 if batch_sizes is None else 2
        if input.dim() != ndim:
            raise RuntimeError(f"input must have {ndim} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input, batch_sizes):
        """The shape of a hidden state."""
        return self._state_shape(input, batch_sizes, self._output_size)

    def _state_shape(self, input, batch_sizes, size):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0 if self.batch_first else 1)
        return self.num_layers * self._num_directions, batch, size

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """RuntimeError for a state of another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        """The input, and the state that the call starts from."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The states in the order of a permutation of the batch."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    # ---- the call ----
    def _run(self, *args):
        """(output, state) of the operator."""
        raise NotImplementedError

    def _zeros(self, input, batch_sizes):
        """The state that a call starts from where none is given."""
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return _C.zeros(shape, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx, ndim, kind):
        if hx.dim() != ndim:
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx should also be {ndim}-D but got {hx.dim()}-D tensor"
            )

    def _batched(self, hx, change):
        """The state with `change`, which adds or removes the batch."""
        return change(hx)

    def _settings(self):
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        name = type(self).__name__
        if input.dim() not in (2, 3):
            noun = "D tensor" if self.mode in ("RNN_TANH", "RNN_RELU") else "D"
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {input.dim()}{noun} instead"
            )
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_state_dims(hx, input.dim(), "batched" if is_batched else "unbatched")
        if not is_batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._batched(hx, lambda state: state.unsqueeze(1))
        hx = self._zeros(input, None) if hx is None else hx
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(
            input, hx, self._flat_weights, *self._settings(), self.batch_first
        )
        if not is_batched:
            output = output.squeeze(batch_dim)
            hidden = self._batched(hidden, lambda state: state.squeeze(1))
        return output, hidden

    def _forward_packed(self, packed, hx):
        input, batch_sizes, sorted_indices, unsorted_indices = packed
        if hx is None:
            hx = self._zeros(input, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(input, hx, batch_sizes)
        output, hidden = self._run(input, batch_sizes, hx, self._flat_weights, *self._settings())
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(hidden, unsorted_indices)


def _check_dropout(dropout, num_layers):
    is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not is_number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )


def _check_flags(**flags):
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")


def _check_sizes(**sizes):
    for name, size in sizes.items():
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")


def _check_layers(mode, num_layers, hidden_size, proj_size):
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _NUM_GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)
