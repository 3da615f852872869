"""Meta tensors in place of real ones: geometry, dtypes and views without memory."""

import taeda

__all__ = ["MetaConverter", "assert_eq", "assert_metadata_eq", "safe_is_leaf"]


def safe_is_leaf(t):
    """Whether no operator of autograd made the tensor."""
    return t.is_leaf


def assert_eq(a, b):
    """AssertionError unless the two are equal."""
    if a != b:
        raise AssertionError(f"{a} != {b}")


_COMPARED = ("dtype", "shape", "requires_grad", "is_leaf", "is_inference", "_is_view")


def assert_metadata_eq(assert_eq, m1, m2, *, skip_symbolic=False, skip_leaf=False):
    """Compares what two tensors tell without values, with the function that is given."""
    for name in _COMPARED:
        if name == "is_leaf" and skip_leaf:
            continue
        a, b = (getattr(t, name) for t in (m1, m2))
        assert_eq(*((a(), b()) if callable(a) else (a, b)))
    if not skip_symbolic:
        assert_eq(m1.stride(), m2.stride())
        assert_eq(m1.storage_offset(), m2.storage_offset())


class MetaConverter:
    """Gives the meta tensor of a tensor, the same each time; views stay views of one base."""

    def __init__(self):
        self._known = {}  # by id: (tensor, its meta tensor)

    def __call__(self, t):
        """The meta tensor; what is no tensor as it is."""
        if not isinstance(t, taeda.Tensor):
            return t
        if id(t) not in self._known:
            self._known[id(t)] = (t, self._made(t))
        return self._known[id(t)][1]

    def _made(self, t):
        if t._is_view():
            base = self(t._base)
            with taeda.set_grad_enabled(t.requires_grad and base.requires_grad):
                return base.as_strided(t.size(), t.stride(), t.storage_offset())
        made = taeda.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta")
        if t.requires_grad:
            made.requires_grad_()
            if not t.is_leaf:
                with taeda.enable_grad():
                    made = made.view_as(made).clone()
        if isinstance(t, taeda.nn.Parameter):
            made = taeda.nn.Parameter(made, t.requires_grad)
        return made
