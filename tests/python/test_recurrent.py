"""Tests recurrent cells and layers: against the definition of a step, packed sequences, PyTorch."""

import platform

import pytest

import taeda as t


# ---- the definition of a step ----
def lstm_step(x, state, w_ih, w_hh, b_ih, b_hh, w_hr=None):
    hidden, cell = state
    i, f, g, o = (x @ w_ih.T + b_ih + hidden @ w_hh.T + b_hh).chunk(4, -1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cell.tanh()
    return (hidden if w_hr is None else hidden @ w_hr.T), cell


def gru_step(x, state, w_ih, w_hh, b_ih, b_hh):
    a, b = (x @ w_ih.T + b_ih).chunk(3, -1), (state @ w_hh.T + b_hh).chunk(3, -1)
    r, z = (a[0] + b[0]).sigmoid(), (a[1] + b[1]).sigmoid()
    n = (a[2] + r * b[2]).tanh()
    return (1 - z) * n + z * state


def tanh_step(x, state, w_ih, w_hh, b_ih, b_hh):
    return (x @ w_ih.T + b_ih + state @ w_hh.T + b_hh).tanh()


def weights(gates, inputs, hidden, proj=0):
    sizes = [(gates * hidden, inputs), (gates * hidden, proj or hidden)]
    sizes += [(gates * hidden,)] * 2 + ([(proj, hidden)] if proj else [])
    return [(t.randn(s, dtype=t.float64) / 2).requires_grad_() for s in sizes]


def randn(*sizes):
    return t.randn(*sizes, dtype=t.float64)


def same_with_gradients(got, expected, leaves):
    for a, b in zip(got, expected):
        assert t.allclose(a, b)
    loss = [sum(x.sin().sum() for x in results) for results in (got, expected)]
    for a, b in zip(t.autograd.grad(loss[0], leaves), t.autograd.grad(loss[1], leaves)):
        assert t.allclose(a, b)


@pytest.mark.parametrize("width", [1, 5, 40])
def test_cells(width):
    x, h, c = randn(3, 4), randn(3, width), randn(3, width)
    params = weights(4, 4, width)
    same_with_gradients(t.lstm_cell(x, [h, c], *params), lstm_step(x, (h, c), *params), params)
    params = weights(3, 4, width)
    same_with_gradients([t.gru_cell(x, h, *params)], [gru_step(x, h, *params)], params)
    params = weights(1, 4, width)
    same_with_gradients([t.rnn_tanh_cell(x, h, *params)], [tanh_step(x, h, *params)], params)
    assert t.equal(t.rnn_relu_cell(x, h, *params) == 0, t.rnn_tanh_cell(x, h, *params) <= 0)


@pytest.mark.parametrize("proj", [0, 2])
def test_lstm_over_a_sequence(proj):
    x, h, c = randn(5, 3, 4).requires_grad_(), randn(1, 3, proj or 6), randn(1, 3, 6)
    params = weights(4, 4, 6, proj)
    state, outputs = (h[0], c[0]), []
    for step in x:
        state = lstm_step(step, state, *params)
        outputs.append(state[0])
    got = t.lstm(x, [h, c], params, True, 1, 0.0, True, False, False)
    expected = t.stack(outputs), state[0].unsqueeze(0), state[1].unsqueeze(0)
    same_with_gradients(got, expected, [x, *params])


def test_two_directions_and_two_layers():
    x, h = randn(3, 5, 4), randn(4, 3, 6)
    params = [weights(3, n, 6) for n in (4, 4, 12, 12)]
    flat = [p for cell in params for p in cell]
    out, last = x.transpose(0, 1), []
    for layer in range(2):
        sides = []
        for d in range(2):
            state, made = h[2 * layer + d], []
            for step in out.flip(0) if d else out:
                state = gru_step(step, state, *params[2 * layer + d])
                made.append(state)
            sides.append(t.stack(made[::-1] if d else made))
            last.append(state)
        out = t.cat(sides, -1)
    got = t.gru(x, h, flat, True, 2, 0.0, True, True, True)
    same_with_gradients(got, (out.transpose(0, 1), t.stack(last)), flat)


# ---- packed sequences ----
LENGTHS = [5, 3, 3, 1]


def test_packing_and_padding():
    x = randn(4, 5, 2).requires_grad_()
    data, sizes = t._pack_padded_sequence(x, t.tensor(LENGTHS), True)
    assert sizes.tolist() == [4, 3, 3, 1, 1]
    assert t.equal(data[:4], x[:, 0]) and t.equal(data[4:7], x[:3, 1])
    back, lengths = t._pad_packed_sequence(data, sizes, True, -1.0, 6)
    assert lengths.tolist() == LENGTHS and back.shape == (4, 6, 2)
    for i, n in enumerate(LENGTHS):
        assert t.equal(back[i, :n], x[i, :n]) and (back[i, n:] == -1).all()
    (grad,) = t.autograd.grad(back.sum(), x)
    assert [row.sum().item() for row in grad] == [2 * n for n in LENGTHS]


@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_are_sequences_one_by_one(bidirectional):
    directions = 2 if bidirectional else 1
    x, h, c = randn(4, 5, 3), randn(directions, 4, 2), randn(directions, 4, 2)
    params = [p for _ in range(directions) for p in weights(4, 3, 2)]
    data, sizes = t._pack_padded_sequence(x, t.tensor(LENGTHS), True)
    out, hn, cn = t.lstm(data, sizes, [h, c], params, True, 1, 0.0, True, bidirectional)
    padded, _ = t._pad_packed_sequence(out, sizes, True, 0.0, 0)
    for i, n in enumerate(LENGTHS):
        state = [h[:, i : i + 1].contiguous(), c[:, i : i + 1].contiguous()]
        one = t.lstm(x[i : i + 1, :n], state, params, True, 1, 0.0, True, bidirectional, True)
        assert t.allclose(padded[i, :n], one[0][0])
        assert t.allclose(hn[:, i], one[1][:, 0]) and t.allclose(cn[:, i], one[2][:, 0])


# ---- derivatives and forms ----
def test_second_gradients_and_forward_mode():
    gates, other, state = randn(2, 8), randn(2, 8), randn(2, 2)
    leaves = [v.requires_grad_() for v in (gates, other, state)]
    lstm = lambda *v: t.ops.aten._thnn_fused_lstm_cell(*v)[:2]
    assert t.autograd.gradcheck(lstm, leaves, check_forward_ad=True)
    assert t.autograd.gradgradcheck(lstm, leaves)
    leaves = [randn(2, n).requires_grad_() for n in (6, 6, 2)]
    gru = lambda *v: t.ops.aten._thnn_fused_gru_cell(*v)[0]
    assert t.autograd.gradcheck(gru, leaves, check_forward_ad=True)
    assert t.autograd.gradgradcheck(gru, leaves)


def test_dropout_acts_between_layers_in_training():
    x, h = randn(2, 3, 4), t.zeros(2, 3, 4, dtype=t.float64)
    params = [p for _ in range(2) for p in weights(1, 4, 4)]
    call = lambda p, train: t.rnn_tanh(x, h, params, True, 2, p, train, False, False)[0]
    plain = call(0.0, True)
    assert t.equal(call(0.5, False), plain) and not t.equal(call(0.5, True), plain)
    one = t.rnn_tanh(x, h[:1], params[:4], True, 1, 0.5, True, False, False)[0]
    assert t.equal(one, t.rnn_tanh(x, h[:1], params[:4], True, 1, 0.0, True, False, False)[0])


def test_half_precision_keeps_its_type():
    x, h = t.randn(3, 2, 4).bfloat16(), t.zeros(1, 2, 5).bfloat16()
    params = [p.detach().bfloat16() for p in weights(3, 4, 5)]
    out, _ = t.gru(x, h, params, True, 1, 0.0, False, False, False)
    wide, _ = t.gru(
        x.float(), h.float(), [p.float() for p in params], True, 1, 0.0, False, False, False
    )
    assert out.dtype == t.bfloat16 and t.allclose(out.float(), wide, atol=3e-2)


def test_errors():
    x, h = t.ones(2, 3), t.ones(2, 5)
    with pytest.raises(RuntimeError, match="lstm_cell expects two hidden states"):
        t.lstm_cell(x, [h], t.ones(20, 3), t.ones(20, 5))
    with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 3 expected 4"):
        t.gru_cell(x, h, t.ones(15, 4), t.ones(15, 5))
    with pytest.raises(RuntimeError, match="doesn't match hidden0 batch size 1"):
        t.gru_cell(x, h[:1], t.ones(15, 3), t.ones(15, 5))
    with pytest.raises(RuntimeError, match="weight_hh first dim must be 3"):
        t.gru_cell(x, h, t.ones(15, 3), t.ones(10, 5))
    with pytest.raises(RuntimeError, match="incorrect number of RNN parameters"):
        t.gru(x.unsqueeze(0), h.unsqueeze(0), [t.ones(15, 3)], True, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order"):
        t._pack_padded_sequence(t.ones(3, 2), t.tensor([1, 3]), False)
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor"):
        t._pack_padded_sequence(t.ones(3, 2), t.tensor([3.0, 1.0]), False)
    with pytest.raises(RuntimeError, match="Expected total_length to be at least"):
        t._pad_packed_sequence(t.ones(3, 2), t.tensor([2, 1]), False, 0.0, 1)


@pytest.mark.parametrize("name, call", [("LSTM", "lstm"), ("GRU", "gru"), ("RNN", "rnn_tanh")])
def test_values_of_pytorch(torch, name, call):
    torch.manual_seed(0)
    layer = getattr(torch.nn, name)(3, 4, num_layers=2, bidirectional=True).double()
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    zeros = t.zeros(4, 2, 4, dtype=t.float64)
    params = [t.tensor(p.tolist(), dtype=t.float64) for p in layer._flat_weights]
    got = getattr(t, call)(
        t.tensor(x.tolist(), dtype=t.float64),
        [zeros, zeros] if name == "LSTM" else zeros,
        params,
        True,
        2,
        0.0,
        False,
        True,
        False,
    )
    expected = layer(x)[0]
    assert t.allclose(got[0], t.tensor(expected.tolist(), dtype=t.float64))


def test_lengths_lie_on_the_cpu_whatever_the_default_device():
    with t.device("meta"):
        packed = t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2, 1), [3, 1])
    assert packed.batch_sizes.tolist() == [2, 1, 1]
    assert packed.data.shape == (4, 1)


# ---- dtypes that are not one floating point type ----
LAYERS = [
    ("LSTM", {}),
    ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    ("LSTM", {"proj_size": 2}),
    ("GRU", {"num_layers": 2}),
    ("GRU", {"bidirectional": True, "bias": False}),
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu"}),
]
CELLS = [("LSTMCell", {}), ("GRUCell", {}), ("RNNCell", {})]


def flat(results):
    """The tensors of a result, however they are nested."""
    if isinstance(results, (tuple, list)):
        return [tensor for part in results for tensor in flat(part)]
    return [results]


def both_of(torch, name, settings, call, dtype="float32"):
    """The results of one layer of PyTorch and of its copy here, for the same call."""
    torch.manual_seed(0)
    made = []
    for lib in (torch, t):
        layer = getattr(lib.nn, name)(3, 4, **settings, dtype=getattr(lib, dtype))
        if made:
            theirs = made[0][0].state_dict().items()
            layer.load_state_dict({k: lib.tensor(v.tolist()) for k, v in theirs})
        made.append((layer, flat(call(lib, layer))))
    return made[1][1], made[0][1]


def check_equal(got, expected, tolerance):
    assert [str(g.dtype) for g in got] == [str(e.dtype) for e in expected]
    for g, e in zip(got, expected, strict=True):
        wide = g.to(t.complex128) - t.tensor(e.tolist(), dtype=t.complex128)
        assert g.shape == tuple(e.shape) and float(wide.abs().max()) < tolerance


@pytest.mark.parametrize("name, settings", LAYERS + CELLS)
@pytest.mark.parametrize("given", ["float32", "bfloat16", "float64"])
def test_dtypes_under_autocast_are_pytorchs(torch, name, settings, given):
    if name == "LSTM" and given == "float32" and platform.machine() == "aarch64":
        pytest.skip("PyTorch has no LSTM in bfloat16 on this processor")
    dtype = "float64" if given == "float64" else "float32"

    def call(lib, layer):
        sizes = (2, 3) if name.endswith("Cell") else (5, 2, 3)
        x = lib.arange(6 if name.endswith("Cell") else 30).reshape(sizes).sin()
        with lib.autocast("cpu", dtype=lib.bfloat16):
            return layer(x.to(getattr(lib, given)))

    check_equal(*both_of(torch, name, settings, call, dtype), tolerance=2e-2)


@pytest.mark.parametrize("name, settings", LAYERS)
def test_packed_sequences_under_autocast_are_pytorchs(torch, name, settings):
    settings = {k: v for k, v in settings.items() if k != "batch_first"}

    def call(lib, layer):
        rnn = lib.nn.utils.rnn
        packed = rnn.pack_sequence([lib.arange(12).reshape(4, 3).cos(), lib.ones(2, 3)])
        with lib.autocast("cpu", dtype=lib.bfloat16):
            output, state = layer(packed)
        return output.data, state

    check_equal(*both_of(torch, name, settings, call), tolerance=2e-2)


def test_gradients_under_autocast_have_the_weights_dtype():
    layer = t.nn.LSTM(3, 4)
    with t.autocast("cpu", dtype=t.float16):
        output, (hidden, cell) = layer(t.ones(5, 2, 3))
    assert output.dtype == hidden.dtype == cell.dtype == t.float16
    output.float().sum().backward()
    assert all(p.grad.dtype == t.float32 and p.grad.any() for p in layer.parameters())


@pytest.mark.parametrize("name, settings", LAYERS + CELLS)
def test_complex_layers_are_pytorchs(torch, name, settings):
    if settings.get("nonlinearity") == "relu":
        pytest.skip("relu has no complex form")

    def call(lib, layer):
        sizes = (2, 3) if name.endswith("Cell") else (5, 2, 3)
        x = lib.arange(6 if name.endswith("Cell") else 30).reshape(sizes).sin()
        return layer(lib.complex(x, x.cos()))

    check_equal(*both_of(torch, name, settings, call, "complex64"), tolerance=1e-4)


def test_a_cell_takes_a_wider_state(torch):
    def call(lib, layer):
        hidden = lib.zeros(2, 4)
        return layer(lib.ones(2, 3), (hidden, hidden.double() + 0.5))

    check_equal(*both_of(torch, "LSTMCell", {}, call), tolerance=1e-6)
