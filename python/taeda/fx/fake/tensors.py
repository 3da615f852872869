"""Fake tensors: sizes, dtype and device without memory.

    with FakeTensorMode():
        x = taeda.empty(1024, 1024, device="cuda")
        y = x @ x          # a FakeTensor of the right shape on the right device

Operators on fake tensors run their shape rules only; see `taeda/fx/fake.h`.
"""

import sys
import weakref

import taeda
import taeda.overrides
from taeda._C import _disabled_torch_function_impl, _fx
from taeda._reduction import reduced_with_storage
from taeda.utils._config_module import functorch_config
from taeda.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorDeviceMismatchError",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedMutationAliasingException",
    "UnsupportedOperatorException",
]


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818
    """The tensor cannot be made fake."""


class MetadataMismatchError(RuntimeError):
    """A fake result has other sizes, strides or dtype than the real one."""


class UnsupportedMutationAliasingException(RuntimeError):  # noqa: N818
    """A function that must be functional writes to its arguments, or returns them."""


class _OperatorRefusedError(RuntimeError):
    """Names the operator that a fake tensor cannot run."""

    def __init__(self, func):
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_OperatorRefusedError):  # noqa: N818
    """The shape of the result depends on values."""


class DataDependentOutputException(_OperatorRefusedError):  # noqa: N818
    """The result is a number read from a tensor."""


class UnsupportedOperatorException(_OperatorRefusedError):  # noqa: N818
    """The operator has no shape rule."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Arguments of an operator are on different devices."""

    def __init__(self, func, common_device, device):
        super().__init__(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{common_device} and {device}!"
        )
        self.func = func
        self.common_device = common_device
        self.device = device


class FakeTensor(taeda.Tensor):
    """A tensor without memory that shows the device it stands for."""

    __torch_function__ = _disabled_torch_function_impl

    @staticmethod
    def __new__(cls, fake_mode, elem, device, constant=None):
        """A fake tensor with the geometry of the meta tensor `elem` on `device`."""
        if not elem.is_meta:
            raise AssertionError("FakeTensor takes a meta tensor: use FakeTensorMode.from_tensor")
        with fake_mode:
            return taeda.empty_strided(
                elem.size(), elem.stride(), dtype=elem.dtype, device=device
            ).requires_grad_(elem.requires_grad)

    @property
    def fake_mode(self):
        """The mode that made it."""
        return _fx.fake_mode_of(self)

    @property
    def fake_device(self):
        """The device that it stands for; without an index it is the first of its type."""
        return self.device

    @fake_device.setter
    def fake_device(self, device):
        _fx.set_fake_device(self, device)

    @property
    def constant(self):
        """The values, where they are known; None otherwise."""
        return self.fake_mode._constant_of(self)

    @property
    def real_tensor(self):
        """The values that are computed along, under `propagate_real_tensors`; None otherwise."""
        return self.fake_mode._value_of(self)

    def __repr__(self, *, tensor_contents=None):
        text = super().__repr__(tensor_contents=tensor_contents)
        return f"Parameter({text})" if getattr(self, "_is_param", False) else text

    def tolist(self):
        if self.dim() == 0:
            return self.item()
        if self.dim() == 1:
            return [element.item() for element in self]
        return [element.tolist() for element in self]

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    @staticmethod
    def from_tensor(tensor, fake_mode):
        return fake_mode.from_tensor(tensor)

    def __deepcopy__(self, memo):
        import copy

        fake = self.detach().clone().requires_grad_(self.requires_grad)
        memo[id(self)] = fake
        fake.__dict__.update(copy.deepcopy(self.__dict__, memo))  # whether it is a parameter
        return fake

    def __reduce_ex__(self, protocol):
        from taeda.serialization._settings import _serialization_tls as settings

        if settings.skip_data and settings.materialize_fake_tensors:
            return reduced_with_storage(self)
        raise UnsupportedFakeTensorException(
            "a fake tensor has no values to pickle; send its sizes, dtype and device instead"
        )


class FakeTensorMode(_fx.FakeMode, TorchDispatchMode):
    """While it is active every operator gives fake tensors.

    allow_non_fake_inputs: real tensors that meet fake ones are converted instead of refused.
    shape_env: sizes of converted tensors become symbols of it, unless `static_shapes`.
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels=True,
        allow_non_fake_inputs=False,
        shape_env=None,
        static_shapes=None,
        export=False,
    ):
        self.allow_fallback_kernels = allow_fallback_kernels
        self.shape_env = shape_env
        self.static_shapes = static_shapes if static_shapes is not None else shape_env is None
        self.export = export
        self._converter = None
        self.propagate_real_tensors = functorch_config.fake_tensor_propagate_real_tensors
        self._preferred_device_type = functorch_config.fake_tensor_prefer_device_type
        self._allow_non_fake_inputs = allow_non_fake_inputs
        self._allow_scalar_outputs = getattr(
            shape_env, "allow_scalar_outputs", shape_env is not None
        )
        self._apply()

    @property
    def in_kernel_invocation(self):
        """Whether a kernel of this mode runs on this thread."""
        return _fx.running_fake_mode() is self

    @property
    def fake_tensor_converter(self):
        """What makes fake tensors of real ones, for this mode."""
        if self._converter is None:
            self._converter = FakeTensorConverter()
            self._converter.meta_converter._modes.add(self)
        return self._converter

    @property
    def avoid_device_init(self):
        """Whether no device beside the CPU is there to be set up for the fakes on it."""
        return not taeda.accelerator.is_available()

    def _apply(self):
        self._configure(
            self._allow_non_fake_inputs,
            self._allow_scalar_outputs,
            getattr(self.shape_env, "allow_dynamic_output_shape_ops", True),
            self.shape_env,
            self.propagate_real_tensors,
            self._preferred_device_type,
        )

    def compute_values(self, on=True):
        """From now on operators compute the values of tensors along, or no longer do."""
        self.propagate_real_tensors = on
        self._apply()

    def use_environment(self, shape_env):
        """Numbers that come from data are symbols of the environment from now on."""
        self.shape_env = shape_env
        self._allow_scalar_outputs = True
        self._apply()

    @property
    def allow_non_fake_inputs(self):
        return self._allow_non_fake_inputs

    @allow_non_fake_inputs.setter
    def allow_non_fake_inputs(self, value):
        self._allow_non_fake_inputs = value
        self._apply()

    @property
    def allow_scalar_outputs(self):
        return self._allow_scalar_outputs

    @allow_scalar_outputs.setter
    def allow_scalar_outputs(self, value):
        self._allow_scalar_outputs = value
        self._apply()

    @classmethod
    def is_infra_mode(cls):
        return True

    def from_tensor(
        self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True
    ):
        """The fake of a real tensor, the same one at each call.

        Under a shape environment its sizes are symbols; `symbolic_context` says how each dimension
        is treated, `source` is what guards call the tensor.
        """
        fake = self._known_fake(tensor)
        if fake is not None:
            return fake
        is_static = self.static_shapes if static_shapes is None else static_shapes
        if self.shape_env is None or is_static or isinstance(tensor, FakeTensor):
            fake = self._view_of_fake(tensor) if _is_plain_view(tensor) else None
            fake = self._from_tensor(tensor) if fake is None else fake
        else:
            fake = self._from_tensor_sized(
                tensor,
                *self.shape_env.create_symbolic_sizes_strides_storage_offset(
                    tensor,
                    source or "tensor",
                    symbolic_context=symbolic_context or self._marked_context(tensor),
                ),
            )
            if symbolic_context is None:
                from taeda.fx.symbolic.marks import note_guesses

                note_guesses(tensor, fake.shape)
        if tensor.is_leaf and tensor.requires_grad and tensor.grad_dtype != tensor.dtype:
            fake.grad_dtype = tensor.grad_dtype
        if tensor.is_leaf and tensor.grad is not None:
            fake.grad = self.from_tensor(tensor.grad, static_shapes=True)
        parameters = sys.modules.get("taeda.nn.parameter")  # without it there is none
        is_parameter = parameters is not None and type(tensor) is parameters.Parameter
        if getattr(tensor, "_is_param", False) or is_parameter:
            fake._is_param = True
        return self.fake_tensor_converter._remembered(tensor, fake)

    def _view_of_fake(self, tensor):
        """The same view of the fake of its base."""
        base = self.from_tensor(tensor._base, static_shapes=True)
        with self, taeda.set_grad_enabled(tensor.requires_grad):
            geometry = tensor.size(), tensor.stride(), tensor.storage_offset()
            fake = base.as_strided(*geometry)
        self._remember(tensor, fake)
        return fake

    def _marked_context(self, tensor):
        from taeda.fx.symbolic.inputs import DimDynamic
        from taeda.fx.symbolic.marks import marked_context

        is_static = self.shape_env.assume_static_by_default
        return marked_context(tensor, DimDynamic.STATIC if is_static else DimDynamic.DUCK)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        with self:
            return func(*args, **(kwargs or {}))


def _is_plain_view(t):
    """Whether a tensor is a view that sizes, strides and offset describe, of leaves or of values
    without gradients."""
    if type(t) is not taeda.Tensor or not t._is_view() or t.is_inference():
        return False
    base = t._base
    return (
        base.dtype == t.dtype
        and (base.is_leaf or not base.requires_grad)
        and base.requires_grad == t.requires_grad
        and not (t.is_conj() or base.is_conj() or t.is_neg() or base.is_neg())
    )


class _FakeStorages:
    """The memory of the fakes that a converter made: what their modes know of it."""

    def __init__(self):
        self._modes = weakref.WeakSet()

    @property
    def storage_memo(self):
        """The fake storage by the address of the real one, for those that are in use."""
        memo = {}
        for mode in self._modes:
            memo.update(mode._known_storages())
        return memo


class FakeTensorConverter:
    """Makes fake tensors; each mode keeps those it made, so that a tensor has one fake a mode.

    tensor_memo: the fakes that this converter gave and that are in use.
    meta_converter: their storages.
    """

    def __init__(self):
        self.tensor_memo = weakref.WeakValueDictionary()
        self.meta_converter = _FakeStorages()

    def _remembered(self, source, fake):
        self.tensor_memo[id(source)] = fake
        return fake

    def from_real_tensor(
        self,
        fake_mode,
        t,
        make_constant=False,
        shape_env=None,
        *,
        source=None,
        symbolic_context=None,
        trace=True,
    ):
        """The fake of a real tensor; with `make_constant` it remembers the values."""
        self.meta_converter._modes.add(fake_mode)
        if make_constant:
            return self._remembered(t, fake_mode._from_constant(t))
        fake = fake_mode.from_tensor(
            t,
            static_shapes=True if shape_env is None else None,
            source=source,
            symbolic_context=symbolic_context,
        )
        return self._remembered(t, fake)

    def from_meta_and_device(self, fake_mode, t, device, pytype=None, dispatch_keys=None):
        """A fake with the geometry of a meta tensor on a device."""
        if not t.is_meta:
            raise AssertionError("from_meta_and_device takes a meta tensor")
        known = fake_mode._known_fake(t)
        if known is not None and known.device == taeda.device(device):
            return known
        fake = FakeTensor(fake_mode, t, device)
        fake_mode._remember(t, fake)
        return self._remembered(t, fake)

    def __call__(self, fake_mode, t, *, make_constant=False, shape_env=None, **settings):
        return self.from_real_tensor(fake_mode, t, make_constant, shape_env, **settings)


class FakeCopyMode(taeda.overrides.TorchFunctionMode):
    """Inside it `copy.deepcopy` of a module with real tensors gives one with fake tensors.

    with FakeCopyMode(fake_mode):
        fake_model = copy.deepcopy(model)
    """

    def __init__(self, fake_mode):
        super().__init__()
        self.fake_mode = fake_mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is not taeda.Tensor.__deepcopy__:
            with taeda._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        tensor, memo = args
        if id(tensor) not in memo:
            memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
        return memo[id(tensor)]


_fx.set_fake_classes(
    FakeTensor,
    FakeTensorMode,
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
    UnsupportedOperatorException,
    MetadataMismatchError,
)
