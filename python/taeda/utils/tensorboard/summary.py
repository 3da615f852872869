"""Summaries: what an event says, as the bytes of TensorBoard's messages."""

import io
import struct
import wave

import taeda
from taeda.utils.tensorboard import _protobuf as proto
from taeda.utils.tensorboard._mesh import mesh
from taeda.utils.tensorboard._pictures import image, image_boxes, video
from taeda.utils.tensorboard._values import (
    DOUBLE,
    FLOAT,
    STRING,
    as_tensor,
    metadata,
    tensor_message,
    value_message,
)

__all__ = [
    "audio",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "make_histogram",
    "mesh",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]

# dtype: DataType, field of the values, how they are written, what is read instead of a tensor's own
_TENSOR_FIELDS = {
    taeda.float32: (FLOAT, 5, proto.singles),
    taeda.float64: (DOUBLE, 6, proto.doubles),
    taeda.int32: (3, 7, proto.integers),
    taeda.uint8: (4, 7, proto.integers),
    taeda.int16: (5, 7, proto.integers),
    taeda.int8: (6, 7, proto.integers),
    taeda.int64: (9, 10, proto.integers),
    taeda.bool: (10, 11, proto.integers),
}


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    value = as_tensor(tensor).squeeze()
    if value.dim() != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). "
            f"Was given size: {value.numel()} and {value.dim()} dimensions."
        )
    number = float(value)
    if not new_style:
        return value_message(name, proto.single(2, number))
    if double_precision:
        written = tensor_message(DOUBLE, None, proto.doubles(6, [number]))
    else:
        written = tensor_message(FLOAT, None, proto.singles(5, [number]))
    return value_message(name, written, metadata("scalars"))


def tensor_proto(tag, tensor):
    if tensor.numel() * tensor.element_size() >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _TENSOR_FIELDS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    dtype, field, write = _TENSOR_FIELDS[tensor.dtype]
    values = write(field, as_tensor(tensor).flatten().tolist())
    return value_message(tag, metadata("tensor"), tensor_message(dtype, tensor.shape, values))


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    numbers = (min, max, num, sum, sum_squares)
    fields = [proto.double(i + 1, float(number)) for i, number in enumerate(numbers)]
    fields.append(proto.doubles(6, list(map(float, bucket_limits))))
    fields.append(proto.doubles(7, list(map(float, bucket_counts))))
    return value_message(name, proto.data(5, b"".join(fields)))


def _counted(values, limits):
    """How many values lie in each bin; the last bin has both of its ends."""
    places = taeda.bucketize(values, limits, right=True)
    places = taeda.where(values == limits[-1], limits.numel() - 1, places)
    is_inside = (values >= limits[0]) & (values <= limits[-1])
    return taeda.bincount(places[is_inside] - 1, minlength=limits.numel() - 1)


def make_histogram(values, bins, max_bins=None):
    """(limits, counts) of a flat tensor.

    `bins` are limits, a number of equal bins, or the name of one of NumPy's rules for limits.
    """
    if values.numel() == 0:
        raise ValueError("The input has no element.")
    if isinstance(bins, str):
        from numpy import histogram_bin_edges

        bins = histogram_bin_edges(values.numpy(), bins)
    if isinstance(bins, int):
        low, high = values.min().item(), values.max().item()
        if low == high:
            low, high = low - 0.5, high + 0.5
        limits = taeda.linspace(low, high, bins + 1, dtype=taeda.float64)
    else:
        limits = as_tensor(bins).double()
    counts = _counted(values, limits)
    if max_bins is not None and counts.numel() > max_bins:
        step = counts.numel() // max_bins
        missing = -counts.numel() % step
        counts = taeda.nn.functional.pad(counts, (0, missing)).view(-1, step).sum(-1)
        limits = taeda.cat([limits[:-1][::step], limits[-1:]])
    filled = counts.nonzero().flatten()
    if filled.numel() == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    start, end = filled[0].item(), filled[-1].item() + 1
    # The first bucket ends where the data begin.
    return limits[start : end + 1].tolist(), [0, *counts[start:end].tolist()]


def histogram(name, values, bins, max_bins=None):
    values = as_tensor(values).double().flatten()
    limits, counts = make_histogram(values, bins, max_bins)
    moments = (values.min(), values.max(), values.numel(), values.sum(), values.dot(values))
    return histogram_raw(name, *moments, limits, counts)


def audio(tag, tensor, sample_rate=44100):
    """Mono sound of numbers from -1 to 1."""
    sound = as_tensor(tensor).squeeze()
    if sound.dim() != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    frames = sound.clamp(-1, 1).mul(32767).to(taeda.int16).tolist()
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(struct.pack(f"<{len(frames)}h", *frames))
    fields = (
        proto.single(1, sample_rate),
        proto.integer(2, 1),
        proto.integer(3, len(frames)),
        proto.data(4, file.getvalue()),
        proto.text(5, "audio/wav"),
    )
    return value_message(tag, proto.data(6, b"".join(fields)))


def text(tag, text):
    """Markdown."""
    written = tensor_message(STRING, [1], proto.data(8, text.encode()))
    return value_message(f"{tag}/text_summary", metadata("text"), written)


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    rows = [as_tensor(row).float().tolist() for row in (tp, fp, tn, fn, precision, recall)]
    count = min(num_thresholds, 127)
    values = proto.singles(5, [number for row in rows for number in row])
    written = tensor_message(FLOAT, [6, len(rows[0])], values)
    return value_message(tag, metadata("pr_curves", proto.integer(2, count)), written)


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """Counts of hits and misses at thresholds from 0 to 1."""
    count = min(num_thresholds, 127)
    labels, predictions = as_tensor(labels).double(), as_tensor(predictions).double()
    weights = taeda.ones_like(labels) if weights is None else as_tensor(weights).double()
    bins = (predictions * (count - 1)).floor().long().clamp(0, count - 1)

    def at_least(of):
        """The weight of predictions at each threshold or above."""
        return taeda.bincount(bins, of, minlength=count).flip(0).cumsum(0).flip(0)

    tp, fp = at_least(labels * weights), at_least((1 - labels) * weights)
    tn, fn = fp[0] - fp, tp[0] - tp
    smallest = 1e-7
    precision = tp / (tp + fp).clamp(min=smallest)
    recall = tp / (tp + fn).clamp(min=smallest)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, count)


def custom_scalars(layout):
    """Charts of several scalars: {category: {title: ["Multiline" or "Margin", [tags]]}}."""
    categories = []
    for category, charts in layout.items():
        written = proto.text(1, category)
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("len(tags) != 3")
                series = b"".join(proto.text(i + 1, tag) for i, tag in enumerate(tags))
                content = proto.data(3, proto.data(1, series))
            else:
                content = proto.data(2, b"".join(proto.text(1, tag) for tag in tags))
            written += proto.data(2, proto.text(1, title) + content)
        categories.append(proto.data(2, written))
    tensor = tensor_message(STRING, [], proto.data(8, b"".join(categories)))
    return value_message("custom_scalars__config__", tensor, metadata("custom_scalars"))


def _hparam(name, value):
    """(DataType, the field of struct.Value) of a hyperparameter."""
    if isinstance(value, taeda.Tensor):
        value = float(value)
    if isinstance(value, bool):
        return 2, proto.integer(4, value)
    if isinstance(value, (int, float)):
        return 3, proto.double(2, value)
    if isinstance(value, str):
        return 1, proto.text(3, value)
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """(experiment, session's start, session's end) of a run with hyperparameters."""
    domains = hparam_domain_discrete or {}
    for name, given in (
        ("hparam_dict", hparam_dict),
        ("metric_dict", metric_dict),
        ("hparam_domain_discrete", domains),
    ):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for name, domain in domains.items():
        is_list = name in hparam_dict and isinstance(domain, list)
        if not is_list or not all(isinstance(x, type(hparam_dict[name])) for x in domain):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
    infos, start = b"", b""
    for name, value in hparam_dict.items():
        if value is None:
            continue
        kind, written = _hparam(name, value)
        start += proto.data(1, proto.text(1, name) + proto.data(2, written))
        info = proto.text(1, name) + proto.integer(4, kind)
        if name in domains:
            choices = (proto.data(1, _hparam(name, choice)[1]) for choice in domains[name])
            info += proto.data(5, b"".join(choices))
        infos += proto.data(4, info)
    metrics = (proto.data(5, proto.data(1, proto.text(2, tag))) for tag in metric_dict)
    experiment = infos + b"".join(metrics)
    success = proto.integer(1, 1)

    def session(tag, field, content):
        return value_message(f"_hparams_/{tag}", metadata("hparams", proto.data(field, content)))

    return (
        session("experiment", 2, experiment),
        session("session_start_info", 3, start),
        session("session_end_info", 4, success),
    )
