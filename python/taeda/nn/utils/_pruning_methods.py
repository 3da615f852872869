"""The methods of pruning: how a mask is computed, registered and removed."""

from abc import ABC, abstractmethod

from taeda import _C
from taeda.nn.utils._pruning_checks import (
    _compute_norm,
    _compute_nparams_toprune,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_pruning_dim,
    _validate_structured_pruning,
)


def _check_scores(scores, tensor, text):
    if scores is not None and scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {text}, got {scores.shape} vs "
            f"{tensor.shape}"
        )
    return tensor if scores is None else scores


class BasePruningMethod(ABC):
    """A hook that masks a parameter; subclasses compute the mask.

    PRUNING_TYPE says what several methods on one parameter leave to the next: the elements that
    are not masked ("unstructured"), the slices along `dim` ("structured"), or all ("global").
    """

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for a tensor, within the one that there is."""

    def apply_mask(self, module):
        """The original times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter: registers original, mask and hook."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _take_hook(module, name)
        if earlier is not None:
            if not isinstance(earlier, PruningContainer):
                earlier = PruningContainer(earlier)
            earlier.add_pruning_method(method)
            method = earlier
        tensor = getattr(module, name)
        text = f"parameter {name} of {module}"
        importance_scores = _check_scores(importance_scores, tensor, text)
        is_first = not isinstance(method, PruningContainer)
        if is_first:
            module.register_parameter(name + "_orig", tensor)
            del module._parameters[name]
            mask = _C.ones_like(tensor)
        else:
            mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores, default_mask=mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except BaseException:
            if is_first:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned tensor, without a module."""
        importance_scores = _check_scores(importance_scores, t, "tensor t")
        mask = _C.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=mask)

    def remove(self, module):
        """Makes the pruned value the parameter; the hook's owner takes it off."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _take_hook(module, name):
    """The hook that prunes the name already, taken off the module; None: there is none."""
    numbers_of_hooks = [
        number
        for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(numbers_of_hooks) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    return module._forward_pre_hooks.pop(numbers_of_hooks[0]) if numbers_of_hooks else None


class PruningContainer(BasePruningMethod):
    """Methods that act one after the other on one parameter."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds a method for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The last method's mask, of what the mask so far leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype, copy=True)
        left = _what_is_left(method, t, default_mask)
        part = method.compute_mask(t[left], default_mask=default_mask[left])
        mask[left] = part.to(dtype=mask.dtype)
        return mask


def _what_is_left(method, tensor, mask):
    """The index of the elements that a further method acts on."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    everything = [slice(None)] * tensor.dim()
    if method.PRUNING_TYPE == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                "defined."
            )
        dim = method.dim + tensor.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {tensor.dim()}")
        others = [d for d in range(tensor.dim()) if d != dim]
        everything[dim] = mask.sum(dim=others) != 0
    elif method.PRUNING_TYPE != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    return tuple(everything)


class Identity(BasePruningMethod):
    """Leaves the mask as it is."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class _ByAmount(BasePruningMethod):
    """A method that prunes a number, or a fraction."""

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class _Unstructured(_ByAmount):
    """A method that zeroes the elements of the lowest or highest scores."""

    PRUNING_TYPE = "unstructured"

    def _places(self, t, count):
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=_C.contiguous_format)
        if count != 0:
            mask.view(-1)[self._places(t, count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Zeroes elements at random."""

    def _places(self, t, count):
        return _C.topk(_C.rand_like(t).view(-1), k=count).indices

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Zeroes the elements of the smallest absolute values."""

    def _places(self, t, count):
        return _C.topk(t.abs().view(-1), k=count, largest=False).indices

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_ByAmount):
    """A method that zeroes slices along a dimension."""

    PRUNING_TYPE = "structured"

    def _kept(self, t, size, count):
        """The slices that stay, as an index."""
        raise NotImplementedError

    def compute_mask(self, t, default_mask):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = self._count(size)
        if count == 0:
            return default_mask
        index = [slice(None)] * t.dim()
        index[self.dim] = self._kept(t, size, count)
        mask = _C.zeros_like(t)
        mask[tuple(index)] = 1
        return mask.mul_(default_mask.to(dtype=mask.dtype))


class RandomStructured(_Structured):
    """Zeroes slices along `dim` at random."""

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t, size, count):
        drawn = _C.rand(size)
        return drawn > _C.topk(drawn, k=count, largest=False).values.max()

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Zeroes the slices along `dim` of the smallest n-norms."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _kept(self, t, size, count):
        norms = _compute_norm(t, self.n, self.dim)
        return _C.topk(norms, k=size - count, largest=True).indices

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Zeroes where a given mask does."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)
