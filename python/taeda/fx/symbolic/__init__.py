"""Shapes that are not numbers yet.

A shape environment (`shape_env.py`) has a symbol for each size of an input that may change, knows
what follows for them, and records what a program assumed as guards. `inputs.py` says how the
numbers of an input are treated, `marks.py` lets the user say it on the tensor, `sources.py` is what
guards call an input. `numbers.py` asks about numbers that may be symbolic, `graphs.py` about the
symbols of a traced graph.

Expressions and facts are C++ (`taeda/fx/symbolic`).
"""

from taeda.fx.symbolic.shape_env import ShapeEnv

__all__ = ["ShapeEnv"]
