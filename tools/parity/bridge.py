"""Carries PyTorch's values over to Taeda, and Taeda's tensors back."""

from types import ModuleType
from typing import Any

from parity.counterparts import Counterparts


class Bridge:
    """Between PyTorch and the module under test, whose tensors live on `device`."""

    def __init__(self, torch: ModuleType, taeda: ModuleType, device: str = "cpu") -> None:
        self.torch = torch
        self.taeda = taeda
        self.device = device
        self.counterparts = Counterparts(self)
        # What was carried over, by where it lies; and what lies there, so that nothing else can.
        self._storages: dict[tuple[int, Any], Any] = {}
        self._kept: list[Any] = []

    def call_of(self, sample: Any, with_grad: bool = False) -> tuple[Any, tuple, dict]:
        """A sample's input, arguments and keyword arguments for Taeda.

        Tensors of a sample that share memory share it here too, with their strides, and share
        nothing with what an earlier call of this returned.
        """
        self._storages.clear()
        self._kept.clear()
        parts = (sample.input, tuple(sample.args), dict(sample.kwargs))
        return tuple(self.to(part, with_grad) for part in parts)

    def to(self, value: Any, with_grad: bool = False) -> Any:
        """PyTorch's `value` as Taeda's; what is neither's stays as it is."""
        torch = self.torch
        match value:
            case torch.Tensor():
                tensor = self._tensor(value.detach().resolve_conj().resolve_neg())
                return tensor.requires_grad_() if with_grad and value.requires_grad else tensor
            case torch.dtype() | torch.memory_format() | torch.layout():
                return getattr(self.taeda, str(value).removeprefix("torch."))
            case torch.device():
                return self.taeda.device(self.device if value.type == "cpu" else str(value))
            case torch.Size():
                return tuple(value)
            case torch.Generator():
                return self.taeda.Generator()
            case torch.nn.Module():
                return self._module(value)
            case slice():
                return slice(*map(self.to, (value.start, value.stop, value.step)))
            case dict():
                return {key: self.to(item, with_grad) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.to(item, with_grad) for item in value)
        if callable(value) and hasattr(value, "__name__"):
            return self.counterparts.of(value)
        return value

    def _module(self, module: Any) -> Any:
        """A layer without parameters, with the same settings."""
        made = getattr(self.taeda.nn, type(module).__name__)()
        settings = {k: v for k, v in vars(module).items() if k in vars(made) and k[0] != "_"}
        vars(made).update(settings)
        return made

    def back(self, tensor: Any) -> Any:
        """Taeda's tensor as PyTorch's, conjugation and negation carried out."""
        plain = tensor.detach().resolve_conj().resolve_neg()
        return self.torch.from_dlpack(plain if self.device == "cpu" else plain.cpu())

    def _tensor(self, tensor: Any) -> Any:
        shape, strides = tuple(tensor.shape), tensor.stride()
        if tensor.device.type == "meta":
            dtype = self.to(tensor.dtype)
            return self.taeda.empty_strided(shape, strides, dtype=dtype, device="meta")
        storage = tensor.untyped_storage()
        if storage.nbytes() == 0:
            return self._copied(tensor)
        key = (storage.data_ptr(), tensor.dtype)
        if key not in self._storages:
            whole = self.torch.empty(0, dtype=tensor.dtype)
            whole.set_(storage, 0, (storage.nbytes() // tensor.element_size(),))
            self._storages[key] = self._copied(whole)
            self._kept.append(tensor)
        base = self._storages[key]
        return self.taeda.as_strided(base, shape, strides, tensor.storage_offset()).detach()

    def _copied(self, tensor: Any) -> Any:
        copy = self.taeda.from_dlpack(tensor.clone())
        return copy if self.device == "cpu" else copy.to(self.device)
