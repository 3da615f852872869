"""Parameters and buffers: the tensors that modules register, also before their sizes are known."""

from collections import OrderedDict

from taeda import _C
from taeda._rebuild import _rebuild_parameter, _rebuild_parameter_with_state, get_object_state


class _ParameterMeta(type(_C.Tensor)):
    def __instancecheck__(self, instance):
        # A tensor of another subclass that was made a parameter carries a mark.
        if super().__instancecheck__(instance):
            return True
        return self is Parameter and _is_marked(instance, "_is_param")


class Parameter(_C.Tensor, metaclass=_ParameterMeta):
    """A leaf that requires gradients unless told otherwise; operations on it give plain tensors."""

    __torch_function__ = _C._disabled_torch_function_impl
    _copies_values_alone = True  # a deep copy has neither gradient nor attributes

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C.Tensor()
        if type(data) is _C.Tensor or type(data) is Parameter:
            return _C.Tensor._make_subclass(cls, data, requires_grad)
        # Data of another subclass keeps its class.
        parameter = data.detach().requires_grad_(requires_grad)
        if type(parameter) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires "
                "that detach() returns an instance of the same type, but return type "
                f"{type(parameter).__name__} was found instead. To use the type as a Parameter, "
                "please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        parameter._is_param = True
        return parameter

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        state = get_object_state(self)
        hooks = OrderedDict()  # PyTorch's files have them, always empty
        if not state:
            return _rebuild_parameter, (self.data, self.requires_grad, hooks)
        return _rebuild_parameter_with_state, (self.data, self.requires_grad, hooks, state)


class _BufferMeta(type(_C.Tensor)):
    def __instancecheck__(self, instance):
        if super().__instancecheck__(instance):
            return True
        return self is Buffer and _is_marked(instance, "_is_buffer")


class Buffer(_C.Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer where it is assigned."""

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _C.Tensor()
        buffer = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


# The operations that a tensor without a shape allows.
_WITHOUT_VALUES = frozenset(
    ["__hash__", "size", "copy_", "is_complex", "is_floating_point", "get_device", "to"]
    + ["half", "float", "double", "char", "short", "int", "long", "cuda", "cpu"]
)


class UninitializedTensorMixin:
    """A tensor without a shape: `materialize` gives it one and turns it into its plain class."""

    def materialize(self, shape, device=None, dtype=None):
        """Takes memory of the given shape, on the device and in the dtype named before or here."""
        self.data = _C.empty(
            shape,
            device=self.data.device if device is None else device,
            dtype=self.data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Attributes and conversions only: there are no values yet."""
        is_attribute = func.__name__ in ("__get__", "__set__")
        if not is_attribute and func.__name__ not in _WITHOUT_VALUES:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {func}. Call `forward` of the "
                f"lazy module once, or `materialize` of the {cls.__name__}, to give it a shape"
            )
        with _C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


def is_lazy(param):
    """Whether the tensor still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is known later."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        data = _C.empty(0, device=device, dtype=dtype)
        return _C.Tensor._make_subclass(cls, data, requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, _C.Tensor):
    """A buffer whose shape is known later."""

    cls_to_become = _C.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        data = _C.empty(0, device=device, dtype=dtype)
        buffer = _C.Tensor._make_subclass(cls, data, requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """A conversion of a buffer without a shape has none either."""
        result = super().__torch_function__(func, types, args, kwargs)
        is_attribute = func.__name__ in ("__get__", "__set__")
        if is_attribute or type(result) is not _C.Tensor:
            return result
        return cls(False, result.device, result.dtype, args[0].persistent)


def is_parameter(tensor):
    """Whether modules treat the tensor as a parameter."""
    return isinstance(tensor, Parameter)


def _is_marked(instance, mark):
    return isinstance(instance, _C.Tensor) and getattr(instance, mark, False)
