"""Recurrent layers: RNN, LSTM and GRU over sequences."""

from warnings import warn

from taeda import _C
from taeda._own_names import adopt_private_classes
from taeda.nn.modules._rnn_base import RNNBase, _apply_permutation
from taeda.nn.modules._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "GRUCell",
    "LSTMCell",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
]


def apply_permutation(tensor, permutation, dim=1):
    """The older name of tensor.index_select(dim, permutation)."""
    warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` "
        "instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


def _check_no_projection(kwargs):
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu in its place."""

    def __init__(self, *args, **kwargs):
        _check_no_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _run(self, *args):
        return _C.rnn_tanh(*args) if self.mode == "RNN_TANH" else _C.rnn_relu(*args)


class GRU(RNNBase):
    """Gates that reset and update the hidden state (Cho et al., 2014)."""

    def __init__(self, *args, **kwargs):
        _check_no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def _run(self, *args):
        return _C.gru(*args)


class LSTM(RNNBase):
    """Gates around a cell state (Hochreiter and Schmidhuber, 1997); the state is a pair."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """The shape of a cell state."""
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        expected = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for place, shape in enumerate(expected):
            text = f"Expected hidden[{place}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[place], shape, text)

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return tuple(_apply_permutation(state, permutation) for state in hx)

    def _zeros(self, input, batch_sizes):
        options = {"dtype": input.dtype, "device": input.device}
        hidden = self.get_expected_hidden_size(input, batch_sizes)
        cell = self.get_expected_cell_size(input, batch_sizes)
        return _C.zeros(hidden, **options), _C.zeros(cell, **options)

    def _check_state_dims(self, hx, ndim, kind):
        if hx[0].dim() != ndim or hx[1].dim() != ndim:
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx and cx should also be {ndim}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _batched(self, hx, change):
        return change(hx[0]), change(hx[1])

    def _run(self, *args):
        output, *states = _C.lstm(*args)
        return output, tuple(states)


adopt_private_classes(globals())
