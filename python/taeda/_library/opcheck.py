"""opcheck: tests that what was registered for an operator agrees with what it does."""

import taeda
from taeda._C import _dispatch
from taeda.utils._pytree import tree_flatten, tree_map

_TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_static",
    "test_aot_dispatch_dynamic",
)
_DEFAULT_TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """An operator whose registrations contradict each other."""


def opcheck(
    op, args, kwargs=None, *, test_utils=_DEFAULT_TESTS, raise_exception=True, atol=None, rtol=None
):
    """Runs an operator on sample arguments and compares with its schema, fake kernel and autograd
    registration. Returns "SUCCESS" or the error for each test; raises at the first error unless
    told not to."""
    from taeda._library.custom_ops import CustomOpDef
    from taeda._ops import OpOverload, OpOverloadPacket

    if isinstance(op, CustomOpDef):
        op = op._opoverload
    elif isinstance(op, OpOverloadPacket):
        op = op.default
    if not isinstance(op, OpOverload):
        raise ValueError(
            f"opcheck(op, ...): op must be a custom op or an OpOverload, got {type(op)}"
        )
    tests = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(tests) <= set(_TESTS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={tests}), expected test_utils to be subset of {_TESTS} "
            "but it was not"
        )
    check = _Check(op, tuple(args), dict(kwargs or {}), atol, rtol)
    results = {}
    for test in tests:
        try:
            getattr(check, test)()
            results[test] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {test} failed with {error}") from error
            results[test] = error
    return results


class _Check:
    def __init__(self, op, args, kwargs, atol, rtol):
        self.op = op
        self.args = args
        self.kwargs = kwargs
        self.tolerance = {
            name: value for name, value in (("atol", atol), ("rtol", rtol)) if value is not None
        }

    def _samples(self, convert):
        return tree_map(convert, self.args), tree_map(convert, self.kwargs)

    # ---- the schema ----

    def test_schema(self):
        """Arguments change only where the schema says so, results alias only what it says."""
        args, kwargs = self._samples(_plain_copy)
        before = tree_map(_snapshot, (args, kwargs))
        with taeda.no_grad():
            outputs = self.op(*args, **kwargs)
        given = _by_name(self.op._schema, args, kwargs)
        old = _by_name(self.op._schema, *before)
        for argument in self.op._schema.arguments:
            if argument.name not in given:
                continue
            info = argument.alias_info
            if not (info and info.is_write):
                self._check_unchanged(argument.name, given[argument.name], old[argument.name])
        self._check_aliases(given, outputs)

    @staticmethod
    def _check_unchanged(name, value, snapshot):
        tensors, snapshots = _tensors(value), tree_flatten(snapshot)[0]
        snapshots = [s for s in snapshots if isinstance(s, _Snapshot)]
        for tensor, old in zip(tensors, snapshots):
            if not old.holds_for(tensor):
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")

    def _check_aliases(self, given, outputs):
        returns = self.op._schema.returns
        values = outputs if isinstance(outputs, tuple) and len(returns) > 1 else (outputs,)
        for argument in self.op._schema.arguments:
            sets = argument.alias_info.after_set if argument.alias_info else set()
            for declared, value in zip(returns, values):
                allowed = declared.alias_info.before_set if declared.alias_info else set()
                if sets & allowed or "*" in sets | allowed:
                    continue
                if _share_memory(given.get(argument.name), value):
                    raise RuntimeError(
                        f"Argument {argument.name} is not defined to alias output but was aliasing"
                    )
        for i, first in enumerate(values):
            if any(_share_memory(first, other) for other in values[:i]):
                raise RuntimeError("Outputs alias each other unexpectedly")

    # ---- autograd ----

    def test_autograd_registration(self):
        """A differentiable operator has its derivative at the Autograd key."""
        tensors = _tensors((self.args, self.kwargs))
        if not any(t.requires_grad for t in tensors):
            return
        devices = {t.device.type for t in tensors}
        if len(devices) != 1 or self.op._is_composite:
            return
        key = _dispatch.key_of_device(next(iter(devices)))
        if _dispatch.has_kernel(self.op._handle, f"Autograd{key}"):
            return
        args, kwargs = self._samples(_copy_with_grad)
        outputs = self.op(*args, **kwargs)
        inputs = {id(t) for t in _tensors((args, kwargs))}
        recorded = [t for t in _tensors(outputs) if t.requires_grad and id(t) not in inputs]
        # A history that only warns says that nothing was recorded.
        if any(t.grad_fn is None or t.grad_fn.name() != "WarnNotImplemented" for t in recorded):
            raise RuntimeError(
                f"{self.op.name()}: at least one output of this operator has requires_grad=True "
                "but the operator does not have an autograd kernel defined at an autograd key "
                "(e.g. DispatchKey::Autograd). This could mean that you have incorrectly "
                "registered an autograd kernel to a non-Autograd DispatchKey, which may lead to "
                "silently incorrect results. If your operator consists of regular PyTorch "
                "operations, consider not using an operator at all or registering your operator as "
                "CompositeImplicitAutograd. If you have an autograd.Function registered to a "
                "backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd key."
            )

    # ---- shapes ----

    def test_faketensor(self):
        """The fake kernel gives the shapes, strides, dtypes and devices that the operator gives."""
        from taeda._subclasses.fake_tensor import FakeTensorMode
        from taeda.fx.experimental.symbolic_shapes import ShapeEnv

        args, kwargs = self._samples(_plain_copy)
        mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)
        fake_args, fake_kwargs = tree_map(
            lambda v: mode.from_tensor(v) if isinstance(v, taeda.Tensor) else v, (args, kwargs)
        )
        with taeda.no_grad():
            real = self.op(*args, **kwargs)
            with mode:
                fake = self.op(*fake_args, **fake_kwargs)
        expected, got = tree_flatten(real)[0], tree_flatten(fake)[0]
        if len(expected) != len(got):
            self._differ(f"{len(expected)} and {len(got)} results")
        for one, other in zip(expected, got):
            self._compare_metadata(one, other)

    def _compare_metadata(self, real, fake):
        if not isinstance(real, taeda.Tensor) or not isinstance(fake, taeda.Tensor):
            if isinstance(real, taeda.Tensor) != isinstance(fake, taeda.Tensor):
                self._differ(f"{type(real)} and {type(fake)} are not the same type")
            return
        if any(isinstance(n, taeda.SymInt) for n in fake.shape):
            # Sizes that depend on values: how many dimensions there are is all that can be told.
            if real.dim() != fake.dim():
                self._differ(f"Shapes {real.shape} and {fake.shape} are not equal!")
            return
        if real.shape != fake.shape:
            self._differ(f"Shapes {real.shape} and {fake.shape} are not equal!")
        if real.dtype != fake.dtype:
            self._differ(f"Dtypes {real.dtype} and {fake.dtype} are not equal!")
        if fake.device != real.device:
            self._differ(f"Devices {real.device} and {fake.device} are not equal!")
        for dim, (one, other) in enumerate(zip(real.stride(), fake.stride())):
            if real.shape[dim] > 1 and one != other:
                self._differ(
                    f"Stride mismatch! Strides are {real.stride()} and {fake.stride()} "
                    f"(mismatched at {dim})!"
                )
        if real.storage_offset() != fake.storage_offset():
            self._differ(
                f"Storage offset mismatch! Storage offsets are {real.storage_offset()} and "
                f"{fake.storage_offset()}!"
            )

    def _differ(self, what):
        raise RuntimeError(
            f"When comparing the output of {self.op} on FakeTensor and concrete Tensors, found "
            f"mismatched tensor metadata: {what}"
        )

    # ---- tracing ----

    def test_aot_dispatch_static(self):
        """Outputs and gradients are the same with mutations taken out of the program."""
        from taeda.func import functionalize

        expected = self._outputs_and_gradients(lambda *a, **k: self.op(*a, **k))
        got = self._outputs_and_gradients(functionalize(lambda *a, **k: self.op(*a, **k)))
        for one, other in zip(expected, got, strict=True):
            if not taeda.allclose(one, other, equal_nan=True, **self.tolerance):
                raise RuntimeError(
                    f"{self.op}: outputs or gradients differ between eager and a functionalized "
                    f"program: {one} and {other}"
                )

    def test_aot_dispatch_dynamic(self):
        """The same, and a graph that was traced with symbolic sizes computes the outputs."""
        from taeda.fx.experimental.proxy_tensor import make_fx

        self.test_aot_dispatch_static()
        args, kwargs = self._samples(_plain_copy)
        with taeda.no_grad():
            expected = _tensors(self.op(*args, **kwargs))
            args, kwargs = self._samples(_plain_copy)
            call = make_fx(lambda *a: self.op(*a, **kwargs), tracing_mode="symbolic")(*args)
            args, _ = self._samples(_plain_copy)
            got = _tensors(call(*args))
        for one, other in zip(expected, got, strict=True):
            if not taeda.allclose(one, other, equal_nan=True, **self.tolerance):
                raise RuntimeError(
                    f"{self.op}: outputs differ between eager and a traced graph: {one} and {other}"
                )

    def _outputs_and_gradients(self, call):
        args, kwargs = self._samples(_copy_with_grad)
        wanted = [t for t in _tensors((args, kwargs)) if t.requires_grad and t.is_leaf]
        if self.op._schema.is_mutable:
            # Leaves that require grad must not be written to; what is written counts as output.
            args, kwargs = tree_map(
                lambda v: v.clone() if isinstance(v, taeda.Tensor) else v, (args, kwargs)
            )
        outputs = _tensors(call(*args, **kwargs))
        if self.op._schema.is_mutable:
            outputs += [t.detach() for t in _tensors((args, kwargs))]
        results = [t for t in outputs if t.requires_grad]
        if not wanted or not results:
            return outputs
        total = sum((r.abs() if r.is_complex() else r).sum() for r in results)
        gradients = taeda.autograd.grad(total, wanted, allow_unused=True)
        return [t.detach() for t in outputs] + [g for g in gradients if g is not None]


class _Snapshot:
    """A tensor's values and version at a time."""

    def __init__(self, tensor):
        self.values = tensor.detach().clone()
        self.version = tensor._version

    def holds_for(self, tensor):
        return tensor.shape == self.values.shape and taeda.equal(
            tensor.detach().nan_to_num(), self.values.nan_to_num()
        )


def _snapshot(value):
    return _Snapshot(value) if isinstance(value, taeda.Tensor) else value


def _plain_copy(value):
    return _copied(value) if isinstance(value, taeda.Tensor) else value


def _copy_with_grad(value):
    if not isinstance(value, taeda.Tensor):
        return value
    return _copied(value).requires_grad_(value.requires_grad)


def _copied(tensor):
    """The same values with the same strides."""
    copy = taeda.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    return copy.copy_(tensor.detach()) if 0 not in tensor.stride() else tensor.detach().clone()


def _tensors(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, taeda.Tensor)]


def _by_name(schema, args, kwargs):
    positional = [a.name for a in schema.arguments if not a.kwarg_only]
    return {**dict(zip(positional, args)), **kwargs}


def _share_memory(first, second):
    storages = {t.untyped_storage().data_ptr() for t in _tensors(first)} - {0}
    return any(t.untyped_storage().data_ptr() in storages for t in _tensors(second))
