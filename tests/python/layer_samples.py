"""Calls that make a layer of each kind, and the inputs that it is called with.

Both are expressions: of the layers of `nn`, and of x(shape), normal numbers, p(shape), numbers
between zero and one, ints(high, shape), indices, and signs(shape), which are -1 or 1.
"""

import random
from itertools import product
from math import prod

# Activations.
_ELEMENTWISE = [
    "CELU()",
    "CELU(0.5,inplace=True)",
    "ELU()",
    "ELU(0.3)",
    "GELU()",
    "GELU('tanh')",
    "Hardshrink()",
    "Hardshrink(0.2)",
    "Hardsigmoid()",
    "Hardswish()",
    "Hardtanh()",
    "Hardtanh(-2.0,0.5,inplace=True)",
    "LeakyReLU()",
    "LeakyReLU(0.2,True)",
    "LogSigmoid()",
    "Mish()",
    "ReLU()",
    "ReLU(inplace=True)",
    "ReLU6()",
    "SELU()",
    "SiLU()",
    "Sigmoid()",
    "Softplus()",
    "Softplus(2.0,3.0)",
    "Softshrink()",
    "Softshrink(0.1)",
    "Softsign()",
    "Tanh()",
    "Tanhshrink()",
    "Threshold(0.1,20)",
    "Identity(54,unused=True)",
    "PReLU()",
    "PReLU(3,init=0.1)",
    "GLU(0)",
    "Softmax(1)",
    "LogSoftmax(-1)",
    "Softmin(0)",
]

SAMPLES = [(call, "x(4, 3)") for call in _ELEMENTWISE]
SAMPLES += [
    ("Softmax2d()", "x(2, 3, 4, 5)"),
    ("RReLU().eval()", "x(4, 3)"),
    ("Dropout(0.3).eval()", "x(4, 3)"),
    ("Dropout1d(0.3).eval()", "x(2, 4, 3)"),
    ("Dropout2d().eval()", "x(2, 4, 3, 2)"),
    ("Dropout3d().eval()", "x(2, 4, 3, 2, 2)"),
    ("AlphaDropout().eval()", "x(4, 3)"),
    ("FeatureAlphaDropout().eval()", "x(4, 3)"),
]
# Layers with matrices.
SAMPLES += [
    ("Linear(3, 5)", "x(4, 3)"),
    ("Linear(3, 5, bias=False)", "x(3)"),
    ("Bilinear(3, 4, 2)", "x(5, 3), x(5, 4)"),
    ("LazyLinear(5)", "x(4, 3)"),
    ("Embedding(10, 3, padding_idx=-2)", "ints(10, 2, 4)"),
    ("Embedding(10, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True)", "ints(10, 5)"),
    ("EmbeddingBag(10, 3, mode='sum')", "ints(10, 2, 4)"),
    ("EmbeddingBag(10, 3, padding_idx=3, max_norm=0.5)", "ints(10, 6), ints(1, 1)"),
    ("Flatten()", "x(2, 3, 4)"),
    ("Unflatten(1, (2, 2))", "x(3, 4)"),
    ("AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0)", "x(5, 8), ints(12, 5)"),
    ("AdaptiveLogSoftmaxWithLoss(8, 12, [3], head_bias=True)", "x(8), ints(12)"),
]
# Convolutions, of one to three spatial dimensions.
for _n in (1, 2, 3):
    _in = f"x(2, 4, {', '.join(['6'] * _n)})"
    SAMPLES += [
        (f"Conv{_n}d(4, 6, 3)", _in),
        (f"Conv{_n}d(4, 6, 3, 2, 1, groups=2, bias=False)", _in),
        (f"Conv{_n}d(4, 6, 2, dilation=2, padding='same')", _in),
        (f"Conv{_n}d(4, 6, 3, padding=1, padding_mode='circular')", _in),
        (f"Conv{_n}d(4, 6, 4, padding='same', padding_mode='reflect')", _in),
        (f"ConvTranspose{_n}d(4, 6, 3)", _in),
        (f"ConvTranspose{_n}d(4, 6, 3, 2, 1, 1, groups=2, bias=False)", _in),
        (f"ConvTranspose{_n}d(4, 6, 3, 2, dilation=2)", f"{_in}, {[16] * _n}"),
        (f"LazyConv{_n}d(6, 3, groups=2)", _in),
        (f"LazyConvTranspose{_n}d(6, 3, bias=False)", _in),
        (f"MaxPool{_n}d(3, 2, padding=1)", _in),
        (f"MaxPool{_n}d(2, ceil_mode=True, return_indices=True)", _in),
        (f"AvgPool{_n}d(3, 2, 1)", _in),
        (f"AvgPool{_n}d(2, count_include_pad=False)", _in),
        (f"LPPool{_n}d(2, 3)", _in),
        (f"AdaptiveAvgPool{_n}d(3)", _in),
        (f"AdaptiveMaxPool{_n}d(3, return_indices=True)", _in),
        (f"InstanceNorm{_n}d(4)", _in),
        (f"InstanceNorm{_n}d(4, affine=True, track_running_stats=True)", _in),
        (f"InstanceNorm{_n}d(2)", f"x(2, {', '.join(['6'] * _n)})"),
        (f"LazyInstanceNorm{_n}d(affine=True)", _in),
        (f"BatchNorm{_n}d(4)", _in),
        (f"BatchNorm{_n}d(4, momentum=None, bias=False).eval()", _in),
        (f"BatchNorm{_n}d(4, affine=False, track_running_stats=False)", _in),
        (f"LazyBatchNorm{_n}d()", _in),
    ]
for _kind, _n in product(("Zero", "Reflection", "Replication", "Circular", "Constant"), (1, 2, 3)):
    _value = ", 1.5" if _kind == "Constant" else ""
    _in = f"x(2, 4, {', '.join(['6'] * _n)})"
    SAMPLES += [
        (f"{_kind}Pad{_n}d(1{_value})", _in),
        (f"{_kind}Pad{_n}d({tuple(range(2 * _n))}{_value})", _in),
    ]
SAMPLES += [
    ("AvgPool2d((2, 3), divisor_override=5)", "x(2, 4, 6, 6)"),
    ("AdaptiveAvgPool2d((None, 2))", "x(2, 4, 6, 6)"),
    ("MaxUnpool1d(2)", "x(1, 1, 1), ints(2, 1, 1, 1)"),
    ("MaxUnpool2d(2, stride=2)", "x(1, 1, 1, 1), ints(4, 1, 1, 1, 1)"),
    ("MaxUnpool3d(2)", "x(1, 1, 1, 1, 1), ints(8, 1, 1, 1, 1, 1)"),
    ("FractionalMaxPool2d(2, output_size=3)", None),
    ("FractionalMaxPool3d((2, 3, 2), output_ratio=0.5)", None),
    ("Fold((4, 5), (2, 2))", "x(1, 8, 12)"),
    ("Unfold((2, 3), padding=1)", "x(1, 2, 4, 5)"),
    ("PixelShuffle(2)", "x(1, 8, 3, 3)"),
    ("PixelUnshuffle(2)", "x(1, 2, 4, 4)"),
    ("ChannelShuffle(2)", "x(1, 6, 3, 3)"),
    ("Upsample(size=(5, 7))", "x(1, 2, 3, 3)"),
    ("Upsample(scale_factor=(2, 3), mode='bilinear', align_corners=False)", "x(1, 2, 3, 3)"),
    ("UpsamplingNearest2d(scale_factor=2)", "x(1, 2, 3, 3)"),
    ("UpsamplingBilinear2d(size=5)", "x(1, 2, 3, 3)"),
    ("LayerNorm(4)", "x(2, 4)"),
    ("LayerNorm((3, 4), eps=1e-3, bias=False)", "x(2, 3, 4)"),
    ("LayerNorm(4, elementwise_affine=False)", "x(2, 4)"),
    ("RMSNorm(4)", "x(2, 4)"),
    ("RMSNorm([3, 4], eps=1e-3, elementwise_affine=False)", "x(2, 3, 4)"),
    ("GroupNorm(2, 4)", "x(2, 4, 3)"),
    ("GroupNorm(4, 4, affine=False)", "x(2, 4, 3)"),
    ("GroupNorm(1, 4, bias=False)", "x(2, 4, 3)"),
    ("LocalResponseNorm(2)", "x(2, 4, 3, 3)"),
    ("CrossMapLRN2d(3, alpha=0.1)", "x(2, 2, 3, 3)"),
    ("SyncBatchNorm(4)", "x(2, 4, 3)"),
]
# Recurrent layers and attention.
for _name in ("RNN", "LSTM", "GRU"):
    _pair = "(x(1, 2, 5), x(1, 2, 5))" if _name == "LSTM" else "x(1, 2, 5)"
    SAMPLES += [
        (f"{_name}(3, 5)", f"x(4, 2, 3), {_pair}"),
        (f"{_name}(3, 5, num_layers=2, bidirectional=True, batch_first=True)", "x(2, 4, 3)"),
        (f"{_name}(3, 5, bias=False)", "x(4, 3)"),
        (f"{_name}Cell(3, 5)", "x(2, 3)"),
        (f"{_name}Cell(3, 5, bias=False)", "x(3)"),
    ]
_MASK = "x(4, 4) > 0"
SAMPLES += [
    ("RNN(3, 5, 1, 'relu', dropout=0.0)", "x(4, 2, 3)"),
    ("RNNCell(3, 5, nonlinearity='relu')", "x(2, 3)"),
    ("LSTM(3, 5, 2, proj_size=2)", "x(4, 2, 3)"),
    ("MultiheadAttention(8, 2)", "x(4, 2, 8), x(3, 2, 8), x(3, 2, 8)"),
    ("MultiheadAttention(8, 2, batch_first=True, bias=False)", "*[x(2, 4, 8)] * 3"),
    ("MultiheadAttention(8, 4, kdim=3, vdim=5)", "x(4, 2, 8), x(3, 2, 3), x(3, 2, 5)"),
    ("MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)", "*[x(4, 8)] * 3"),
    ("TransformerEncoderLayer(8, 2, 16, dropout=0.0)", f"x(4, 2, 8), {_MASK}"),
    ("TransformerEncoderLayer(8, 2, 16, norm_first=True, activation='gelu').eval()", "x(4, 2, 8)"),
    ("TransformerDecoderLayer(8, 2, 16, dropout=0.0)", "x(4, 2, 8), x(3, 2, 8)"),
    (
        "TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2)",
        "x(2, 4, 8)",
    ),
    ("TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, 0.0), 2)", "x(4, 2, 8), x(3, 2, 8)"),
    ("Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)", "x(2, 4, 8), x(2, 3, 8)"),
]
# Losses and distances.
_TWO = "x(4, 3), x(4, 3)"
SAMPLES += [
    ("L1Loss()", _TWO),
    ("MSELoss(reduction='sum')", _TWO),
    ("SmoothL1Loss(beta=0.5)", _TWO),
    ("HuberLoss(delta=0.3)", _TWO),
    ("NLLLoss()", "x(4, 3), ints(3, 4)"),
    ("CrossEntropyLoss(label_smoothing=0.1)", "x(4, 3), ints(3, 4)"),
    ("LinearCrossEntropyLoss(5, 3, bias=True)", "x(4, 5), ints(3, 4)"),
    ("PoissonNLLLoss(full=True)", "x(4, 3), p(4, 3)"),
    ("GaussianNLLLoss(full=True)", "x(4, 3), x(4, 3), p(4, 3)"),
    ("KLDivLoss(reduction='batchmean', log_target=True)", _TWO),
    ("BCELoss()", "p(4, 3), p(4, 3)"),
    ("BCEWithLogitsLoss()", "x(4, 3), p(4, 3)"),
    ("HingeEmbeddingLoss(0.5)", "x(4, 3), signs(4, 3)"),
    ("SoftMarginLoss()", "x(4, 3), signs(4, 3)"),
    ("MultiLabelMarginLoss()", "x(4, 3), ints(3, 4, 3)"),
    ("MultiLabelSoftMarginLoss()", "x(4, 3), p(4, 3)"),
    ("MultiMarginLoss(2, 0.5)", "x(4, 3), ints(3, 4)"),
    ("CosineEmbeddingLoss(0.2)", "x(4, 3), x(4, 3), signs(4)"),
    ("MarginRankingLoss(0.2)", "x(4), x(4), signs(4)"),
    ("TripletMarginLoss(0.5, swap=True)", "x(4, 3), x(4, 3), x(4, 3)"),
    ("TripletMarginWithDistanceLoss(swap=True)", "x(4, 3), x(4, 3), x(4, 3)"),
    (
        "CTCLoss()",
        "x(5, 2, 4).log_softmax(-1), ints(3, 2, 2) + 1, ints(1, 2) + 5, ints(1, 2) + 2",
    ),
    ("CosineSimilarity(0)", _TWO),
    ("PairwiseDistance(keepdim=True)", _TWO),
    ("ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)])", None),
    ("ModuleDict({'a': nn.ReLU()})", None),
    ("Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU()))", "x(2, 3)"),
]


def made(t, call):
    """The layer, of the framework `t`."""
    return eval("nn." + call, {"nn": t.nn})


def inputs(t, text):
    """The arguments of its call; the same numbers whatever the framework is."""
    numbers = random.Random(len(text))

    def tensor(draw, shape, dtype):
        return t.tensor([draw() for _ in range(prod(shape))], dtype=dtype).reshape(shape)

    names = {
        "x": lambda *shape: tensor(lambda: numbers.gauss(0, 1), shape, t.float32),
        "p": lambda *shape: tensor(lambda: numbers.uniform(0.1, 0.9), shape, t.float32),
        "ints": lambda high, *shape: tensor(lambda: numbers.randrange(high), shape, t.int64),
        "signs": lambda *shape: tensor(lambda: numbers.choice((-1.0, 1.0)), shape, t.float32),
    }
    return eval(f"({text},)", names)
