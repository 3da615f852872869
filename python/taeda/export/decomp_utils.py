"""The table of decompositions that lowering starts from, for the user to change."""

from taeda._C import _dispatch
from taeda.fx.decompositions import core_aten_decompositions

__all__ = ["CustomDecompTable"]


class CompositeBody:
    """In a table: a composite operator is replaced by its parts."""

    __slots__ = ("op",)

    def __init__(self, op):
        self.op = op

    def __call__(self, *args, **kwargs):
        return self.op.decompose(*args, **kwargs)

    def __repr__(self):
        return f"<parts of {self.op}>"


class CustomDecompTable(dict):
    """{operator: function}: composite operators, and those outside the core set.

    An operator that is taken out of it stays whole.
    """

    def __init__(self):
        composites = {op: CompositeBody(op) for op in _dispatch.composites()}
        super().__init__(composites | core_aten_decompositions())

    def copy(self):
        """Another table with the same entries."""
        table = CustomDecompTable()
        table.clear()
        table.update(self)
        return table

    def materialize(self):
        """The entries as a plain dict."""
        return dict(self)
