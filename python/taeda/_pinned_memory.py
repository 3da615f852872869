"""Memory of the host that an accelerator reads directly: there is none without an accelerator."""

from taeda import _C
from taeda.overrides import handle_torch_function, has_torch_function_unary


def _refuse():
    from taeda.accelerator.memory import refuse

    refuse()


def pin_tensor(self, device=None):
    """A copy in pinned memory; RuntimeError where there is no accelerator to pin it for."""
    if has_torch_function_unary(self):
        return handle_torch_function(_C.Tensor.pin_memory, (self,), self, device=device)
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    return _refuse()


def pin_storage(self, device=None):
    """A copy in pinned memory; RuntimeError where there is no accelerator to pin it for."""
    if self.device.type != "cpu":
        raise TypeError(f"cannot pin '{self.device.type}' only CPU memory can be pinned")
    return _refuse()


def is_pinned(self, device=None):
    """Whether the bytes are in pinned memory."""
    return False


def install(cls):
    """Adds the methods to UntypedStorage."""
    cls.pin_memory = pin_storage
    cls.is_pinned = is_pinned
