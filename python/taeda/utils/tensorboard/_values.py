"""The parts of TensorBoard's messages that all kinds of summaries are made of."""

import taeda
from taeda.utils.tensorboard import _protobuf as proto

FLOAT, DOUBLE, STRING = 1, 2, 7  # of DataType


def as_tensor(value):
    """A tensor, an array, a number or a list, without its history and on the CPU."""
    if isinstance(value, float):
        return taeda.tensor(value, dtype=taeda.float64)
    return taeda.as_tensor(value).detach().cpu()


def value_message(tag, *fields):
    """A summary of one value."""
    return proto.data(1, proto.text(1, tag) + b"".join(fields))


def metadata(plugin, content=b""):
    """Which part of TensorBoard shows a value."""
    plugin_data = proto.text(1, plugin) + (proto.data(2, content) if content else b"")
    return proto.data(9, proto.data(1, plugin_data))


def shape_message(sizes):
    return b"".join(proto.data(2, proto.integer(1, size)) for size in sizes)


def tensor_message(dtype, sizes, values):
    """A TensorProto as the value of a summary."""
    shape = b"" if sizes is None else proto.data(2, shape_message(sizes))
    return proto.data(8, proto.integer(1, dtype) + shape + values)
