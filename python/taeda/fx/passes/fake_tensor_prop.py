"""FakeTensorProp: notes on each node a fake tensor with its value's sizes, dtype and device."""

import taeda
from taeda.fx.fake.tensors import FakeTensor, FakeTensorMode
from taeda.fx.interpreter import Interpreter
from taeda.fx.node import map_aggregate
from taeda.fx.passes.shape_prop import _extract_tensor_metadata

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph without computing; fills `val` and `tensor_meta` of every node's meta.

    A mode that is not given takes real parameters of the module as they are.
    """

    def __init__(self, module, mode=None):
        super().__init__(module)
        self._mode = FakeTensorMode(allow_non_fake_inputs=True) if mode is None else mode

    def run_node(self, n):
        result = super().run_node(n)
        is_noted = False

        def noted(value):
            nonlocal is_noted
            if isinstance(value, FakeTensor):
                is_noted = True
                # What is written to the value later does not show in the note.
                return value.detach()
            is_noted = is_noted or isinstance(value, (int, float, bool))
            return value

        value = map_aggregate(result, noted)
        if is_noted:
            n.meta["val"] = value
            n.meta["tensor_meta"] = map_aggregate(
                result,
                lambda v: _extract_tensor_metadata(v) if isinstance(v, taeda.Tensor) else v,
            )
        return result

    def propagate(self, *args):
        """Runs on fakes of the arguments; returns the fake result."""
        fakes = [self._mode.from_tensor(a) if isinstance(a, taeda.Tensor) else a for a in args]
        return self.propagate_dont_convert_inputs(*fakes)

    def propagate_dont_convert_inputs(self, *args):
        """The same for arguments that are fakes of the mode."""
        with self._mode:
            return super().run(*args)
