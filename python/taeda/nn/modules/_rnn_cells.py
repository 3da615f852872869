"""One step of a recurrence as a module."""

import math

from taeda import _C
from taeda.nn import init
from taeda.nn.modules._weights import add_parameters
from taeda.nn.modules.module import Module


class RNNCellBase(Module):
    """The parameters of a step, and its call on a batch or on one example."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        shapes = {
            "weight_ih": (gates, input_size),
            "weight_hh": (gates, hidden_size),
            "bias_ih": (gates,) if bias else None,
            "bias_hh": (gates,) if bias else None,
        }
        add_parameters(self, shapes, device, dtype)
        self.reset_parameters()

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)

    def reset_parameters(self):
        """All parameters uniform within one over the root of hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_dims(self, what, tensor):
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {tensor.dim()}D "
                "instead"
            )

    def _zeros(self, input):
        return _C.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _run(self, *args):
        """The operator."""
        raise NotImplementedError

    def _step(self, input, hx):
        """The operator on a batch; one example is a batch of one."""
        self._check_dims("input", input)
        if hx is not None:
            self._check_dims("hidden", hx)
        is_batched = input.dim() == 2
        input = input if is_batched else input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        result = self._run(input, hx, *self._weights())
        return result if is_batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """tanh(W_ih x + b_ih + W_hh h + b_hh), or relu in its place."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _run(self, *args):
        if self.nonlinearity == "tanh":
            return _C.rnn_tanh_cell(*args)
        if self.nonlinearity == "relu":
            return _C.rnn_relu_cell(*args)
        raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")

    def forward(self, input, hx=None):
        return self._step(input, hx)


class GRUCell(RNNCellBase):
    """A step of GRU."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _run(self, *args):
        return _C.gru_cell(*args)

    def forward(self, input, hx=None):
        return self._step(input, hx)


class LSTMCell(RNNCellBase):
    """A step of LSTM; the state is a pair of hidden and cell state."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        self._check_dims("input", input)
        for place, state in enumerate(() if hx is None else hx):
            self._check_dims(f"hx[{place}]", state)
        is_batched = input.dim() == 2
        input = input if is_batched else input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = zeros, zeros
        elif not is_batched:
            hx = hx[0].unsqueeze(0), hx[1].unsqueeze(0)
        hidden, cell = _C.lstm_cell(input, hx, *self._weights())
        return (hidden, cell) if is_batched else (hidden.squeeze(0), cell.squeeze(0))
