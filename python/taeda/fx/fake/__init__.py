"""Tensors without memory: sizes, dtype and device are known, values are not.

`tensors.py` has the class and the mode that makes them, `modes.py` finds the mode of a program,
`comparison.py` compares fake results with real ones, `meta_tensors.py` makes meta tensors that keep
views, `operator_kinds.py` sorts operators by how fake tensors treat them. What operators do with
fake tensors is C++ (`taeda/fx/fake.h`).
"""

from taeda.fx.fake.tensors import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
