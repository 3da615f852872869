"""What layers refuse, with PyTorch's words: where they are made, where they are called, loaded."""

import warnings

import pytest

import taeda

# Expressions of `nn` and `x(shape)`, a tensor of ones.
REFUSED = """
nn.Conv1d(3, 4, 2, groups=0)
nn.Conv1d(3, 4, 2, groups=2)
nn.Conv2d(4, 3, 2, groups=2)
nn.Conv2d(3, 4, 2, stride=2, padding='same')
nn.ConvTranspose2d(3, 4, 2, padding_mode='reflect')
nn.ConvTranspose1d(2, 2, 3)(x(1, 2, 4), [1, 2, 3, 4])
nn.ConvTranspose1d(2, 2, 3, stride=2)(x(1, 2, 4), [20])
nn.LazyConv1d(4, 2)(x(4))
nn.BatchNorm1d(3)(x(3))
nn.BatchNorm2d(3)(x(2, 3))
nn.BatchNorm3d(3)(x(2, 3, 4, 5))
nn.SyncBatchNorm(3)(x(3))
nn.SyncBatchNorm(0)(x(2, 0))
nn.InstanceNorm1d(3)(x(3))
nn.InstanceNorm2d(3, affine=True)(x(2, 4, 5, 5))
nn.InstanceNorm3d(3)(x(2, 3))
nn.GroupNorm(2, 3)
nn.GroupNorm(2, 4)(x(4))
nn.Hardtanh(1.0, 0.0)
nn.Softmax2d()(x(2, 3))
nn.MultiheadAttention(5, 2)
nn.MultiheadAttention(0, 2)
nn.MultiheadAttention(4, 2)(x(4), x(4), x(4))
nn.MultiheadAttention(4, 2)(x(3, 2, 4), x(3, 4), x(3, 4))
nn.MultiheadAttention(4, 2)(x(3, 4), x(3, 4), x(3, 4), key_padding_mask=x(1, 3))
nn.MultiheadAttention(4, 2)(x(3, 4), x(3, 4), x(3, 4), attn_mask=x(3))
nn.MultiheadAttention(4, 2)(x(3, 4), x(3, 4), x(3, 4), attn_mask=x(2, 2))
nn.MultiheadAttention(4, 2)(x(3, 4), x(3, 4), x(3, 4), attn_mask=x(3, 2, 2))
nn.MultiheadAttention(4, 2)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4), attn_mask=x(3, 3, 3))
nn.MultiheadAttention(4, 2)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4), key_padding_mask=x(1, 4))
nn.MultiheadAttention(4, 2)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4), attn_mask=x(3, 3).long())
nn.MultiheadAttention(4, 2)(x(3, 1, 4), x(3, 1, 4), x(2, 1, 4))
nn.MultiheadAttention(4, 2)(x(3, 1, 6), x(3, 1, 6), x(3, 1, 6))
nn.MultiheadAttention(4, 2, kdim=3)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4))
nn.MultiheadAttention(4, 2)(x(3, 1, 4), x(3, 1, 4), x(3, 1, 4), is_causal=True)
nn.TransformerEncoderLayer(4, 2, activation='none')
nn.Transformer(4, 2, 1, 1, 4)(x(2, 3, 4), x(2, 2, 4))
nn.Transformer(4, 2, 1, 1, 4)(x(2, 3, 4), x(2, 3, 5))
nn.RNN(3, 4, nonlinearity='none')
nn.RNN(3, 4, proj_size=2)
nn.GRU(3, 4, proj_size=2)
nn.LSTM(3, 4, proj_size=4)
nn.LSTM(3, 4, proj_size=-1)
nn.LSTM(3, 4, dropout=2)
nn.LSTM(3, 4, dropout=True)
nn.LSTM(3, 4, bias=1)
nn.LSTM(3, 4, batch_first=1)
nn.LSTM(0, 4)
nn.LSTM(3, 4.0)
nn.LSTM(3, 4, 0)
nn.RNNBase('none', 3, 4)
nn.LSTM(3, 4)(x(3))
nn.RNN(3, 4)(x(3))
nn.GRU(3, 4)(x(2, 5, 2))
nn.GRU(3, 4)(x(2, 5, 3).double())
nn.GRU(3, 4)(x(2, 5, 3), x(5, 4))
nn.GRU(3, 4)(x(2, 3), x(1, 1, 4))
nn.GRU(3, 4)(x(2, 5, 3), x(1, 4, 4))
nn.LSTM(3, 4)(x(2, 5, 3), (x(5, 4), x(5, 4)))
nn.LSTM(3, 4)(x(2, 3), (x(1, 1, 4), x(1, 1, 4)))
nn.LSTM(3, 4)(x(2, 5, 3), (x(1, 5, 3), x(1, 5, 4)))
nn.LSTM(3, 4)(x(2, 5, 3), (x(1, 5, 4), x(1, 4, 4)))
nn.RNNCell(3, 4)(x(1, 2, 3))
nn.GRUCell(3, 4)(x(2, 3), x(1, 2, 4))
nn.LSTMCell(3, 4)(x(2, 3), (x(2, 4), x(1, 2, 4)))
nn.LSTMCell(3, 4)(x(2, 3), x(2, 4))
nn.LSTMCell(3, 4)(x(2, 3), ())
nn.RNNCell(3, 4, nonlinearity='none')(x(2, 3))
nn.Embedding(3, 4, padding_idx=3)
nn.Embedding(3, 4, padding_idx=-4)
nn.Embedding.from_pretrained(x(3))
nn.Embedding(3, 4, _weight=x(4, 3))
nn.EmbeddingBag(3, 4, padding_idx=3)
nn.EmbeddingBag.from_pretrained(x(3))
nn.Bilinear(0, 2, 3)
nn.CircularPad1d(1)(x(2))
nn.CircularPad2d(1)(x(2, 2))
nn.CircularPad3d(1)(x(2, 2))
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, output_size=1, output_ratio=0.5)
nn.FractionalMaxPool2d(2, output_ratio=1.5)
nn.FractionalMaxPool3d(0, output_size=1)
nn.FractionalMaxPool3d((1, 0, 1), output_size=1)
nn.Dropout(1.5)
nn.Dropout2d(-0.1)
nn.Unflatten(0, 3)
nn.HuberLoss(delta='a')
nn.MultiMarginLoss(p=3)
nn.MultiMarginLoss(weight=x(2, 2))
nn.TripletMarginLoss(margin=0)
nn.TripletMarginWithDistanceLoss(margin=-1)
nn.LinearCrossEntropyLoss(3, 2, weight=x(3))
nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2)
nn.LinearCrossEntropyOptions(acc_policy='none')
nn.LinearCrossEntropyOptions(chunking_method='none')
nn.LinearCrossEntropyOptions(batch_chunk_size=0)
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 2])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 10])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(3, 8), x(2).long())
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(8), x(1).long())
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(2, 8), x(2, 2).long())
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2])(x(2, 8), x(2).long() * 20)
nn.Linear(2, 3).to(copy=True)
nn.Linear(2, 3).load_state_dict(1)
nn.Linear(2, 3).load_state_dict({})
nn.Linear(2, 3).load_state_dict({'weight': x(3, 3), 'bias': x(3)})
nn.Linear(2, 3).load_state_dict({'weight': x(3, 2), 'bias': x(3), 'more': x(1)})
nn.InstanceNorm1d(3).load_state_dict({'running_mean': x(3), 'running_var': x(3)})
nn.factory_kwargs({'size': 1})
nn.factory_kwargs({'dtype': None, 'factory_kwargs': {'dtype': None}})
nn.init.orthogonal_(x(3))
nn.init.sparse_(x(3), 0.5)
nn.init.dirac_(x(3, 3))
nn.init.dirac_(x(3, 3, 3), groups=2)
nn.init.eye_(x(3))
nn.init.calculate_gain('none')
nn.init.xavier_uniform_(x(3))
nn.init.kaiming_normal_(x(3, 3), mode='none')
""".strip().splitlines()


def refusal(t, text):
    """The class and the words of the error."""

    def ones(*shape):
        return t.ones(shape)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(text, {"nn": t.nn, "x": ones})
        except Exception as error:
            return type(error).__name__, str(error).replace("taeda.", "torch.").strip()
    return None


@pytest.mark.parametrize("text", REFUSED)
def test_refusal(torch, text):
    theirs = refusal(torch, text)
    assert theirs is not None
    assert refusal(taeda, text) == theirs


@pytest.mark.parametrize("count", [2**40, 10**40])
def test_layers_that_no_memory_holds_are_refused_at_once(count):
    encoder = taeda.nn.TransformerEncoderLayer(4, 2, 8)
    decoder = taeda.nn.TransformerDecoderLayer(4, 2, 8)
    for make in (
        lambda: taeda.nn.TransformerEncoder(encoder, count),
        lambda: taeda.nn.TransformerDecoder(decoder, count),
        lambda: taeda.nn.TransformerDecoder(None, count),
        lambda: taeda.nn.Transformer(4, 2, num_decoder_layers=count),
        lambda: taeda.nn.LSTM(2, 3, count),
        lambda: taeda.nn.GRU(2, 3, num_layers=count, device="meta"),
    ):
        with pytest.raises(MemoryError, match=f"{count} times .* takes more than"):
            make()


def test_no_module_is_copied_to_the_end_of_memory():
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        taeda.nn.TransformerDecoder(-2, 2**62 - 1)
