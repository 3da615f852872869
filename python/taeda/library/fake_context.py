"""What a fake kernel may ask while it runs: `get_ctx().new_dynamic_size()`."""

import contextlib
import threading

from taeda._C import _fx
from taeda.library.qualified_names import get_overload

_active = threading.local()


class FakeImplCtx:
    """The context of a running fake kernel, whose inputs have symbolic sizes."""

    def __init__(self, shape_env, op_name):
        self._shape_env = shape_env
        self._op_name = op_name

    def create_unbacked_symint(self, *, min=2, max=None):
        """The older name of `new_dynamic_size`."""
        return self.new_dynamic_size(min=min, max=max)

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that is known only when the operator has run, between `min` and `max`."""
        if self._shape_env is None:
            # Imported late: operators that never meet a fake tensor need no graphs.
            from taeda.fx.fake.tensors import DynamicOutputShapeException

            raise DynamicOutputShapeException(get_overload(self._op_name))
        if isinstance(min, int) and min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal "
                "to 0: this API can only create non-negative sizes."
            )
        size = self._shape_env.create_unbacked_symint()
        self._shape_env.constrain_symbol_range(size, min, max)
        return size


def get_ctx():
    """The context of the fake kernel that runs; only callable inside one."""
    stack = getattr(_active, "stack", None)
    return stack[-1]() if stack else None


@contextlib.contextmanager
def running_fake(op_name, where):
    """The scope of a fake kernel."""

    def make():
        mode = _fx.running_fake_mode()
        if mode is None:
            raise RuntimeError(
                f"{op_name} ({where}): You're trying to run this operator with meta Tensors (as "
                "opposed to FakeTensors), but this operator may return an output Tensor with "
                "data-dependent shape. Meta Tensors don't support operators with outputs that have "
                "data-dependent shapes but FakeTensors do. If your operator does not return an "
                "output with data-dependent shape, make sure the FakeTensor and/or meta kernel "
                "does not call torch.library.get_ctx(). Otherwise, please use FakeTensors."
            )
        return FakeImplCtx(mode.shape_env, op_name)

    stack = _active.__dict__.setdefault("stack", [])
    stack.append(make)
    try:
        yield
    finally:
        stack.pop()


def make_fake_kernel(fn, op_name, where):
    """`fn` as the Meta kernel of an operator."""

    def kernel(*args, **kwargs):
        with running_fake(op_name, where):
            return fn(*args, **kwargs)

    return kernel
