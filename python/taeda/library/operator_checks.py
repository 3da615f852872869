"""opcheck: tests that the registrations of an operator agree with its behaviour."""

import contextlib

import taeda
from taeda._C import _dispatch
from taeda.library.samples import (
    Snapshot,
    by_name,
    copy_with_grad,
    plain_copy,
    share_memory,
    shared_storages,
    snapshot,
    tensors_in,
)
from taeda.utils._pytree import tree_flatten, tree_map, tree_unflatten

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
    from taeda._ops import OpOverload, OpOverloadPacket
    from taeda.library.custom_operators import CustomOpDef

    if isinstance(op, CustomOpDef):
        op = op._opoverload
    elif isinstance(op, OpOverloadPacket):
        if len(op.overloads()) > 1:
            raise RuntimeError(
                "opcheck can only test operators without overloads. Got the following overloads "
                f"for {op._qualified_op_name}: {op.overloads()}; pass one of them"
            )
        op = getattr(op, op.overloads()[0])
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
        args, kwargs = self._samples(plain_copy)
        before = tree_map(snapshot, (args, kwargs))
        with taeda.no_grad():
            outputs = self.op(*args, **kwargs)
        given = by_name(self.op._schema, args, kwargs)
        old = by_name(self.op._schema, *before)
        for argument in self.op._schema.arguments:
            if argument.name not in given:
                continue
            info = argument.alias_info
            if not (info and info.is_write):
                self._check_unchanged(argument.name, given[argument.name], old[argument.name])
        self._check_aliases(given, outputs)

    @staticmethod
    def _check_unchanged(name, value, snapshot):
        tensors, snapshots = tensors_in(value), tree_flatten(snapshot)[0]
        snapshots = [s for s in snapshots if isinstance(s, Snapshot)]
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
                if share_memory(given.get(argument.name), value):
                    raise RuntimeError(
                        f"Argument {argument.name} is not defined to alias output but was aliasing"
                    )
        for i, first in enumerate(values):
            if any(share_memory(first, other) for other in values[:i]):
                raise RuntimeError("Outputs alias each other unexpectedly")

    # ---- autograd ----

    def test_autograd_registration(self):
        """A differentiable operator has its derivative at the Autograd key."""
        tensors = tensors_in((self.args, self.kwargs))
        if not any(t.requires_grad for t in tensors):
            return
        devices = {t.device.type for t in tensors}
        if len(devices) != 1 or self.op._is_composite:
            return
        key = _dispatch.key_of_device(next(iter(devices)))
        if _dispatch.has_kernel(self.op._handle, f"Autograd{key}"):
            return
        args, kwargs = self._samples(copy_with_grad)
        outputs = self.op(*args, **kwargs)
        inputs = {id(t) for t in tensors_in((args, kwargs))}
        recorded = [t for t in tensors_in(outputs) if t.requires_grad and id(t) not in inputs]
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
        from taeda.fx.fake.tensors import FakeTensorMode
        from taeda.fx.symbolic.shape_env import ShapeEnv

        args, kwargs = self._samples(plain_copy)
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
        aliases = shared_storages((args, kwargs), real)
        fake_aliases = shared_storages((fake_args, fake_kwargs), fake)
        if aliases != fake_aliases:
            self._differ(
                "pairs (argument, result) that share memory are "
                f"{aliases or 'none'} and {fake_aliases or 'none'}"
            )

    def _compare_metadata(self, real, fake):
        if not isinstance(real, taeda.Tensor) or not isinstance(fake, taeda.Tensor):
            if isinstance(real, taeda.Tensor) != isinstance(fake, taeda.Tensor):
                self._differ(f"{type(real)} and {type(fake)} are not the same type")
            if isinstance(fake, (int, float, str)) and real != fake:
                self._differ(f"{real!r} and {fake!r} are not equal!")
            return
        # Sizes that depend on values are symbols: nothing can be told of them.
        is_known = [not isinstance(n, taeda.SymInt) for n in fake.shape]
        if real.dim() != fake.dim() or any(
            known and one != other for known, one, other in zip(is_known, real.shape, fake.shape)
        ):
            self._differ(f"Shapes {real.shape} and {fake.shape} are not equal!")
        if real.dtype != fake.dtype:
            self._differ(f"Dtypes {real.dtype} and {fake.dtype} are not equal!")
        if real.requires_grad != fake.requires_grad:
            self._differ(
                f"requires_grad {real.requires_grad} and {fake.requires_grad} are not equal!"
            )
        if fake.device != real.device:
            self._differ(f"Devices {real.device} and {fake.device} are not equal!")
        if all(is_known):
            self._compare_places(real, fake)

    def _compare_places(self, real, fake):
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
        from taeda.fx.fake.tensors import MetadataMismatchError

        raise MetadataMismatchError(
            f"When comparing the output of {self.op} on FakeTensor and concrete Tensors, found "
            f"mismatched tensor metadata: {what}"
        )

    # ---- tracing ----

    def test_aot_dispatch_static(self):
        """Outputs and gradients are the same with mutations taken out of the program."""
        from taeda.func import functionalize

        expected = self._outputs_and_gradients(self.op, *self._samples(copy_with_grad))
        functional = functionalize(lambda *a, **k: self.op(*a, **k))
        got = self._outputs_and_gradients(functional, *self._samples(copy_with_grad))
        self._compare_values(expected, got, "a functionalized program")

    def test_aot_dispatch_dynamic(self):
        """The same, and a graph that was traced with symbolic sizes computes them."""
        from taeda.fx.operator_trace import make_fx

        self.test_aot_dispatch_static()
        expected = self._outputs_and_gradients(self.op, *self._samples(copy_with_grad))
        leaves, spec = tree_flatten(self._samples(copy_with_grad))

        def program(*tensors):
            given = iter(tensors)
            filled = [next(given) if isinstance(v, taeda.Tensor) else v for v in leaves]
            return self._outputs_and_gradients(self.op, *tree_unflatten(filled, spec))

        graph = make_fx(program, tracing_mode="symbolic")(*tensors_in(leaves))
        with taeda.no_grad(), _same_random_numbers():
            got = graph(*tensors_in(self._samples(plain_copy)))
        self._compare_values(expected, got, "a traced graph")

    def _outputs_and_gradients(self, call, args, kwargs):
        wanted = [t for t in tensors_in((args, kwargs)) if t.requires_grad and t.is_leaf]
        if self.op._schema.is_mutable:
            # Leaves that require grad must not be written to; what is written counts as output.
            args, kwargs = tree_map(
                lambda v: v.clone() if isinstance(v, taeda.Tensor) else v, (args, kwargs)
            )
        with _same_random_numbers():
            outputs = tensors_in(call(*args, **kwargs))
        if self.op._schema.is_mutable:
            outputs += [t.detach() for t in tensors_in((args, kwargs))]
        results = [t for t in outputs if t.requires_grad]
        if not wanted or not results:
            return outputs
        total = sum((r.abs() if r.is_complex() else r).sum() for r in results)
        gradients = taeda.autograd.grad(total, wanted, allow_unused=True)
        return [t.detach() for t in outputs] + [g for g in gradients if g is not None]

    def _compare_values(self, expected, got, where):
        if len(expected) != len(got):
            raise RuntimeError(
                f"{self.op}: eager gives {len(expected)} outputs and gradients, {where} {len(got)}"
            )
        for one, other in zip(expected, got):
            if one.shape != other.shape or not taeda.allclose(
                one, other, equal_nan=True, **self.tolerance
            ):
                raise RuntimeError(
                    f"{self.op}: outputs or gradients differ between eager and {where}: {one} and "
                    f"{other}"
                )


@contextlib.contextmanager
def _same_random_numbers():
    """A scope that starts from one seed each time and leaves the generators as they were."""
    with taeda.random.fork_rng():
        taeda.manual_seed(0)
        yield
