"""Recurrent layers in compiled programs: lengths and batches that change."""

import copy
import importlib
import os

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
rnn_utils = importlib.import_module(f"{NAME}.nn.utils.rnn")
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters

OPTIONS = {"eager": {}, "inductor": {"options": {"native": "never"}}}
LAYERS = {
    "lstm": lambda: nn.LSTM(3, 4),
    "projected": lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2),
    "gru": lambda: nn.GRU(3, 4, num_layers=2, batch_first=True, bias=False),
    "both_ways": lambda: nn.GRU(3, 4, bidirectional=True),
    "tanh": lambda: nn.RNN(3, 4, bidirectional=True),
    "relu": lambda: nn.RNN(3, 4, nonlinearity="relu"),
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()
    counters.clear()


def _tensors(value):
    if isinstance(value, t.Tensor):
        return [value]
    return [tensor for item in value for tensor in _tensors(item)]


def _check_equal(got, expected):
    for a, b in zip(_tensors(got), _tensors(expected), strict=True):
        assert a.shape == b.shape and t.allclose(a, b, atol=1e-5, rtol=1e-4)


def _gradients(model, x, result):
    model.zero_grad()
    sum((part * part).sum() for part in _tensors(result)).backward()
    return [x.grad, *(p.grad for p in model.parameters())]


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", LAYERS)
def test_lengths_and_batches_that_change_make_two_graphs(name, backend):
    t.manual_seed(0)
    model = LAYERS[name]()
    twin = copy.deepcopy(model)
    compiled = t.compile(model, backend=backend, fullgraph=True, **OPTIONS[backend])
    for length, batch in [(5, 2), (7, 3), (2, 4), (11, 6), (4, 2), (9, 5)]:
        shape = (batch, length, 3) if model.batch_first else (length, batch, 3)
        x = t.randn(shape, requires_grad=True)
        own = x.detach().clone().requires_grad_()
        got, expected = compiled(x), twin(own)
        _check_equal(got, expected)
        _check_equal(_gradients(model, x, got), _gradients(twin, own, expected))
    assert counters["stats"]["unique_graphs"] <= 2


@pytest.mark.parametrize("backend", OPTIONS)
@pytest.mark.parametrize("name", ["lstm", "gru", "both_ways", "tanh", "relu"])
def test_lengths_that_change_under_autocast_make_two_graphs(name, backend):
    t.manual_seed(0)
    model = LAYERS[name]()
    twin = copy.deepcopy(model)
    compiled = t.compile(model, backend=backend, fullgraph=True, **OPTIONS[backend])
    for length in (5, 7, 2, 11, 4):
        shape = (2, length, 3) if model.batch_first else (length, 2, 3)
        x = t.randn(shape, requires_grad=True)
        own = x.detach().clone().requires_grad_()
        with t.autocast("cpu", dtype=t.bfloat16):
            got, expected = compiled(x), twin(own)
        for a, b in zip(_tensors(got), _tensors(expected), strict=True):
            assert a.dtype == b.dtype and t.allclose(a.float(), b.float(), atol=2e-2, rtol=2e-2)
        for a, b in zip(_gradients(model, x, got), _gradients(twin, own, expected), strict=True):
            assert a.dtype == b.dtype and t.allclose(a, b, atol=5e-2, rtol=5e-2)
    assert counters["stats"]["unique_graphs"] <= 2


@pytest.mark.parametrize("backend", OPTIONS)
def test_states_that_are_carried_on(backend):
    t.manual_seed(0)
    model = nn.LSTM(3, 4, num_layers=2, dropout=0.0)
    compiled = t.compile(model, backend=backend, fullgraph=True, **OPTIONS[backend])
    state = own = None
    with t.no_grad():
        for length in (6, 3, 9, 4, 12):
            x = t.randn(length, 2, 3)
            out, state = compiled(x, state)
            expected, own = model(x, own)
            _check_equal((out, *state), (expected, *own))
    # The first call has no state.
    assert counters["stats"]["unique_graphs"] <= 3


def test_a_layer_inside_of_a_model_of_changing_lengths():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, 6)
            self.layers = nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True, dropout=0.5)
            self.last = nn.Linear(10, 3)

        def forward(self, tokens):
            return self.last(self.layers(self.embedding(tokens))[0]).log_softmax(-1)

    t.manual_seed(1)
    model = Tagger()
    compiled = t.compile(model, fullgraph=True, options={"native": "never"})
    for length in (5, 9, 3, 14, 8):
        tokens = t.randint(20, (4, length))
        t.manual_seed(length)
        expected = model(tokens)
        t.manual_seed(length)
        _check_equal(compiled(tokens), expected)
    assert counters["stats"]["unique_graphs"] <= 2


def test_derivatives_of_derivatives_of_a_whole_layer():
    for cell, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1)):
        t.manual_seed(0)
        options = {"dtype": t.float64, "requires_grad": True}
        x, hidden, weight, bias = (
            t.randn(shape, **options)
            for shape in ((3, 2, gates * 2), (2, 2), (gates * 2, 2), (gates * 2,))
        )
        state = t.randn(2, 2, **options) if cell == "lstm" else None

        def layer(*values, cell=cell, has_state=state is not None):
            x, hidden, weight, bias = values[:4]
            state = values[4] if has_state else None
            results = t._recurrent_layer(x, hidden, state, weight, bias, None, cell, True)
            return results[:2] if has_state else results[0]

        values = (x, hidden, weight, bias) + (() if state is None else (state,))
        assert t.autograd.gradcheck(layer, values)
        assert t.autograd.gradgradcheck(layer, values)


def test_packed_sequences():
    t.manual_seed(0)
    model = nn.GRU(3, 4)

    def run(data, lengths):
        packed = rnn_utils.pack_padded_sequence(data, lengths, enforce_sorted=False)
        out, hidden = model(packed)
        return rnn_utils.pad_packed_sequence(out)[0] * 2, hidden

    compiled = t.compile(run, backend="eager")
    for lengths in ([4, 2, 3], [5, 5, 1], [6, 2, 1], [3, 2, 2]):
        data = t.randn(max(lengths), 3, 3)
        _check_equal(compiled(data, t.tensor(lengths)), run(data, t.tensor(lengths)))
    made = counters["stats"]["unique_graphs"]
    for lengths in ([7, 2, 3], [9, 8, 1], [2, 8, 1]):
        compiled(t.randn(max(lengths), 3, 3), t.tensor(lengths))
    assert counters["stats"]["unique_graphs"] == made
