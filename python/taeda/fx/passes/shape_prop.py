"""ShapeProp: runs a graph and notes each tensor's shape, dtype and strides on its node."""

from typing import NamedTuple

import taeda
from taeda.fx.interpreter import Interpreter
from taeda.fx.node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its values."""

    shape: object
    dtype: object
    requires_grad: bool
    stride: tuple
    memory_format: object
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    formats = (taeda.contiguous_format, taeda.channels_last, taeda.channels_last_3d)
    memory_format = None
    if include_contiguity:
        memory_format = next((f for f in formats if _is_laid_out(result, f)), None)
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride(),
        memory_format,
        False,
        {},
    )


def _traced_metadata(value, requires_grad):
    """Of a traced node's value, whose example has no history."""
    return _extract_tensor_metadata(value)._replace(requires_grad=requires_grad)


def _is_laid_out(tensor, memory_format):
    ndim = {taeda.channels_last: 4, taeda.channels_last_3d: 5}.get(memory_format)
    if ndim is not None and tensor.ndim != ndim:
        return False
    return tensor.is_contiguous(memory_format=memory_format)


class ShapeProp(Interpreter):
    """Fills `tensor_meta` and `type` of every node's meta from a run on example arguments.

    Under `fake_mode` nothing is computed.
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n):
        try:
            if self.fake_mode is None:
                result = super().run_node(n)
            else:
                with self.fake_mode:
                    result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def describe(value):
            nonlocal found
            if not isinstance(value, taeda.Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph; returns its result."""
        if self.fake_mode is not None:
            args = [
                self.fake_mode.from_tensor(a) if isinstance(a, taeda.Tensor) else a for a in args
            ]
        return super().run(*args)
